"""Writes rows into the buckets of a table and returns messages that can be committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.bag.bag import KindArray
from table_store.storage.file_store.data.data_file_writer import DataFileWriter, physical_schema
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.bucket import bucket_columns, bucket_ids
from table_store.storage.file_store.model.data_file import KIND_DELETE, CommitMessage
from table_store.storage.file_store.model.errors import (
    NullKeyError,
    RowOutsideConditionError,
)
from table_store.storage.file_store.model.schema import TableSchema, arrow_types
from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.file_store.write.key_check import KeyCheck
from table_store.storage.file_store.write.memtable import Memtable
from table_store.storage.file_store.write.write_cost import WriteCost
from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.bounded_pieces import in_pieces, take_values
from table_store.storage.kernel.clock import Clock, SystemClock
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.ids import IdSource, RandomIds
from table_store.storage.kernel.nested_array import recast_column
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.required_value import has_required, missing_part
from table_store.storage.kernel.stopwatch import Stopwatch
from table_store.storage.kernel.valid_text import check_texts
from table_store.storage.kernel.values import Value, naming_value, python_value

BucketArray: TypeAlias = npt.NDArray[np.int32]
_Target: TypeAlias = tuple[tuple[Value, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """What a writer needs to know; it is pickled for workers and reads nothing.

    `write_buffer_bytes` bounds the rows that one writer holds in memory for all buckets; in a
    table without key they are at most one row group for each bucket. If there is a `condition`,
    every added row must satisfy it. If there is a `key_check`, it says which keys are refused, and
    kinds may be `KIND_CLAIM`.
    """

    file_io: FileIO
    table_path: str
    schema: TableSchema
    bucket_count: int
    files: DataFileOptions = field(default_factory=DataFileOptions)
    write_buffer_bytes: int = 256 << 20
    condition: Predicate | None = None
    key_check: KeyCheck | None = None
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=RandomIds)


class TableWriter:
    """One writer, to be used by `with`; in a statement each bucket with key has only one."""

    def __init__(self, context: WriterContext, snapshots: SnapshotStore | None = None) -> None:
        """Make a writer; with `snapshots` its messages note after which snapshot they were made."""
        self.context = context
        self._snapshots = snapshots
        self._arrow = pa.schema(list(physical_schema(context.schema))[2:])
        self._with_required = [f for f in context.schema.fields if has_required(f.type)]
        self._memtables: dict[_Target, Memtable] = {}
        self._writers: dict[_Target, DataFileWriter] = {}
        self._sorting, self._encoding = Stopwatch(), Stopwatch()
        self._spilled_bytes = 0

    @property
    def cost(self) -> WriteCost:
        """What writing has cost until the last `prepare_commit`."""
        return WriteCost(
            sort_ns=self._sorting.elapsed_ns,
            encode_ns=self._encoding.elapsed_ns,
            spilled_bytes=self._spilled_bytes,
        )

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        """Delete the files that `prepare_commit` has not returned."""
        self.abort()

    def write(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        kinds: KindArray | None = None,
        order: IntArray | None = None,
        buckets: BucketArray | None = None,
    ) -> None:
        """Take rows with the table's columns, by name.

        Args:
            rows: columns of the table, found by name and cast to its types.
            kinds: int8 `_VALUE_KIND` per row; None means that all rows are added.
            order: int64 per row, the statement's order if rows arrive shuffled: of the rows with
                one key the greatest wins. None means the order of arrival.
            buckets: int32 bucket per row, if the caller has computed it already.

        Raises:
            NullKeyError: there is a NULL in a key or NOT NULL column, or in a required part of
                one, which the error names.
            RowOutsideConditionError: a row does not satisfy the writer's condition.
            InvalidTextError: a text is not UTF-8.
            DuplicateKeyError: the context's check refuses a key among the rows that are spilled.
            InvalidSchemaError: a column is absent, not the table's, or does not fit its type.
        """
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        start = 0
        for piece in in_pieces(table):
            here = slice(start, start + piece.num_rows)
            start = here.stop
            self._write(
                piece,
                None if kinds is None else kinds[here],
                None if order is None else order[here],
                None if buckets is None else buckets[here],
            )

    def _write(
        self,
        table: pa.Table,
        kinds: KindArray | None,
        order: IntArray | None,
        buckets: BucketArray | None,
    ) -> None:
        if not table.num_rows:
            return
        table = self._conformed(table)
        self._check_texts(table, kinds)
        self._check_not_null(table, kinds)
        self._check_condition(table, kinds)
        for target, positions in self._targets(table, buckets):
            if positions is None:
                self._add(target, table, kinds, order)
            else:
                self._add(
                    target,
                    _taken(table, positions),
                    None if kinds is None else kinds[positions],
                    None if order is None else order[positions],
                )
        self._bound_memory()

    def delete(
        self,
        rows: pa.Table | pa.RecordBatch,
        *,
        order: IntArray | None = None,
        buckets: BucketArray | None = None,
    ) -> None:
        """Delete rows: by their key alone, or, in a table without key, one equal row for each.

        For `order`, `buckets` and what it raises see `write`; rows of a table without key have all
        columns.
        """
        schema = self.context.schema
        for column in schema.fields if schema.primary_key else ():
            if column.name not in rows.schema.names and column.name not in schema.primary_key:
                nulls = pa.nulls(rows.num_rows, self._arrow.field(column.name).type)
                rows = rows.append_column(column.name, nulls)
        kinds = np.full(rows.num_rows, KIND_DELETE, np.int8)
        self.write(rows, kinds=kinds, order=order, buckets=buckets)

    def _add(
        self, target: _Target, rows: pa.Table, kinds: KindArray | None, order: IntArray | None
    ) -> None:
        key = self.context.schema.primary_key
        if key:
            if target not in self._memtables:
                self._memtables[target] = Memtable(key, self._sorting, self.context.key_check)
            self._memtables[target].add(rows, kinds, order)
        else:
            writer = self._writer_of(target)
            writer.write(rows, kinds=kinds, sequences=writer.row_count)

    def prepare_commit(self) -> tuple[CommitMessage, ...]:
        """Write the held rows and return a message for each bucket that got rows.

        The writer is empty then, and may be used again.

        Raises:
            DuplicateKeyError: the context's check refuses a key.
        """
        messages = []
        for target, memtable in self._memtables.items():
            writer = self._writer_of(target)
            memtable.flush(writer)
            self._spilled_bytes += memtable.spilled_bytes
        for target, writer in self._writers.items():
            files = writer.close()
            if files:
                messages.append(CommitMessage(partition=target[0], bucket=target[1], added=files))
        self._memtables.clear()
        self._writers.clear()
        if self._snapshots is None or not messages:
            return tuple(messages)
        since = self._snapshots.latest_id() or 0
        return tuple(replace(message, since_snapshot_id=since) for message in messages)

    def abort(self) -> None:
        """Delete everything that was written since the last `prepare_commit` returned."""
        for memtable in self._memtables.values():
            memtable.discard()
        for writer in self._writers.values():
            writer.abort()
        self._memtables.clear()
        self._writers.clear()

    def _conformed(self, rows: pa.Table) -> pa.Table:
        """Return the rows with exactly the table's columns and types."""
        unknown = set(rows.column_names) - set(self._arrow.names)
        if unknown:
            raise InvalidSchemaError(reason="the table has no such column", column=min(unknown))
        columns = []
        for name, kind in zip(self._arrow.names, self._arrow.types, strict=True):
            if rows.column_names.count(name) != 1:
                raise InvalidSchemaError(reason="rows must have it, and once only", column=name)
            column = rows[name]
            if not column.type.equals(kind):
                try:
                    column = recast_column(column, kind)
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                    reason = f"its values of type {column.type} do not fit ({error})"
                    raise InvalidSchemaError(reason=reason, column=name) from error
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=self._arrow)

    def _check_texts(self, table: pa.Table, kinds: KindArray | None) -> None:
        added = None if kinds is None else pa.array(kinds != KIND_DELETE)
        for name, column in zip(table.column_names, table.columns, strict=True):
            # Rows that are deleted may have been written before nested texts were checked.
            if added is not None and pa.types.is_nested(column.type):
                column = column.filter(added)
            check_texts(column, name)

    def _check_not_null(self, table: pa.Table, kinds: KindArray | None) -> None:
        schema = self.context.schema
        for column in schema.fields:
            if column.nullable or not table[column.name].null_count:
                continue
            is_null = table[column.name].is_null().to_numpy()
            if kinds is not None and column.name not in schema.primary_key:
                is_null = is_null & (kinds != KIND_DELETE)
            if is_null.any():
                raise NullKeyError(column=column.name)
        for column in self._with_required:
            values = table[column.name]
            if kinds is not None:
                values = values.filter(pa.array(kinds != KIND_DELETE))
            for chunk in values.chunks:
                missing = missing_part(chunk, column.type, column.name)
                if missing is not None:
                    raise NullKeyError(column=missing)

    def _check_condition(self, table: pa.Table, kinds: KindArray | None) -> None:
        condition = self.context.condition
        if condition is None:
            return
        added = table if kinds is None else table.filter(pa.array(kinds != KIND_DELETE))
        needed = added.select(sorted(condition.columns()))
        types = arrow_types(self.context.schema.fields)
        outside = added.num_rows - needed.filter(condition.to_expression(types)).num_rows
        if outside:
            raise RowOutsideConditionError(columns=condition.columns())

    def _targets(
        self, table: pa.Table, buckets: BucketArray | None
    ) -> Iterator[tuple[_Target, IntArray | None]]:
        """Yield partition and bucket, and the positions of its rows in order; None means all."""
        context = self.context
        schema = context.schema
        if buckets is None:
            buckets = bucket_ids(table, bucket_columns(schema), context.bucket_count)
        groups = buckets.astype(np.int64)
        for name in schema.partition_keys:
            encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
            paired = groups * len(encoded.dictionary) + encoded.indices.to_numpy()
            _, groups = np.unique(paired, return_inverse=True)
        first_group = int(groups[0])
        if (groups == first_group).all():
            yield self._target(table, buckets, 0), None
            return
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        for start, end in pairwise([*starts.tolist(), len(order)]):
            positions = order[start:end]
            yield self._target(table, buckets, int(positions[0])), positions

    def _target(self, table: pa.Table, buckets: BucketArray, row: int) -> _Target:
        keys = self.context.schema.partition_keys
        values = (naming_value(python_value(table[name][row])) for name in keys)
        return tuple(values), int(buckets[row])

    def _bound_memory(self) -> None:
        """Write or spill the largest buckets' rows until the rest fits into half of the buffer."""
        held = {target: memtable.size_bytes for target, memtable in self._memtables.items()}
        held = held or {target: writer.held_bytes for target, writer in self._writers.items()}
        total = sum(held.values())
        if total <= self.context.write_buffer_bytes:
            return
        by_size = sorted(held, key=lambda target: held[target])
        while total > self.context.write_buffer_bytes // 2:
            target = by_size.pop()
            total -= held[target]
            if self.context.schema.primary_key:
                self._memtables[target].spill()
            else:
                self._writers[target].flush()

    def _writer_of(self, target: _Target) -> DataFileWriter:
        if target not in self._writers:
            self._writers[target] = self._writer(target)
        return self._writers[target]

    def _writer(self, target: _Target) -> DataFileWriter:
        context = self.context
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
            encoding=self._encoding,
        )


def _taken(table: pa.Table, positions: IntArray) -> pa.Table:
    columns = [take_values(column, positions) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)
