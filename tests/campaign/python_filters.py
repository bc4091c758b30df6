"""Conditions that plain Python is given as tuples and as expressions of Arrow.

Tuples are compared with a model of plain values, expressions of Arrow with Arrow over the whole
table. Each is a filter of a scan with a projection, and one is a DELETE.
"""

from __future__ import annotations

import datetime as dt
import operator
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.technique import Case, Counts, Technique
from tests.values.arrow_values import arrow_table
from tests.values.envelope import Envelope
from tests.values.kinds import Kind, Value

_ROWS: Final = 40
_CONDITIONS: Final = 60
_COLUMNS: Final[dict[str, Kind]] = {
    "id": "INT",
    "l": "BIGINT",
    "m": "DECIMAL(18,6)",
    "s": "STRING",
    "d": "DATE",
    "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ",
}
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FIRST_NANOSECOND: Final = -(2**63)
_OLDEST: Final = -62_135_596_800_000_000


@dataclass(frozen=True, slots=True)
class Operand:
    """A value as a program gives it, and the one that it is among plain values."""

    given: object
    plain: Value


@dataclass
class Filtered:
    """A table and its rows in Arrow; the `id` of a row is its place."""

    table: Table
    rows: pa.Table
    plain: list[tuple[Value, ...]]
    dice: random.Random
    counts: Counter[str]

    def by_tuple(self) -> tuple[list[tuple[str, str, object]], list[int]]:
        """A condition of one term, and the ids of its rows."""
        at = self.dice.randrange(len(_COLUMNS))
        name, kind = list(_COLUMNS.items())[at]
        word, value = self.dice.choice(list(_OPERATORS)), self._some(at)
        operand = self._operand(kind, value)
        compare = _OPERATORS[word]
        ids = [
            row[0] for row in self.plain if row[at] is not None and compare(row[at], operand.plain)
        ]
        return [(name, word, operand.given)], ids

    def by_arrow(self) -> tuple[pc.Expression, list[int]]:
        """An expression of Arrow, by names or positions, and the ids of its rows."""
        condition = self._arrow(self.dice.choice([0, 1]))
        return condition, self.rows.filter(condition)["id"].to_pylist()

    def _arrow(self, depth: int) -> pc.Expression:
        if depth:
            one, other = self._arrow(0), self._arrow(0)
            return self.dice.choice([one & other, one | other, ~one])
        at = self.dice.randrange(len(_COLUMNS))
        field = pc.field(self.dice.choice([at, list(_COLUMNS)[at]]))
        column = self.rows.column(at)
        present = column.drop_null()
        if not len(present) or self.dice.random() < 0.1:
            return field.is_null()
        value = self.dice.choice(present)
        compare = _OPERATORS[self.dice.choice(list(_OPERATORS))]
        return compare(field, pc.scalar(value))

    def check(self, where: Any, ids: list[int]) -> None:
        """A scan of some columns returns these rows, or the condition is refused."""
        columns = self.dice.choice([["id"], ["s", "id"], ["id", "n", "d"], list(_COLUMNS)])
        try:
            found = self.table.scan(columns, where).to_arrow()["id"].to_pylist()
        except TableStoreError:
            self.counts["refused"] += 1
            return
        self.counts["filters"] += 1
        assert sorted(found) == sorted(ids), f"{where!r} of {columns}: {found}, wanted {ids}"

    def delete(self, where: Any, ids: list[int]) -> None:
        """A DELETE leaves the other rows."""
        try:
            self.table.delete(where)
        except TableStoreError:
            return
        left = self.table.scan(["id"]).to_arrow()["id"].to_pylist()
        wanted = sorted(set(range(len(self.plain))) - set(ids))
        assert sorted(left) == wanted, f"left by {where!r}: {sorted(left)}, wanted {wanted}"

    def _some(self, at: int) -> Value:
        present = [row[at] for row in self.plain if row[at] is not None]
        return self.dice.choice(present or [None])

    def _operand(self, kind: Kind, value: Value) -> Operand:
        if value is None:
            return Operand(0, None)
        if kind in ("TIMESTAMP", "TIMESTAMP_NTZ"):
            return self._moment(value, is_zoned=kind == "TIMESTAMP")
        if kind == "STRING":
            return Operand(value.decode(), value)
        if kind == "DATE":
            day = dt.date(1970, 1, 1).toordinal() + value
            is_known = 0 < day <= dt.date.max.toordinal()
            return (
                Operand(dt.date.fromordinal(day), value)
                if is_known
                else Operand(dt.date.min, -719_162)
            )
        if kind == "DECIMAL(18,6)":
            return Operand(value, value)
        near = value + self.dice.choice([-1, 0, 0, 1])
        if abs(near) >= 2**31:
            return Operand(near, near)
        return self.dice.choice(
            [Operand(near, near), Operand(np.int32(near), near), Operand(Decimal(near), near)]
        )

    def _moment(self, micros: int, *, is_zoned: bool) -> Operand:
        nanos = micros * 1000 + self.dice.choice([0, 0, 1, 999, -1])
        zone = "UTC" if is_zoned else None
        forms: list[Operand] = []
        if _FIRST_NANOSECOND < nanos < 2**63:
            exact = Fraction(nanos, 1000)
            forms += [Operand(pd.Timestamp(nanos, unit="ns", tz=zone), exact)]
            forms += [] if is_zoned else [Operand(np.datetime64(nanos, "ns"), exact)]
            forms += [Operand(pa.scalar(nanos, pa.timestamp("ns", zone)), exact)]
        if micros >= _OLDEST:
            epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC if is_zoned else None)
            forms.append(Operand(epoch + dt.timedelta(microseconds=micros), micros))
        forms.append(Operand(pa.scalar(micros, pa.timestamp("us", zone)), micros))
        return self.dice.choice(forms)


def run_case(case: Case) -> Counts:
    """Compare some conditions on one table."""
    dice = case.random()
    envelope = Envelope(dice, longest=300)
    values = [envelope.values(kind, _ROWS) for kind in list(_COLUMNS.values())[1:]]
    plain = [(at, *(column[at] for column in values)) for at in range(_ROWS)]
    rows = arrow_table(plain, _COLUMNS)
    described = TableDescriptor.for_managed()
    for name, kind in _COLUMNS.items():
        described = described.column(name, str(kind))
    table = connect(str(case.folder)).create("t", described)
    for first in range(0, _ROWS, _ROWS // 2):
        table.append(rows.slice(first, _ROWS // 2))
    filtered = Filtered(table, rows, plain, dice, Counter())
    for _ in range(_CONDITIONS):
        draw = dice.choice([filtered.by_tuple, filtered.by_arrow])
        filtered.check(*draw())
    filtered.delete(*dice.choice([filtered.by_tuple, filtered.by_arrow])())
    return filtered.counts


PYTHON_FILTERS: Final = Technique(
    name="python-filters",
    goal="conditions as tuples and expressions of Arrow hold for the rows that they name",
    suite_cases=2,
    release_cases=10_000,
    run_case=run_case,
)
