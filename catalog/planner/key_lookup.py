"""Scans for single keys: which bucket holds them, and whether the planner reads them itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Final

import pyarrow as pa

from table_store.storage.file_store.bucket import bucket_ids
from table_store.storage.file_store.pruning import conjuncts
from table_store.storage.file_store.scan import Scan
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.scope import Scope
from table_store.storage.file_store.storage_settings import StorageSettings
from table_store.storage.kernel.predicate import Comparison, In, Predicate
from table_store.storage.kernel.types import BYTE, DATE, INTEGER, LONG, SHORT, STRING, to_arrow
from table_store.storage.kernel.values import Value

_KEYS_MAX: Final = 16
# Each file costs about 10 ms, in one thread; a Spark job with workers costs as much as these.
_FILES_MAX: Final = 24
# Types whose equal values are one pattern of bits, so that a literal's hash is the row's.
_HASHED_ALIKE: Final = (BYTE, SHORT, INTEGER, LONG, DATE, STRING)


def narrowed_to_keys(scan: Scan) -> tuple[Scan, bool]:
    """The scan without the buckets that cannot hold the keys it asks for, and whether it is small.

    Small is a scan that the planner should read itself, without a Spark job.
    """
    keys = _keys(scan.predicate, scan.schema)
    if keys is None:
        return scan, False
    buckets = bucket_ids(
        keys, scan.schema.primary_key, StorageSettings.of(scan.schema).bucket_count
    )
    live = scan.live.in_scope(Scope(buckets=tuple(set(buckets.tolist()))))
    return replace(scan, live=live), live.file_count <= _FILES_MAX


def _keys(predicate: Predicate | None, schema: TableSchema) -> pa.Table | None:
    """The full keys that rows which satisfy the predicate can have; None if there are many."""
    if predicate is None or not schema.primary_key:
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
    rows = list(product(*(values[field.name] for field in schema.key_fields)))
    try:
        columns = [
            pa.array(column, to_arrow(field.type))
            for column, field in zip(zip(*rows, strict=True), schema.key_fields, strict=True)
        ]
    except (pa.ArrowInvalid, OverflowError):
        return None
    return pa.Table.from_arrays(columns, names=list(schema.primary_key))
