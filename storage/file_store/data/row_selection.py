"""Which rows of a data file are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from table_store.storage.formats.data_format import FormatReader
from table_store.storage.formats.parquet_format import PAGE_ROWS_MAX
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.arrays import IntArray


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Stretches of rows of one file, ascending; `group_rows` are the rows of its row groups."""

    group_rows: tuple[int, ...]
    stretches: tuple[RowStretch, ...]

    @classmethod
    def of_groups(cls, group_rows: tuple[int, ...], groups: Sequence[int]) -> RowSelection:
        """Return all rows of some row groups."""
        return cls(group_rows, tuple(RowStretch(group, 0, group_rows[group]) for group in groups))

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return sum(stretch.row_count for stretch in self.stretches)

    def row_numbers(self, first: int, count: int) -> IntArray:
        """Return the numbers in the file of `count` rows of the selection, from `first` on."""
        starts = np.concatenate([[0], np.cumsum(self.group_rows)])
        numbers, offset = [np.zeros(0, np.int64)], 0
        for stretch in self.stretches:
            low, high = max(first, offset), min(first + count, offset + stretch.row_count)
            if low < high:
                moved = int(starts[stretch.row_group]) + stretch.first_row - offset
                numbers.append(np.arange(low + moved, high + moved))
            offset += stretch.row_count
        return numbers[-1] if len(numbers) == 2 else np.concatenate(numbers)

    def batches(self, reader: FormatReader, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the file's order; columns are given by position."""
        for is_whole, stretches in groupby(self.stretches, self._is_whole):
            if is_whole:
                yield from reader.batches(columns, [each.row_group for each in stretches])
                continue
            for stretch in stretches:
                yield from reader.stretch(columns, stretch).to_batches()

    def table(self, reader: FormatReader, columns: Sequence[int]) -> pa.Table:
        """Return the rows that `batches` yields as one table, which is faster."""
        if all(map(self._is_whole, self.stretches)):
            return reader.table(columns, [each.row_group for each in self.stretches])
        return pa.concat_tables(
            reader.table(columns, [each.row_group])
            if self._is_whole(each)
            else reader.stretch(columns, each)
            for each in self.stretches
        )

    def _is_whole(self, stretch: RowStretch) -> bool:
        return stretch.row_count == self.group_rows[stretch.row_group]


def stretches_with(places: IntArray, row_group: int, row_count: int) -> tuple[RowStretch, ...]:
    """Return few stretches of a row group of `row_count` rows that have the rows at `places`.

    A page is the least that can be read, so rows that are nearer to each other are not read
    apart, and the whole row group is read if half of its pages would be.
    """
    if not len(places):
        return ()
    gaps = np.flatnonzero(np.diff(places) > PAGE_ROWS_MAX)
    firsts = places[np.concatenate([[0], gaps + 1])].tolist()
    lasts = places[np.concatenate([gaps, [len(places) - 1]])].tolist()
    read = sum(lasts) - sum(firsts) + len(firsts) * PAGE_ROWS_MAX
    if 2 * read > row_count:
        return (RowStretch(row_group, 0, row_count),)
    return tuple(
        RowStretch(row_group, first, last + 1 - first)
        for first, last in zip(firsts, lasts, strict=True)
    )
