"""Writes rows into the buckets of a table; what comes out is ready to be committed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.bucket import bucket_ids
from table_store.storage.file_store.data_file import CommitMessage
from table_store.storage.file_store.data_file_writer import DataFileOptions, DataFileWriter
from table_store.storage.file_store.memtable import Memtable
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.clock import Clock, SystemClock
from table_store.storage.kernel.errors import NullKeyError
from table_store.storage.kernel.ids import IdSource, RandomIds
from table_store.storage.kernel.types import arrow_field
from table_store.storage.kernel.values import Value

_Target = tuple[tuple[Value, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """What a writer needs to know; goes to workers, reads nothing.

    `write_buffer_bytes` bounds the rows that one writer holds in memory, over all buckets.
    """

    file_io: FileIO
    table_path: str
    schema: TableSchema
    bucket_count: int
    files: DataFileOptions = field(default_factory=DataFileOptions)
    write_buffer_bytes: int = 256 << 20
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=RandomIds)


class TableWriter:
    """One writer. A bucket of a table with key must have one writer in a statement."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._arrow = pa.schema(
            [arrow_field(f.name, f.type, nullable=True) for f in context.schema.fields]
        )
        self._memtables: dict[_Target, Memtable] = {}
        self._writers: dict[_Target, DataFileWriter] = {}
        self._spill_folder: Path | None = None

    def write(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: np.ndarray | None = None,
        order: np.ndarray | None = None,
        buckets: np.ndarray | None = None,
    ) -> None:
        """Take rows with the table's columns, by name.

        Args:
            rows: columns of the table, found by name and cast to its types.
            kinds: int8 `_VALUE_KIND` per row; None are all adds.
            order: int64 per row, the statement's order where rows arrive shuffled: of the rows
                with one key the greatest wins. None is the order of arrival.
            buckets: int32 bucket per row, where somebody has computed it already.

        Raises:
            NullKeyError: a NULL in a key or NOT NULL column; names the column.
        """
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        if not table.num_rows:
            return
        table = table.select(self._arrow.names).cast(self._arrow)
        self._check_not_null(table, kinds)
        for target, positions in self._targets(table, buckets):
            memtable = self._memtables.setdefault(
                target, Memtable(self._context.schema.primary_key)
            )
            if positions is None:
                memtable.add(table, kinds, order)
            else:
                memtable.add(
                    table.take(pa.array(positions)),
                    None if kinds is None else kinds[positions],
                    None if order is None else order[positions],
                )
        self._bound_memory()

    def prepare_commit(self) -> tuple[CommitMessage, ...]:
        """Write what is held and return a message for each bucket that got rows.

        The writer is empty then, and may be used again.
        """
        messages = []
        for target in list(self._memtables):
            memtable = self._memtables.pop(target)
            writer = self._writers.pop(target, None) or self._writer(target)
            self._writers[target] = writer
            memtable.flush(writer)
            files = writer.close()
            del self._writers[target]
            if files:
                messages.append(CommitMessage(partition=target[0], bucket=target[1], added=files))
        self._remove_spill_folder()
        return tuple(messages)

    def abort(self) -> None:
        """Delete everything that was written and not committed."""
        for memtable in self._memtables.values():
            memtable.discard()
        for writer in self._writers.values():
            writer.abort()
        self._memtables.clear()
        self._writers.clear()
        self._remove_spill_folder()

    def _check_not_null(self, table: pa.Table, kinds: np.ndarray | None) -> None:
        schema = self._context.schema
        for column in schema.fields:
            if column.nullable or not table[column.name].null_count:
                continue
            is_null = table[column.name].is_null().to_numpy()
            if kinds is not None and column.name not in schema.primary_key:
                is_null = is_null & (kinds == 0)
            if is_null.any():
                raise NullKeyError(column=column.name)

    def _targets(
        self, table: pa.Table, buckets: np.ndarray | None
    ) -> Iterator[tuple[_Target, np.ndarray | None]]:
        """(partition and bucket, positions of its rows); None are all rows."""
        context = self._context
        schema = context.schema
        if buckets is None and context.bucket_count > 1:
            hashed = schema.primary_key or schema.column_names
            buckets = bucket_ids(table, hashed, context.bucket_count)
        codes = np.zeros(table.num_rows, np.int64) if buckets is None else buckets.astype(np.int64)
        for name in schema.partition_keys:
            encoded = pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode")
            codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
        groups, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        by_group = np.argsort(inverse, kind="stable") if len(groups) > 1 else None
        ends = np.cumsum(np.bincount(inverse, minlength=len(groups)))
        for number, row in enumerate(first.tolist()):
            partition = tuple(table[name][row].as_py() for name in schema.partition_keys)
            bucket = 0 if buckets is None else int(buckets[row])
            if by_group is None:
                yield (partition, bucket), None
            else:
                start = 0 if number == 0 else ends[number - 1]
                yield (partition, bucket), by_group[start : ends[number]]

    def _bound_memory(self) -> None:
        """Free the largest memtables until the rest fits into half of the buffer."""
        limit = self._context.write_buffer_bytes
        if sum(memtable.size_bytes for memtable in self._memtables.values()) <= limit:
            return
        by_size = sorted(self._memtables, key=lambda t: self._memtables[t].size_bytes)
        while sum(m.size_bytes for m in self._memtables.values()) > limit // 2:
            target = by_size.pop()
            memtable = self._memtables[target]
            if self._context.schema.primary_key:
                memtable.spill(self._folder())
            else:
                writer = self._writers.get(target) or self._writer(target)
                self._writers[target] = writer
                memtable.flush(writer)

    def _writer(self, target: _Target) -> DataFileWriter:
        context = self._context
        return DataFileWriter(
            file_io=context.file_io,
            table_path=context.table_path,
            schema=context.schema,
            partition=target[0],
            bucket=target[1],
            level=0,
            options=context.files,
            clock=context.clock,
            ids=context.ids,
        )

    def _folder(self) -> Path:
        if self._spill_folder is None:
            self._spill_folder = Path(tempfile.mkdtemp(prefix="table-store-spill-"))
        return self._spill_folder

    def _remove_spill_folder(self) -> None:
        if self._spill_folder is not None:
            shutil.rmtree(self._spill_folder, ignore_errors=True)
            self._spill_folder = None
