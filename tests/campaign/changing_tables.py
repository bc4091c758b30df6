"""Small tables of all that is hard to compare, and random changes of them, without Spark."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import pyarrow as pa

from table_store.storage.file_store.table import FileStoreTable

COLUMNS: Final = "k INT, v INT, s STRING, f DOUBLE, d DECIMAL(8,2)"
_ARROW: Final = pa.schema(
    {
        "k": pa.int32(),
        "v": pa.int32(),
        "s": pa.string(),
        "f": pa.float64(),
        "d": pa.decimal128(8, 2),
    }
)
_NUMBERS: Final = (None, *range(6))
_TEXTS: Final = ("x", "Y", "", None)
_FLOATS: Final = (0.0, -0.0, 1.5, -2.5, float("nan"), float("inf"), None)
_DECIMALS: Final = (Decimal("0.00"), Decimal("3.25"), Decimal("-1.10"), Decimal("9.99"), None)
_ROWS_MAX: Final = 8
_KEYS: Final = 8


@dataclass(frozen=True, slots=True)
class ChangingTables:
    """Tables by name; rows of those with a key have different k, which are never NULL."""

    tables: Mapping[str, FileStoreTable]
    dice: random.Random

    def change_some(self) -> list[str]:
        """Change one table, or all of them before anybody looks; return what was done."""
        names = sorted(self.tables)
        if self.dice.random() < 0.5:
            names = [self.dice.choice(names)]
        return [self._changed(name) for name in names for _ in range(self.dice.randrange(1, 3))]

    def rows(self, name: str) -> pa.Table:
        """The rows of a table now."""
        return self.tables[name].scan().to_arrow()

    def _changed(self, name: str) -> str:
        table, there = self.tables[name], self.rows(name).to_pylist()
        some = self.dice.sample(there, self.dice.randint(0, len(there)))
        kind = self.dice.choice(["insert", "insert", "delete", "update", "again", "move", "empty"])
        if kind == "insert" or not there:
            rows = [self._row() for _ in range(self.dice.randint(1, 3))]
            self._put(table, rows if self.dice.random() < 0.7 else rows * 2)
            return f"{name}: insert {rows}"
        if kind == "empty":
            some = there if self.dice.random() < 0.3 else there[:1]
        _delete(table, some)
        if kind == "update":
            self._put(table, [self._updated(row) for row in some])
        elif kind == "again":
            self._put(table, some)
        elif kind == "move":
            self._put(table, [{**row, "k": self.dice.randrange(_KEYS)} for row in some])
        return f"{name}: {kind} {some}"

    def _put(self, table: FileStoreTable, rows: Sequence[Mapping[str, object]]) -> None:
        if table.schema.primary_key:
            last = {row["k"]: row for row in rows if row["k"] is not None}
            table.upsert(_arrow(list(last.values())))
        else:
            room = max(0, _ROWS_MAX - table.scan().to_arrow().num_rows)
            table.append(_arrow(rows[:room]))

    def _row(self) -> dict[str, object]:
        return {
            "k": self.dice.choice(_NUMBERS),
            "v": self.dice.choice(_NUMBERS),
            "s": self.dice.choice(_TEXTS),
            "f": self.dice.choice(_FLOATS),
            "d": self.dice.choice(_DECIMALS),
        }

    def _updated(self, row: Mapping[str, object]) -> dict[str, object]:
        """The row with one other value, or the same one again."""
        column = self.dice.choice(["v", "s", "f", "d"])
        return {**row, column: self._row()[column]}


def _delete(table: FileStoreTable, rows: Sequence[Mapping[str, object]]) -> None:
    found = _arrow(rows)
    table.delete(found.select(["k"]) if table.schema.primary_key else found)


def _arrow(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=_ARROW)
