"""Finds keys that a table has in a snapshot, for statements that add rows under new keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.bag.bag_place import moved_schemas
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.metadata.manifest_file import PROCESS_CACHE, MetadataReader
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.order.key_order import order_by_key
from table_store.storage.file_store.scan.partition_pruning import read_pruned
from table_store.storage.file_store.scan.scan import Scan
from table_store.storage.kernel.predicate import Comparison, In, Predicate, conjunction
from table_store.storage.kernel.values import Value, python_value

_LISTED_KEYS_MAX: Final = 1000
"""More values of a key column are looked for as a range."""

_COMPARED_ROWS_MIN: Final = 1 << 20
"""So many stored keys are compared at once, because each comparison sorts all keys looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKeys:
    """The keys of the live rows of a snapshot; it is pickled for workers, which read metadata."""

    file_io: FileIO
    table_path: str
    schema: TableSchema
    snapshot: Snapshot

    @classmethod
    def of(
        cls, file_io: FileIO, table_path: str, schema: TableSchema, snapshot: Snapshot | None
    ) -> StoredKeys | None:
        """Return the keys of a snapshot; None if there is no snapshot."""
        if snapshot is None:
            return None
        return cls(file_io=file_io, table_path=table_path, schema=schema, snapshot=snapshot)

    def first_among(
        self, keys: pa.Table, *, partition: tuple[Value, ...], bucket: int
    ) -> tuple[Value, ...] | None:
        """Return a key that a live row of the bucket has; None if no row has any of `keys`.

        It reads the key columns of row groups that may hold one of the keys; for few keys only
        the pages where they would be.

        Args:
            keys: the key columns in the table's types; each key once, all of this bucket.
            partition: the bucket's partition.
            bucket: its number.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in self._scan(keys, Scope(partitions=(partition,), buckets=(bucket,))):
            held.append(batch)
            count += batch.num_rows
            if count >= max(keys.num_rows, _COMPARED_ROWS_MIN):
                found = _first_shared(keys, held)
                if found is not None:
                    return found
                held, count = [], 0
        return _first_shared(keys, held)

    def _scan(self, keys: pa.Table, scope: Scope) -> Iterator[pa.RecordBatch]:
        schemas = SchemaStore(self.file_io, self.table_path)
        reader = MetadataReader(
            file_io=self.file_io, table_path=self.table_path, cache=PROCESS_CACHE
        )
        where = keys_predicate(self.schema, keys)
        live = read_pruned(reader, self.snapshot, self.schema, where).in_scope(scope)
        scan = Scan(
            live=live,
            schema=self.schema,
            files=DataFileReader(
                file_io=self.file_io,
                table_path=self.table_path,
                schema_store=schemas,
                schema=self.schema,
            ),
            columns=self.schema.primary_key,
            predicate=where,
            target_bytes=StorageSettings.of(self.schema).split_target_bytes,
            moved_schemas=moved_schemas(schemas, live.schema_ids, self.schema),
        )
        return scan.to_batches()


def keys_predicate(schema: TableSchema, rows: pa.Table) -> Predicate | None:
    """Return a condition that holds for the keys of the rows, and perhaps for others."""
    terms: list[Predicate] = []
    for name in schema.primary_key:
        distinct = pc.drop_null(pc.unique(rows[name]))
        if len(distinct) <= _LISTED_KEYS_MAX:
            terms.append(In(name, tuple(python_value(value) for value in distinct)))
        elif not (pa.types.is_boolean(distinct.type) or pa.types.is_floating(distinct.type)):
            bounds = pc.min_max(distinct)
            terms.append(Comparison(name, ">=", python_value(bounds["min"])))
            terms.append(Comparison(name, "<=", python_value(bounds["max"])))
    return conjunction(terms)


def _first_shared(keys: pa.Table, stored: Sequence[pa.RecordBatch]) -> tuple[Value, ...] | None:
    """Return a key that both have; within each of them a key comes once."""
    if not stored:
        return None
    columns = [
        pa.chunked_array(
            [*keys[name].chunks, *(batch.column(name) for batch in stored)], keys[name].type
        )
        for name in keys.column_names
    ]
    order = order_by_key(columns)
    shared = np.flatnonzero(~order.is_last)
    if not len(shared):
        return None
    at = int(order.positions[shared[0]])
    return tuple(python_value(column[at]) for column in columns)
