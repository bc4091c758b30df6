"""Reads of single keys: finds their bucket, and reads their rows and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import pyarrow as pa

from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.bucket import bucket_ids
from table_store.storage.file_store.model.schema import TableSchema, arrow_types
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.sorted_run import age
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.order.row_filter import matching
from table_store.storage.file_store.scan.key_index import KeyIndex
from table_store.storage.file_store.scan.pruning import conjuncts
from table_store.storage.kernel.predicate import Comparison, In, Predicate
from table_store.storage.kernel.types import BYTE, DATE, INTEGER, LONG, SHORT, STRING, to_arrow
from table_store.storage.kernel.values import Value, order_key

_KEYS_MAX: Final = 16
# Each file costs some ms the first time; this many cost as much as a Spark job with workers.
_FILES_MAX: Final = 24
# Equal values of these types have equal bits, so that a literal has the hash of its row.
_HASHED_ALIKE: Final = (BYTE, SHORT, INTEGER, LONG, DATE, STRING)


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """A read of some keys, with the files that can hold them; `keys` is a table of key columns."""

    live: LiveFiles
    keys: pa.Table
    predicate: Predicate

    @property
    def is_small(self) -> bool:
        """Whether it is best done at once, in one thread, without a Spark job."""
        return self.live.file_count <= _FILES_MAX

    def rows(self, files: DataFileReader, columns: Sequence[str]) -> pa.Table:
        """Return the rows; it costs about 1 ms for each file, and more the first time.

        Raises:
            MissingFileError: a file is gone.
            CorruptFileError: a file cannot be read.
        """
        schema, snapshot_id = self.live.schema, self.live.snapshot_id
        index = KeyIndex(files, schema, snapshot_id)
        newest_first = sorted(self.live.files(), key=age, reverse=True)
        wanted = list(dict.fromkeys([*columns, *sorted(self.predicate.columns())]))
        found = []
        for key in _tuples(self.keys):
            place = index.newest(newest_first, key)
            if place is not None and not place.is_deletion:
                found.append(
                    files.read_row(
                        place.file,
                        wanted,
                        row_group=place.row_group,
                        row=place.row,
                        snapshot_id=snapshot_id,
                    )
                )
        types = arrow_types(schema.fields)
        nothing = pa.table({name: pa.array([], types[name]) for name in wanted})
        rows = pa.concat_tables([nothing, *found])
        if len(conjuncts(self.predicate)) > len(schema.primary_key):
            rows = matching(rows, self.predicate.to_expression(types))
        return rows.select(list(columns))


def key_lookup(live: LiveFiles, predicate: Predicate | None) -> KeyLookup | None:
    """Return the read of the keys that a predicate names in full; None if it names none."""
    keys = None if predicate is None else _keys(predicate, live.schema)
    if keys is None or predicate is None:
        return None
    count = StorageSettings.of(live.schema).bucket_count
    buckets = bucket_ids(keys, live.schema.primary_key, count)
    scope = Scope(buckets=tuple(set(buckets.tolist())))
    return KeyLookup(live.in_scope(scope), keys, predicate)


def _keys(predicate: Predicate, schema: TableSchema) -> pa.Table | None:
    """Return the full keys that rows of the predicate can have; None if there may be many."""
    if not schema.primary_key:
        return None
    values: dict[str, tuple[Value, ...]] = {}
    for term in conjuncts(predicate):
        if isinstance(term, Comparison) and term.op in ("=", "<=>") and term.value is not None:
            values.setdefault(schema.field_named(term.column).name, (term.value,))
        elif isinstance(term, In):
            values.setdefault(schema.field_named(term.column).name, term.values)
    count = 1
    for field in schema.key_fields:
        if field.type not in _HASHED_ALIKE:
            return None
        count *= len(values.get(field.name, ()))
    if not 0 < count <= _KEYS_MAX:
        return None
    rows = list(dict.fromkeys(product(*(values[field.name] for field in schema.key_fields))))
    try:
        columns = [
            pa.array(column, to_arrow(field.type))
            for column, field in zip(zip(*rows, strict=True), schema.key_fields, strict=True)
        ]
    except (pa.ArrowInvalid, OverflowError):
        return None
    return pa.Table.from_arrays(columns, names=list(schema.primary_key))


def _tuples(keys: pa.Table) -> list[tuple[Any, ...]]:
    """Return the keys in the form of `order_key`, without those that hold NULL."""
    columns = [
        column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
        for column in keys.columns
    ]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [order_key(row) for row in rows if None not in row]
