"""Cuts sorted runs, read side by side, into ranges of the key that fit into memory.

Every run is read once, from front to back. In each round every run reads until it holds its share
of rows; then all rows up to the least of the runs' last keys can be merged (source: the block-wise
merge of external sorting, Knuth, The Art of Computer Programming 3, 5.4).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from table_store.storage.kernel.values import order_key, python_value

SLICE_ROWS_MAX: Final = 4_000_000
SLICE_BYTES_MAX: Final = 64 << 20
"""Greatest size of a slice. A merge holds about three times as much: its rows, their order and
its result."""


@dataclass(frozen=True, slots=True)
class RunRows:
    """A sorted run while it is read: about how many rows it has, and batches ascending by key."""

    row_count: int
    batches: Iterator[pa.RecordBatch]


def merge_slices(
    runs: Sequence[RunRows],
    key: Sequence[str],
    *,
    rows_max: int = SLICE_ROWS_MAX,
    bytes_max: int = SLICE_BYTES_MAX,
) -> Iterator[pa.Table]:
    """Yield the rows of all runs in slices of ascending, disjoint key ranges.

    In a slice the rows of the runs follow each other, in the order of the runs, and no key has
    rows in two slices. A slice holds about `rows_max` rows, or fewer of about `bytes_max`, and at
    least a batch of each run.
    """
    cursors = [_Cursor(run, key) for run in runs]
    total = max(1, sum(run.row_count for run in runs))
    while True:
        for cursor, run in zip(cursors, runs, strict=True):
            cursor.fill(rows_max * run.row_count // total, bytes_max * run.row_count // total)
        unfinished = [cursor.last_key() for cursor in cursors if not cursor.is_exhausted]
        if not unfinished:
            break
        bound = min(unfinished)
        yield pa.concat_tables([t for c in cursors if (t := c.take_through(bound)) is not None])
    rest = [t for c in cursors if (t := c.take_all()) is not None]
    if rest:
        yield pa.concat_tables(rest)


class _Cursor:
    """The rows of one run that are in memory and not in any slice yet."""

    def __init__(self, run: RunRows, key: Sequence[str]) -> None:
        self._batches = run.batches
        self._key = key
        self._held: list[pa.RecordBatch] = []
        self.row_count = 0
        self.is_exhausted = False

    def fill(self, row_count: int, size_bytes: int) -> None:
        """Hold a batch, and more of them up to a number of rows or bytes."""
        held_bytes = sum(batch.nbytes for batch in self._held)
        while not self.is_exhausted and (
            not self._held or (self.row_count < row_count and held_bytes < size_bytes)
        ):
            batch = next(self._batches, None)
            if batch is None:
                self.is_exhausted = True
            elif batch.num_rows:
                self._held.append(batch)
                self.row_count += batch.num_rows
                held_bytes += batch.nbytes

    def last_key(self) -> tuple[object, ...]:
        return self._key_at(self._held[-1], self._held[-1].num_rows - 1)

    def take_through(self, bound: tuple[object, ...]) -> pa.Table | None:
        """Return the rows with keys up to `bound`, and hold them no longer."""
        taken: list[pa.RecordBatch] = []
        while self._held and self._key_at(self._held[0], 0) <= bound:
            batch = self._held.pop(0)
            keys = partial(self._key_at, batch)
            count = bisect_right(range(batch.num_rows), bound, key=keys)
            taken.append(batch.slice(0, count))
            self.row_count -= count
            if count < batch.num_rows:
                self._held.insert(0, batch.slice(count))
                break
        return pa.Table.from_batches(taken) if taken else None

    def take_all(self) -> pa.Table | None:
        taken, self._held = self._held, []
        self.row_count = 0
        return pa.Table.from_batches(taken) if taken else None

    def _key_at(self, batch: pa.RecordBatch, row: int) -> tuple[object, ...]:
        return order_key(tuple(python_value(batch[name][row]) for name in self._key))
