"""Expressions that a table stores keep the meaning that they had when they were declared.

Each session draws its settings: one declares a CHECK constraint, a computed column and defaults,
others write, change and read rows. What the expressions give is asked of plain Spark in a session
with the settings of the declaration.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.spark_program import QUICK, arrow_answer, session_with_warehouse
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import plain_rows, plain_scalar
from tests.values.envelope import Envelope
from tests.values.kinds import Kind, Value
from tests.values.session_settings import draw_settings
from tests.values.sql_values import sql_value

_COLUMNS: Final[dict[str, Kind]] = {"id": "INT", "s": "STRING", "i": "INT", "t": "TIMESTAMP"}
_WRITES: Final = 5
_COMPUTED: Final[Sequence[tuple[str, str]]] = (
    ("DATE", "CAST(t AS DATE)"),
    ("DATE", "date(t)"),
    ("INT", "hour(t)"),
    ("STRING", "CAST(t AS STRING)"),
    ("STRING", "date_format(t, 'yyyy-MM-dd HH:mm')"),
    ("INT", "i + 1"),
    ("INT", "CAST(s AS INT)"),
    ("STRING", r"concat(s, 'a\tb')"),
    ("STRING", r"concat(s, '\\')"),
    ("STRING", 'concat(s, "x")'),
    ("DOUBLE", "i / (i - 1)"),
    ("BOOLEAN", "t > TIMESTAMP '2024-07-01 00:00:00'"),
    ("BOOLEAN", "s > 1"),
    ("INT", "element_at(array(1, 2), i)"),
)
"""Type and expression of computed columns."""

_CONDITIONS: Final = (
    r"s <> 'a\\b'",
    r"s NOT LIKE '%\\_%'",
    'coalesce(s, "x") <> "a"',
    "hour(t) < 12",
    "t < TIMESTAMP '2024-03-31 12:00:00'",
    "t < '2040-07-01 12:00:00'",
    "date(t) <> DATE '2040-07-01'",
    "i + 1 > i",
    "CAST(s AS INT) IS NULL",
    r"s RLIKE '^\\w*$' OR s IS NULL",
)
_DEFAULTS: Final[Sequence[tuple[str, str]]] = (
    ("TIMESTAMP", "TIMESTAMP '2024-07-01 12:00:00'"),
    ("TIMESTAMP", "CAST('2024-07-01 12:00:00' AS TIMESTAMP)"),
    ("TIMESTAMP", "TIMESTAMP '2024-07-01 12:00:00Z'"),
    ("DATE", "CAST(TIMESTAMP '2024-07-01 23:30:00Z' AS DATE)"),
    ("STRING", "CAST(TIMESTAMP '2024-07-01 23:30:00Z' AS STRING)"),
    ("STRING", r"'a\tb'"),
    ("STRING", r"'\\'"),
    ("STRING", '"x"'),
    ("INT", "2147483647 + 1"),
    ("INT", "CAST('x' AS INT)"),
    ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2024-03-31 02:30:00'"),
)


@dataclass
class Stored:
    """A table with stored expressions, the settings of each, and the rows that it must hold."""

    case: Case
    dice: random.Random
    columns: dict[str, Kind] = field(default_factory=lambda: dict(_COLUMNS))
    computed: dict[str, tuple[SparkSession, str]] = field(default_factory=dict)
    defaults: dict[str, tuple[SparkSession, str]] = field(default_factory=dict)
    check: tuple[SparkSession, str] | None = None
    rows: list[dict[str, Value]] = field(default_factory=list)
    refused: int = 0

    def session(self) -> SparkSession:
        """A session of drawn settings."""
        session = session_with_warehouse(f"c{self.case.seed}", self.case.folder)
        settings = draw_settings(self.dice)
        self.case.said.append(f"-- {settings}")
        for key, value in {**QUICK, **settings}.items():
            session.conf.set(key, value)
        return session

    def create(self) -> None:
        """Declare the table in one session; what that session refuses is left out."""
        session = self.session()
        column = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        assert self.is_done(session, f"CREATE TABLE t ({column})"), self.case.said
        kind, expression = self.dice.choice(_COMPUTED)
        made = f"CREATE OR REPLACE TABLE t ({column}, g {kind} GENERATED ALWAYS AS ({expression}))"
        if self.is_done(session, made):
            self.computed["g"] = session, expression
            self.columns["g"] = kind
        condition = self.dice.choice(_CONDITIONS)
        session = self.session()
        if self.is_done(session, f"ALTER TABLE t ADD CONSTRAINT c CHECK ({condition})"):
            self.check = session, condition

    def add_column(self) -> None:
        """ADD COLUMN with a default: rows that are there have it, too."""
        session, name = self.session(), f"d{len(self.columns)}"
        kind, expression = self.dice.choice(_DEFAULTS)
        value = self.value(session, expression, kind)
        added = f"ALTER TABLE t ADD COLUMN {name} {kind} DEFAULT {expression}"
        if self.is_done(session, added):
            assert not isinstance(value, PySparkException), f"{added}: {value}"
            self.columns[name], self.defaults[name] = kind, (session, expression)
            for row in self.rows:
                row[name] = value

    def value(self, session: SparkSession, expression: str, kind: Kind, row: str = "") -> Value:
        """What an expression gives in a session, on a row; or the error that it gives."""
        of = f" FROM (SELECT {row})" if row else ""
        try:
            answer = session.sql(f"SELECT CAST(({expression}) AS {kind}){of}")
            return plain_scalar(arrow_answer(answer).column(0)[0])
        except PySparkException as error:
            return error

    def write(self) -> None:
        """INSERT a row, or UPDATE one, in a session of other settings."""
        envelope, session = Envelope(self.dice, longest=20), self.session()
        is_update = bool(self.rows) and self.dice.random() < 0.4
        old = self.dice.choice(self.rows) if is_update else {}
        values = {n: envelope.value(k) for n, k in _COLUMNS.items() if n != "id"}
        values["s"] = self.dice.choice([values["s"], b"a", b"a\\b", b"1", b"a_b", b"x"])
        if is_update:
            name = self.dice.choice(["s", "i", "t"])
            values = {n: values[n] if n == name else old[n] for n in values}
            said = (
                f"UPDATE t SET {name} = {self.literal(name, values[name])} WHERE id = {old['id']}"
            )
            new = {**old, **values}
        else:
            new = {"id": len(self.rows), **values}
            given = ", ".join(self.literal(name, new[name]) for name in _COLUMNS)
            said = f"INSERT INTO t ({', '.join(_COLUMNS)}) VALUES ({given})"
            for name, (declared, expression) in self.defaults.items():
                new[name] = self.value(declared, expression, self.columns[name])
        row = ", ".join(f"{self.literal(n, new[n])} AS {n}" for n in _COLUMNS)
        for name, (declared, expression) in self.computed.items():
            new[name] = self.value(declared, expression, self.columns[name], row)
        is_wanted = not any(isinstance(value, PySparkException) for value in new.values())
        if self.check is not None:
            is_wanted = is_wanted and self.value(*self.check, "BOOLEAN", row) in (True, None)
        is_done = self.is_done(session, said)
        assert is_done == is_wanted, f"{said}: done {is_done}, wanted {is_wanted}, {new}"
        if is_done:
            self.rows = [each for each in self.rows if each["id"] != new["id"]] + [new]
            self.check_rows()

    def literal(self, name: str, value: Value) -> str:
        return sql_value(value, _COLUMNS[name])

    def check_rows(self) -> None:
        """A session of other settings reads what the expressions gave."""
        answer = arrow_answer(self.session().sql(f"SELECT {', '.join(self.columns)} FROM t"))
        found = sorted(plain_rows(answer, self.columns))
        wanted = sorted(tuple(row[name] for name in self.columns) for row in self.rows)
        assert found == wanted, f"found {found}, wanted {wanted}"

    def is_done(self, session: SparkSession, statement: str) -> bool:
        """Run a statement, which may be refused by a named condition."""
        self.case.said.append(statement)
        try:
            session.sql(statement).collect()
        except PySparkException as error:
            if (error.getCondition() or "INTERNAL_ERROR") == "INTERNAL_ERROR":
                raise
            self.case.said.append(f"-- refused: {str(error)[:300]}")
            self.refused += 1
            return False
        return True


def run_case(case: Case) -> Counts:
    """Declare one table, and write to it from sessions of all settings."""
    stored = Stored(case, case.random())
    stored.create()
    for _ in range(_WRITES):
        if stored.dice.random() < 0.3:
            stored.add_column()
        stored.write()
    if stored.rows:
        stored.check_rows()
    return {"rows": len(stored.rows), "refused": stored.refused, "tables": 1}


SPARK_STORED_EXPRESSIONS: Final = Technique(
    name="spark-stored-expressions",
    goal="constraints, computed columns and defaults mean what they meant when declared",
    suite_cases=0,
    release_cases=1_000,
    run_case=run_case,
    needs_spark=True,
)
