"""Values of all kinds written by Spark or by plain Python, and read by both.

The rows are known: what was written, by its key if there is one. A statement may refuse them by
name, and then so does the other side.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store import connect
from table_store.client.table import Table
from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.spark_program import QUICK, arrow_answer, session_with_warehouse
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_layout import laid_out
from tests.values.arrow_values import Row, arrow_table, plain_rows
from tests.values.envelope import Envelope
from tests.values.kinds import Kind, Value, quoted
from tests.values.sql_values import sql_rows, sql_value
from tests.values.table_shape import TableShape

_STEPS: Final = 5
_ROWS: Final = (1, 2, 5, 20)
_EXACT: Final = ("INT", "BIGINT", "SMALLINT", "STRING", "BINARY", "DATE", "TIMESTAMP")
"""Kinds whose values are equal exactly if they are the same."""


class RefusedError(Exception):
    """A statement was refused by a named condition."""


@dataclass
class Faces:
    """A table for both sides, and its rows."""

    session: SparkSession
    table: Table
    shape: TableShape
    envelope: Envelope
    said: list[str]
    rows: list[Row] = field(default_factory=list)
    refusals: int = 0

    @property
    def dice(self) -> random.Random:
        return self.envelope.dice

    def draw_rows(self) -> list[Row]:
        """Rows to be written; no two of them have one key."""
        kinds, count = list(self.shape.columns.values()), self.dice.choice(_ROWS)
        count = min(count, max(1, 4_000 // len(kinds)))
        if self.shape.key:
            keys = self.envelope.different(kinds[: len(self.shape.key)], count)
        else:
            keys = [
                tuple(self.envelope.value(k) for k in kinds[: len(self.shape.partitions)])
                for _ in range(count)
            ]
        rest = [self.envelope.values(kind, len(keys)) for kind in kinds[len(keys[0]) :]]
        return [(*key, *(column[at] for column in rest)) for at, key in enumerate(keys)]

    def write(self) -> None:
        """Write some rows by one side; if it refuses them, so does the other."""
        rows = self.draw_rows()
        sides: list[Callable[[list[Row]], None]] = [self.write_by_python, self.write_by_spark]
        self.dice.shuffle(sides)
        try:
            sides[0](rows)
        except RefusedError as first:
            self.refusals += 1
            try:
                sides[1](rows)
            except RefusedError:
                return
            raise AssertionError(f"one side refuses what the other stores: {first}") from first
        self.keep(rows)

    def keep(self, rows: list[Row]) -> None:
        """Let these be rows of the table, in the place of those with their keys."""
        if self.shape.key:
            width = len(self.shape.key)
            came = {_key(row[:width]) for row in rows}
            self.rows = [row for row in self.rows if _key(row[:width]) not in came]
        self.rows += rows

    def write_by_python(self, rows: list[Row]) -> None:
        """Append the rows in any layout."""
        self.said.append(f"append {len(rows)} rows")
        table = laid_out(arrow_table(rows, self.shape.columns), self.dice)
        try:
            self.table.append(table)
        except TableStoreError as error:
            raise RefusedError(str(error)) from error

    def write_by_spark(self, rows: list[Row]) -> None:
        """INSERT the rows."""
        self.run(f"INSERT INTO t {sql_rows(rows, self.shape.columns)}")

    def run(self, statement: str) -> None:
        """Run a statement in Spark."""
        self.said.append(statement)
        try:
            self.session.sql(statement).collect()
        except PySparkException as error:
            raise named(error) from error

    def delete(self) -> None:
        """DELETE the rows with one value, by either side."""
        at, name, kind = self.some_column()
        value = self.some_value(at)
        if self.dice.random() < 0.5 or kind in ("TIMESTAMP", "DATE"):
            self.run(f"DELETE FROM t WHERE {quoted(name)} <=> {sql_value(value, kind)}")
        elif value is None or not _is_utf8(value, kind):
            return
        else:
            self.said.append(f"delete {name} = {value!r}")
            plain = value.decode() if kind == "STRING" else value
            self.table.delete([(name, "=", plain)])
        self.rows = [row for row in self.rows if row[at] != value]

    def update(self) -> None:
        """UPDATE a column that is no key of the rows with one value."""
        at, name, kind = self.some_column()
        value = self.some_value(at)
        first = max(len(self.shape.key), len(self.shape.partitions))
        place = self.dice.randrange(first, len(self.shape.columns))
        target, of = list(self.shape.columns.items())[place]
        new = self.envelope.value(of)
        self.run(
            f"UPDATE t SET {quoted(target)} = {sql_value(new, of)} "
            f"WHERE {quoted(name)} <=> {sql_value(value, kind)}"
        )
        self.rows = [
            (*row[:place], new, *row[place + 1 :]) if row[at] == value else row for row in self.rows
        ]

    def some_column(self) -> tuple[int, str, Kind]:
        """A column that can be compared exactly."""
        found = [
            (at, name, kind)
            for at, (name, kind) in enumerate(self.shape.columns.items())
            if kind in _EXACT
        ]
        return self.dice.choice(found or [(0, "", "")])

    def some_value(self, at: int) -> Value:
        return self.dice.choice(self.rows)[at]

    def step(self) -> None:
        """One change, then the comparison."""
        changes = [self.write] * 3
        if self.rows and self.some_column()[1]:
            changes += [self.delete, self.update]
        changes += [lambda: self.run("ALTER TABLE t COMPACT")]
        self.dice.choice(changes if self.rows else [self.write])()
        self.check()

    def check(self) -> None:
        """Both sides read the rows, all of them and some by a condition."""
        wanted = self.rows
        compare_rows("Python", plain_rows(self.table.scan().to_arrow(), self.shape.columns), wanted)
        compare_rows("Spark", self.ask("SELECT * FROM t"), wanted)
        at, name, kind = self.some_column()
        if not self.rows or not name:
            return
        value = self.some_value(at)
        where = f"{quoted(name)} <=> {sql_value(value, kind)}"
        found = [row for row in self.rows if row[at] == value]
        compare_rows(where, self.ask(f"SELECT * FROM t WHERE {where}"), found)
        if value is not None:
            where = f"{quoted(name)} >= {sql_value(value, kind)}"
            found = [row for row in self.rows if row[at] is not None and row[at] >= value]
            compare_rows(where, self.ask(f"SELECT * FROM t WHERE {where}"), found)

    def ask(self, query: str) -> list[Row]:
        """The answer of Spark."""
        self.said.append(query)
        return plain_rows(arrow_answer(self.session.sql(query)), self.shape.columns)


def run_case(case: Case) -> Counts:
    """Make one table, and change it by both sides."""
    dice = case.random()
    envelope = Envelope(dice, has_invalid_texts=dice.random() < 0.1)
    shape = TableShape.draw(envelope)
    session = session_of(case, dice)
    case.said.append(shape.create("t"))
    session.sql(case.said[0])
    faces = Faces(session, connect(str(case.folder)).open("t"), shape, envelope, case.said)
    for _ in range(_STEPS):
        faces.step()
    session.sql("DROP TABLE t")
    return {"steps": _STEPS, "tables": 1, "refusals": faces.refusals}


def session_of(case: Case, dice: random.Random) -> SparkSession:
    """A session with a warehouse in the case's folder, which reads by Spark or by the planner."""
    name = f"c{case.seed}"
    session = session_with_warehouse(name, case.folder)
    session.conf.set("spark.table-store.answered-rows", dice.choice(["0", "1000"]))
    session.conf.set("spark.sql.timeType.enabled", "true")
    for key, value in QUICK.items():
        session.conf.set(key, value)
    return session


def named(error: PySparkException) -> RefusedError:
    """The refusal that an error of Spark is.

    Raises:
        PySparkException: it has no condition, or one that no user should meet.
    """
    condition = error.getCondition() or ""
    text = str(error)
    if condition in ("", "INTERNAL_ERROR") or "Traceback" in text or "CORRUPT" in text:
        raise error
    return RefusedError(text)


def compare_rows(side: str, found: list[Row], wanted: list[Row]) -> None:
    """Check that the rows are the wanted ones, each as often, in any order."""
    rows, expected = Counter(found), Counter(wanted)
    if rows != expected:
        ours, missing = rows - expected, expected - rows
        raise AssertionError(
            f"{side}: {len(found)} rows, only there {_shown(ours)}, missing {_shown(missing)}"
        )


def _shown(rows: Counter[Row]) -> str:
    text = repr(next(iter(rows.items()), None))
    return text if len(text) < 1_000 else f"{text[:500]}…{text[-500:]}"


def _key(values: Row) -> Row:
    return tuple(value for value in values)


def _is_utf8(value: Value, kind: Kind) -> bool:
    if kind != "STRING":
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


SPARK_TWO_FACES: Final = Technique(
    name="spark-two-faces",
    goal="values of all kinds come back from Spark and from plain Python, whoever wrote them",
    suite_cases=0,
    release_cases=3_000,
    run_case=run_case,
    needs_spark=True,
)
