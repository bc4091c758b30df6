"""Random expressions that plain Python evaluates, beside Spark: its values, or a refusal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store import connect
from table_store.client.errors import ExpressionFailedError, UnsupportedExpressionError
from table_store.client.expressions.evaluation import evaluated
from table_store.client.expressions.sql_text import read_expression
from table_store.client.filters import names_of
from table_store.client.table import Table
from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.spark_program import arrow_answer
from tests.campaign.spark_two_faces import session_of
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import arrow_table, plain_scalar
from tests.values.edges import ZONES
from tests.values.envelope import Envelope
from tests.values.expressions import COLUMNS, Expressions
from tests.values.kinds import Value, sql

_ROWS: Final = 24
_EXPRESSIONS: Final = 60
_FILTERS: Final = 6

Answer: TypeAlias = "list[Value] | None"
"""A value for each row, in the order of `id`; None if a row has none."""


@dataclass
class Evaluators:
    """One table of envelope values, whose expressions both sides evaluate."""

    session: SparkSession
    table: Table
    dice: random.Random
    counts: Counter[str]

    def compare(self, expressions: Sequence[str]) -> None:
        """Each value of Python is Spark's."""
        mine = {text: self.of_python(text) for text in expressions}
        known = [text for text, answer in mine.items() if answer is not _REFUSED]
        self.counts["refused"] += len(mine) - len(known)
        theirs = self.of_spark(known)
        for text in known:
            self.counts["expressions"] += 1
            one, other = mine[text], theirs[text]
            assert one == other, f"{text}: Python {self._first(one, other)}"

    def _first(self, one: object, other: object) -> str:
        if not (isinstance(one, list) and isinstance(other, list)):
            return f"{str(one)[:80]}, Spark {str(other)[:80]}"
        at = next(i for i, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        row = self.table.scan(where=[("id", "=", at)]).to_arrow().to_pydict
        return f"{one[at]!r}, Spark {other[at]!r}, row {at}: {_shown(row)}"

    def of_python(self, text: str) -> object:
        """Python's values, or `_REFUSED`."""
        try:
            read = read_expression(text, names_of(self.table.schema, self.table.time_zone))
            if read.type is None:
                return _REFUSED
            rows = self.table.scan().to_arrow().sort_by("id").combine_chunks().to_batches()[0]
            return [plain_scalar(one) for one in evaluated(read, rows, sql=text)]
        except (UnsupportedExpressionError, ExpressionFailedError):
            return _REFUSED

    def of_spark(self, expressions: Sequence[str]) -> dict[str, Answer]:
        """Spark's values; those that fail are asked for again without others."""
        if not expressions:
            return {}
        listed = ", ".join(f"({text}) AS e{at}" for at, text in enumerate(expressions))
        try:
            found = arrow_answer(self.session.sql(f"SELECT id, {listed} FROM t"))
        except PySparkException:
            if len(expressions) == 1:
                return {expressions[0]: None}
            half = len(expressions) // 2
            return {**self.of_spark(expressions[:half]), **self.of_spark(expressions[half:])}
        columns = found.sort_by("id").columns[1:]
        return {
            text: [plain_scalar(one) for one in column]
            for text, column in zip(expressions, columns, strict=True)
        }

    def filter(self, condition: str) -> None:
        """A scan, and then a DELETE, take the rows for which Spark's condition is true."""
        answer = self.of_spark([condition])[condition]
        if answer is None:
            return
        ids = [at for at, is_true in enumerate(answer) if is_true]
        try:
            found = self.table.scan(["id"], condition).to_arrow()["id"].to_pylist()
        except (UnsupportedExpressionError, ExpressionFailedError):
            return
        self.counts["filters"] += 1
        assert sorted(found) == ids, f"rows with {condition}: {sorted(found)}, Spark {ids}"

    def delete(self, condition: str) -> None:
        """A DELETE leaves the rows for which Spark's condition is not true."""
        answer = self.of_spark([condition])[condition]
        if answer is None:
            return
        try:
            self.table.delete(condition)
        except (UnsupportedExpressionError, ExpressionFailedError):
            return
        left = sorted(self.table.scan(["id"]).to_arrow()["id"].to_pylist())
        ids = [at for at, is_true in enumerate(answer) if not is_true]
        assert left == ids, f"rows left by {condition}: {left}, Spark {ids}"


_REFUSED: Final = "refused"


def run_case(case: Case) -> Counts:
    """Compare some expressions in one zone."""
    dice = case.random()
    session, zone = session_of(case, dice), dice.choice(ZONES)
    session.conf.set("spark.sql.session.timeZone", zone)
    columns = ", ".join(f"{name} {sql(kind)}" for name, kind in COLUMNS.items())
    session.sql(f"CREATE TABLE t ({columns})")
    table = connect(str(case.folder), time_zone=zone).open("t")
    table.append(_rows(dice))
    sides, draw = Evaluators(session, table, dice, Counter()), Expressions(dice)
    sides.compare([draw.any(dice.choice([1, 2, 2, 3])) for _ in range(_EXPRESSIONS)])
    for _ in range(_FILTERS):
        sides.filter(draw.boolean(2))
    sides.delete(draw.boolean(2))
    session.sql("DROP TABLE t")
    return sides.counts


def _rows(dice: random.Random) -> pa.Table:
    envelope = Envelope(dice, longest=40)
    kinds = list(COLUMNS.values())[1:]
    values = [envelope.values(kind, _ROWS) for kind in kinds]
    rows = [(at, *(column[at] for column in values)) for at in range(_ROWS)]
    return arrow_table(rows, COLUMNS)


def _shown(row: object) -> str:
    try:
        return str(row() if callable(row) else row)[:600]
    except (OverflowError, ValueError, TableStoreError):
        return "not shown"


SPARK_EXPRESSIONS: Final = Technique(
    name="spark-expressions",
    goal="an expression that plain Python evaluates has the values that Spark gives it",
    suite_cases=0,
    release_cases=2_000,
    run_case=run_case,
    needs_spark=True,
)
