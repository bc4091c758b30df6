"""Rows whose shape is not quite the table's, written by plain Python.

A struct with other fields, a NULL where none may be, a map with one key twice, a column that rows
lack: each is stored as it was meant, or refused by name; never in part.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import parse_type
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import Row, arrow_array, arrow_table, plain_rows
from tests.values.envelope import Envelope
from tests.values.kinds import Array, Kind, Map, Struct, Value
from tests.values.spark_json import spark_json

_TRIES: Final = 12


@dataclass(frozen=True, slots=True)
class Attempt:
    """A column in Arrow, what a row must hold then, and whether it must be refused."""

    what: str
    values: pa.Array
    kind: Kind
    wanted: Value = None
    is_wrong: bool = True


@dataclass
class Shapes:
    """Draws attempts for new tables in one warehouse."""

    envelope: Envelope
    folder: str
    counts: Counter[str]
    tables: int = 0

    @property
    def dice(self) -> random.Random:
        return self.envelope.dice

    def create(self, columns: dict[str, Kind]) -> Table:
        self.tables += 1
        described = TableDescriptor.for_managed()
        for name, kind in columns.items():
            described = described.column(name, parse_type(spark_json(kind)))
        return connect(self.folder).create(f"t{self.tables}", described)

    def struct(self) -> Struct:
        """A struct of two or more fields."""
        names = self.dice.sample(["a", "b", "Cd", "e f", "ü"], self.dice.choice([2, 3]))
        return Struct(tuple((name, self.envelope.inner_kind(1)) for name in names))

    def with_other_fields(self) -> Attempt:
        """A struct with a field more, less, misspelt, or in another case or place."""
        kind = self.struct()
        value = self.envelope.value(kind, is_required=True)
        pairs = list(zip(kind.fields, value, strict=True))
        what = self.dice.choice(["more", "misspelt", "case", "order"])
        at = self.dice.randrange(len(pairs))
        (name, inner), item = pairs[at]
        if what == "more":
            pairs.insert(at, (("other", "INT"), 7))
        elif what == "misspelt":
            pairs[at] = ((f"{name}x", inner), item)
        elif what == "case":
            pairs = [((n.upper() if n.islower() else n.lower(), k), v) for (n, k), v in pairs]
        else:
            self.dice.shuffle(pairs)
        given = Struct(tuple(pair for pair, _ in pairs))
        values = arrow_array([tuple(item for _, item in pairs)], given)
        return Attempt(what, values, kind, value, what in ("more", "misspelt"))

    def with_missing_null(self) -> Attempt:
        """NULL in a required field."""
        of = self.struct()
        kind = Struct(of.fields, frozenset([of.fields[0][0]]))
        value = (None, *self.envelope.value(of, is_required=True)[1:])
        return Attempt("NULL in a required field", arrow_array([value], of), kind)

    def with_equal_keys(self) -> Attempt:
        """A map with one key twice."""
        kind = Map("INT", self.dice.choice(["INT", "STRING", "DATE", "DECIMAL(18,6)"]))
        ((key,),) = self.envelope.different([kind.key], 1)
        return Attempt("a key twice", arrow_array([((key, 1), (key, 2))], kind), kind)

    def nested(self, attempt: Attempt) -> Attempt:
        """The same inside of an array, a struct or the values of a map."""
        values, one = attempt.values, pa.array([0, 1], pa.int32())
        kind, wanted = attempt.kind, attempt.wanted
        roll = self.dice.randrange(5)
        if roll == 0:
            values, kind, wanted = pa.ListArray.from_arrays(one, values), Array(kind), (wanted,)
        elif roll == 1:
            values = pa.StructArray.from_arrays([values], names=["in"])
            kind, wanted = Struct((("in", kind),)), (wanted,)
        elif roll == 2:
            values = pa.MapArray.from_arrays(one, pa.array(["k"]), values)
            kind, wanted = Map(kind), ((b"k", wanted),)
        else:
            return attempt
        return Attempt(f"{attempt.what} in {kind}", values, kind, wanted, attempt.is_wrong)

    def try_one(self) -> None:
        """Write one odd column; it is stored as it is meant, or refused."""
        draw: list[Callable[[], Attempt]] = [
            self.with_other_fields,
            self.with_other_fields,
            self.with_missing_null,
            self.with_equal_keys,
        ]
        attempt = self.nested(self.dice.choice(draw)())
        columns: dict[str, Kind] = {"id": "INT", "v": attempt.kind}
        table = self.create(columns)
        rows = pa.table({"id": pa.array([1], pa.int32()), "v": attempt.values})
        try:
            table.append(rows)
        except TableStoreError:
            self.counts["refused"] += 1
            return
        found = plain_rows(table.scan().to_arrow(), columns)
        assert not attempt.is_wrong, f"stored: {attempt}, as {found}"
        self.counts["stored"] += 1
        assert found == [(1, attempt.wanted)], f"{attempt}: {found}"

    def delete_in_part(self) -> None:
        """DELETE of rows without one of the columns is refused, for no row is equal to them."""
        columns = {"id": "INT", "a": "STRING", "b": self.envelope.scalar_kind()}
        columns = {name: "STRING" if "COLLATE" in k else k for name, k in columns.items()}
        columns = {name: "STRING" if "CHAR" in k else k for name, k in columns.items()}
        kinds = list(columns.values())
        rows: list[Row] = [(at, *(self.envelope.value(k) for k in kinds[1:])) for at in range(4)]
        table = self.create(dict(columns))
        whole = arrow_table(rows, dict(columns))
        table.append(whole)
        gone = whole.slice(0, 2).drop_columns([self.dice.choice(list(columns))])
        self._refused(lambda: table.delete_rows(gone), "delete_rows without a column")
        self._refused(lambda: table.update({"a": "'x'", "A": "'y'"}), "a column set twice")
        table.delete_rows(whole.slice(0, 2))
        found = Counter(plain_rows(table.scan().to_arrow(), dict(columns)))
        assert found == Counter(rows[2:]), found

    def _refused(self, run: Callable[[], object], what: str) -> None:
        try:
            run()
        except TableStoreError:
            self.counts["refused"] += 1
        else:
            raise AssertionError(f"{what}: not refused")


def run_case(case: Case) -> Counts:
    """Try some odd shapes."""
    shapes = Shapes(Envelope(case.random(), longest=600), str(case.folder), Counter())
    for _ in range(_TRIES):
        shapes.try_one()
    shapes.delete_in_part()
    return shapes.counts


PYTHON_SHAPES: Final = Technique(
    name="python-shapes",
    goal="rows of another shape are stored as they are meant, or refused",
    suite_cases=3,
    release_cases=5_000,
    run_case=run_case,
)
