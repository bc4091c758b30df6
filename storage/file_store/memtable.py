"""Rows of one bucket on their way to a sorted run: held, spilled, sorted, merged, written."""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.data_file import KIND_ADD
from table_store.storage.file_store.data_file_writer import DataFileWriter
from table_store.storage.file_store.key_order import sort_order
from table_store.storage.file_store.merge import newest_per_key

# Rows that are merged at a time when a bucket was spilled.
_SLICE_ROWS = 1_000_000
_KIND, _ORDER = "__kind", "__order"


@dataclass(slots=True)
class Memtable:
    """Collects the rows that one writer writes to one bucket.

    With `key` the newest row of every key is kept: the greatest order, or without orders the
    last that came. Without key every row is, in the order it came.
    """

    key: tuple[str, ...]
    _chunks: list[pa.Table] = field(default_factory=list)
    _runs: list[Path] = field(default_factory=list)
    _arrived: int = 0
    _written: int = 0
    size_bytes: int = 0

    def add(self, rows: pa.Table, kinds: np.ndarray | None, order: np.ndarray | None) -> None:
        """Take rows; `kinds` None are all adds, `order` None is the order of arrival."""
        count = rows.num_rows
        if kinds is not None and not kinds.any():
            kinds = None
        if kinds is not None or self.key:
            given = np.zeros(count, np.int8) if kinds is None else kinds
            rows = rows.append_column(_KIND, pa.array(given, pa.int8()))
        if self.key:
            if order is None:
                order = np.arange(self._arrived, self._arrived + count)
            rows = rows.append_column(_ORDER, pa.array(order, pa.int64()))
        self._arrived += count
        self._chunks.append(rows)
        self.size_bytes += rows.nbytes

    def spill(self, folder: Path) -> None:
        """Move the rows of a table with key to a file, sorted, and free their memory."""
        run = self._sorted(_together(self._chunks))
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".arrow", delete=False) as file:
            with pa.ipc.new_file(file, run.schema) as sink:
                sink.write_table(run, max_chunksize=1 << 16)
            self._runs.append(Path(file.name))
        self._clear()

    def flush(self, writer: DataFileWriter) -> None:
        """Write everything held to `writer`; the memtable is empty then.

        Sequence numbers count on from the writer's own rows.
        """
        for rows in self._merged():
            kinds = rows[_KIND].to_numpy() if _KIND in rows.column_names else None
            inner = rows.drop_columns([n for n in (_KIND, _ORDER) if n in rows.column_names])
            if kinds is not None and not (kinds != KIND_ADD).any():
                kinds = None
            writer.write(inner, kinds=kinds, sequences=self._written)
            self._written += inner.num_rows
        self._clear()

    def discard(self) -> None:
        """Forget everything, spilled files included."""
        for path in self._runs:
            path.unlink(missing_ok=True)
        self._runs.clear()
        self._clear()

    def _clear(self) -> None:
        self._chunks.clear()
        self.size_bytes = 0

    def _merged(self) -> Iterator[pa.Table]:
        if not self.key:
            if self._chunks:
                yield _together(self._chunks)
            return
        if not self._runs:
            if self._chunks:
                yield self._sorted(_together(self._chunks))
            return
        runs = [_mapped(path) for path in self._runs]
        if self._chunks:
            runs.append(self._sorted(_together(self._chunks)))
        for pieces in _slices(runs, self.key[0]):
            if pieces:
                yield self._sorted(pa.concat_tables(pieces))
        del runs
        self.discard()

    def _sorted(self, rows: pa.Table) -> pa.Table:
        """`rows` ascending by key, only the greatest order of each key."""
        keys = [rows[name] for name in self.key]
        by_key = sort_order(keys, tie_breaker=rows[_ORDER].to_numpy())
        ordered = rows.take(pa.array(by_key))
        last = newest_per_key([ordered[name] for name in self.key])
        return ordered if len(last) == ordered.num_rows else ordered.take(pa.array(last))


def _together(chunks: Sequence[pa.Table]) -> pa.Table:
    """One table; chunks without a kind column get one where others have it."""
    if any(_KIND in chunk.column_names for chunk in chunks):
        chunks = [_with_kind(chunk) for chunk in chunks]
    return pa.concat_tables(chunks).combine_chunks()


def _with_kind(chunk: pa.Table) -> pa.Table:
    if _KIND in chunk.column_names:
        return chunk
    return chunk.append_column(_KIND, pa.array(np.zeros(chunk.num_rows, np.int8)))


def _mapped(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _slices(runs: Sequence[pa.Table], first_key: str) -> Iterator[list[pa.Table]]:
    """Cut all runs at the same keys, so that a slice of about `_SLICE_ROWS` is in memory."""
    largest = max(runs, key=lambda run: run.num_rows)
    total = sum(run.num_rows for run in runs)
    pieces = max(1, total // _SLICE_ROWS)
    at = [largest.num_rows * i // pieces for i in range(1, pieces)]
    bounds = [largest[first_key][i].as_py() for i in at]
    starts = [0] * len(runs)
    for bound in [*bounds, None]:
        pieces_of_slice = []
        for number, run in enumerate(runs):
            column = run[first_key]
            end = run.num_rows if bound is None else _first_at(column, bound, starts[number])
            if end > starts[number]:
                pieces_of_slice.append(run.slice(starts[number], end - starts[number]))
            starts[number] = end
        yield pieces_of_slice


def _first_at(column: pa.ChunkedArray, bound: Any, start: int) -> int:
    """The first position from `start` whose value is not below `bound`; the column ascends."""
    return bisect_left(range(len(column)), bound, lo=start, key=lambda i: column[i].as_py())
