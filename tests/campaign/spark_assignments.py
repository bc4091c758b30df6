"""Values of another type than their column's, written by plain Python.

What Python takes has the value to which Spark casts it, at the top and inside of a struct or array.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from table_store import connect
from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.spark_program import arrow_answer
from tests.campaign.spark_two_faces import session_of
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import arrow_array, plain_scalar
from tests.values.edges import ZONES, edges
from tests.values.envelope import Envelope
from tests.values.kinds import DECIMALS, FLOATS, INTEGERS, Value
from tests.values.sql_values import sql_value

_NUMBERS: Final = (*INTEGERS, *FLOATS, *DECIMALS)
_CLOCKS: Final = ("TIMESTAMP", "TIMESTAMP_NTZ")
_VALUES: Final = 24
_ROUNDS: Final = 6

Wrapped = tuple[str, Callable[[pa.Array], pa.Array], Callable[[pa.ChunkedArray], pa.ChunkedArray]]

_WRAPPED: Final[Sequence[Wrapped]] = (
    ("{}", lambda values: values, lambda found: found),
    (
        "STRUCT<a: {}>",
        lambda values: pa.StructArray.from_arrays([values], names=["a"]),
        lambda found: pa.chunked_array(found.combine_chunks().field(0)),
    ),
    (
        "STRUCT<a: {}, b: INT>",  # the values have one of the fields
        lambda values: pa.StructArray.from_arrays([values], names=["a"]),
        lambda found: pa.chunked_array(found.combine_chunks().field(0)),
    ),
    (
        "ARRAY<{}>",
        lambda values: pa.ListArray.from_arrays(
            pa.array(range(len(values) + 1), pa.int32()), values
        ),
        lambda found: pa.chunked_array(found.combine_chunks().flatten()),
    ),
)


@dataclass
class Assignments:
    """Assigns values of one type to columns of another one."""

    session: SparkSession
    dice: random.Random
    folder: str
    zone: str
    taken: int = 0
    refused: int = 0

    def compare(self, name: str) -> None:
        """Write some values of one type into a column of another one."""
        source, target = self.draw_types()
        some = [value for value in Envelope(self.dice).values(source, _VALUES) if value is not None]
        values = [*dict.fromkeys([*some, *self.dice.sample(edges(source), 4 % len(edges(source)))])]
        declared, wrap, unwrap = self.dice.choice(_WRAPPED)
        self.session.sql(f"CREATE TABLE {name} (id INT, v {declared.format(target)})")
        table = connect(self.folder, time_zone=self.zone).open(name)
        wanted = self.of_spark(values, source, target)
        taken: list[int] = []
        for at, value in enumerate(values):
            column = wrap(arrow_array([value], source))
            try:
                table.append(pa.table({"id": pa.array([at], pa.int32()), "v": column}))
            except TableStoreError:
                self.refused += 1
            else:
                taken.append(at)
        found = table.scan().to_arrow().sort_by("id")
        stored = [plain_scalar(one) for one in unwrap(found["v"])] if taken else []
        for at, mine in zip(taken, stored, strict=True):
            assert mine == wanted[at], (
                f"{source} {values[at]!r} into {declared.format(target)}, zone {self.zone}: "
                f"Python {mine!r}, Spark {wanted[at]!r}"
            )
        self.taken += len(taken)

    def draw_types(self) -> tuple[str, str]:
        """Two types between which values may be assigned."""
        if self.dice.random() < 0.3:
            return self.dice.choice([_CLOCKS, (*reversed(_CLOCKS),)])  # type: ignore[return-value]
        if self.dice.random() < 0.1:
            return "TIME(6)", "TIME(0)"
        source, target = self.dice.choice(_NUMBERS), self.dice.choice(_NUMBERS)
        # A DECIMAL takes of a FLOAT the shortest decimal number, and Spark that of its DOUBLE.
        return ("DOUBLE", target) if source == "FLOAT" else (source, target)

    def of_spark(self, values: Sequence[Value], source: str, target: str) -> list[Value]:
        """What Spark casts each value to; None where it has no such value."""
        casts = (f"try_cast({sql_value(value, source)} AS {target})" for value in values)
        row = arrow_answer(self.session.sql(f"SELECT {', '.join(casts)}"))
        return [plain_scalar(column[0]) for column in row.columns]


def run_case(case: Case) -> Counts:
    """Assign values of some pairs of types in one zone."""
    dice = case.random()
    session, zone = session_of(case, dice), dice.choice(ZONES)
    session.conf.set("spark.sql.session.timeZone", zone)
    assignments = Assignments(session, dice, str(case.folder), zone)
    for number in range(_ROUNDS):
        assignments.compare(f"t{number}")
    return {"values taken": assignments.taken, "values refused": assignments.refused}


SPARK_ASSIGNMENTS: Final = Technique(
    name="spark-assignments",
    goal="a value of another type has the value that Spark casts it to, or is refused",
    suite_cases=0,
    release_cases=2_000,
    run_case=run_case,
    needs_spark=True,
)
