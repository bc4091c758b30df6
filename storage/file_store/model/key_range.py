"""A range of keys, for several tasks that work on one bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.predicate import And, Comparison, Or, Predicate
from table_store.storage.kernel.values import Value


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `start` (inclusive) to `end` (exclusive); None means no bound.

    Both hold values of `range_columns`, or of the first few of them.
    """

    start: tuple[Value, ...] | None = None
    end: tuple[Value, ...] | None = None

    def to_predicate(self, schema: TableSchema) -> Predicate | None:
        """Return the condition that a row's key is in the range; None if every key is."""
        columns = range_columns(schema)
        low = None if self.start is None else _beyond(columns, self.start, ">")
        high = None if self.end is None else _beyond(columns, self.end, "<")
        if low is None or high is None:
            return low or high
        return And(low, high)


def range_columns(schema: TableSchema) -> tuple[str, ...]:
    """Return the key columns without the partition columns, which are constant in a bucket."""
    return tuple(name for name in schema.primary_key if name not in schema.partition_keys)


def _beyond(columns: Sequence[str], bound: Sequence[Value], op: str) -> Predicate:
    """Return the condition that a row is beyond `bound`, compared column after column.

    With `>` a row that equals the bound satisfies it, because a range includes its start.
    """
    column, value = columns[0], bound[0]
    if len(bound) == 1:
        return Comparison(column, ">=" if op == ">" else op, value)
    rest = _beyond(columns[1:], bound[1:], op)
    return Or(Comparison(column, op, value), And(Comparison(column, "=", value), rest))
