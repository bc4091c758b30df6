"""Collects rows of a bucket with key: holds, spills, sorts and merges them into a sorted run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.bag.bag import KindArray
from table_store.storage.file_store.data.data_file_writer import DataFileWriter
from table_store.storage.file_store.model.data_file import KIND_ADD
from table_store.storage.file_store.order.key_order import order_by_key
from table_store.storage.file_store.order.merge_slices import RunRows, merge_slices
from table_store.storage.file_store.write.key_check import KeyCheck
from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.bounded_pieces import take_values
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.row_batch import BATCH_ROWS
from table_store.storage.kernel.stopwatch import Stopwatch

_KIND: Final = "_VALUE_KIND"
_ORDER: Final = "_SEQUENCE_NUMBER"
"""These columns stand beside the table's own, which has none of these names."""

_SPILLED_BATCH_BYTES: Final = 16 << 20
"""A merge holds at least one batch of each spilled run."""

_SPILLED: Final = Counter("spilled_bytes")


@dataclass(slots=True)
class Memtable:
    """Collects the rows that one writer writes to one bucket of a table with key.

    The newest row of every key is kept: the one with the greatest order, or without orders the
    last one. `row_count` rows were added; `size_bytes` are in memory, `spilled_bytes` were moved to
    files. `sorting` tells how long rows were sorted and merged. `check` says which keys are
    refused; None: none is.
    """

    key: tuple[str, ...]
    sorting: Stopwatch = field(default_factory=Stopwatch)
    check: KeyCheck | None = None
    _chunks: list[pa.Table] = field(default_factory=list)
    _runs: list[IO[bytes]] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0
    spilled_bytes: int = 0

    def add(self, rows: pa.Table, kinds: KindArray | None, order: IntArray | None) -> None:
        """Take rows; without `kinds` all are added, without `order` their own order counts."""
        count = rows.num_rows
        if kinds is None:
            kinds = np.full(count, KIND_ADD, np.int8)
        if order is None:
            order = np.arange(self.row_count, self.row_count + count)
        rows = rows.append_column(_KIND, pa.array(kinds, pa.int8()))
        rows = rows.append_column(_ORDER, pa.array(order, pa.int64()))
        self.row_count += count
        self._chunks.append(rows)
        self.size_bytes += rows.nbytes

    def spill(self) -> None:
        """Move the rows to a file, sorted, and free their memory.

        The file has no name: a process that is killed leaves nothing behind.

        Raises:
            DuplicateKeyError: `check` refuses a key.
        """
        run = self._held()
        if run is None:
            return
        file = tempfile.TemporaryFile()  # noqa: SIM115 (`discard` closes it)
        self._runs.append(file)
        self.spilled_bytes += run.nbytes
        _SPILLED.add(run.nbytes)
        with pa.ipc.new_file(file, run.schema) as sink:
            row_bytes = run.nbytes // max(1, run.num_rows) + 1
            rows_max = max(1, min(BATCH_ROWS, _SPILLED_BATCH_BYTES // row_bytes))
            sink.write_table(run, max_chunksize=rows_max)

    def flush(self, writer: DataFileWriter) -> None:
        """Write everything held to `writer`; the memtable is empty then.

        Sequence numbers continue those of the writer's earlier rows.

        Raises:
            DuplicateKeyError: `check` refuses a key.
        """
        for rows in self._merged():
            inner, kinds = rows.drop_columns([_KIND, _ORDER]), rows[_KIND].to_numpy()
            if self.check is not None:
                keys = inner.select(list(self.key))
                kinds = self.check.look_up(
                    keys, kinds, partition=writer.partition, bucket=writer.bucket
                )
            writer.write(inner, kinds=kinds, sequences=writer.row_count)

    def discard(self) -> None:
        """Forget everything, spilled files included."""
        for file in self._runs:
            file.close()
        self._runs.clear()
        self._clear()

    def _clear(self) -> None:
        self._chunks.clear()
        self.size_bytes = 0

    def _merged(self) -> Iterator[pa.Table]:
        """Yield what is held, ascending by key, each key once."""
        held = self._held()
        if not self._runs:
            if held is not None:
                yield held
            return
        runs = [_spilled(file) for file in self._runs]
        if held is not None:
            runs.append(RunRows(held.num_rows, iter(held.to_batches(BATCH_ROWS))))
        del held
        for rows in merge_slices(runs, self.key):
            with self.sorting:
                part = self._sorted(rows)
            yield part
        self.discard()

    def _held(self) -> pa.Table | None:
        """Return the rows in memory, sorted, and forget them."""
        if not self._chunks:
            return None
        rows = pa.concat_tables(self._chunks)
        self._clear()
        with self.sorting:
            return self._sorted(rows)

    def _sorted(self, rows: pa.Table) -> pa.Table:
        """Return `rows` ascending by key, of each key only the row with the greatest order.

        It goes column by column, so that only one column is in memory beside input and output.
        """
        keys = rows.select(list(self.key))
        order = order_by_key(keys.columns, tie_breaker=rows[_ORDER].to_numpy())
        kinds = rows[_KIND].to_numpy()
        if self.check is None:
            kinds = kinds[order.positions[order.is_last]]
        else:
            kinds = self.check.settle(keys, kinds, order)
        newest = pa.array(order.positions[order.is_last])
        columns: list[pa.ChunkedArray | pa.Array] = [
            take_values(column, newest) for column in rows.columns
        ]
        columns[rows.column_names.index(_KIND)] = pa.array(kinds, pa.int8())
        return pa.Table.from_arrays(columns, schema=rows.schema)


def _spilled(file: IO[bytes]) -> RunRows:
    """Return a spilled run. It is read and not mapped, because a map counts as memory used."""
    reader = pa.ipc.open_file(file)
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    return RunRows(reader.count_rows(), batches)
