"""Manifest lists: which manifests make up a snapshot, oldest first, and when to merge them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.metadata.manifest_file import MANIFEST_ENTRIES_MAX
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.types import to_arrow
from table_store.storage.kernel.values import Value, python_value, python_values
from table_store.storage.options.table_options import MANIFEST_MERGE_MIN_COUNT

MERGE_MIN_COUNT: Final = MANIFEST_MERGE_MIN_COUNT.default
"""How many manifests are merged at once, at least. With more, merges are larger but rarer, and the
first read of a snapshot opens more files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMeta:
    """What a list knows of one manifest.

    There are bounds for each partition column, without its NULLs; `partition_has_null` says for
    each column whether there are NULLs.
    """

    name: str
    size_bytes: int
    schema_id: int
    added_count: int
    deleted_count: int
    bucket_min: int
    bucket_max: int
    partition_min: tuple[Value, ...] = ()
    partition_max: tuple[Value, ...] = ()
    partition_has_null: tuple[bool, ...] = ()

    @property
    def entry_count(self) -> int:
        """Entries of both kinds."""
        return self.added_count + self.deleted_count


_FIXED: Final[Mapping[str, pa.DataType]] = {
    "name": pa.string(),
    "size_bytes": pa.int64(),
    "schema_id": pa.int64(),
    "added_count": pa.int64(),
    "deleted_count": pa.int64(),
    "bucket_min": pa.int32(),
    "bucket_max": pa.int32(),
}


def describe_manifest(
    name: str, entries: pa.Table, *, size_bytes: int, schema: TableSchema
) -> ManifestMeta:
    """Return the list's row for a manifest with these entries (at least one)."""
    added = pc.sum(pc.equal(entries["kind"], FileKind.ADD.value)).as_py()
    buckets = pc.min_max(entries["bucket"]).as_py()
    low: list[Value] = []
    high: list[Value] = []
    has_null: list[bool] = []
    for i in range(len(schema.partition_keys)):
        column = entries[f"partition_{i}"]
        bounds = pc.min_max(column)
        low.append(python_value(bounds["min"]))
        has_nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
        high.append(math.nan if has_nan else python_value(bounds["max"]))
        has_null.append(column.null_count > 0)
    return ManifestMeta(
        name=name,
        size_bytes=size_bytes,
        schema_id=schema.id,
        added_count=added,
        deleted_count=entries.num_rows - added,
        bucket_min=buckets["min"],
        bucket_max=buckets["max"],
        partition_min=tuple(low),
        partition_max=tuple(high),
        partition_has_null=tuple(has_null),
    )


def list_to_table(manifests: Sequence[ManifestMeta], schema: TableSchema) -> pa.Table:
    """Return the columns of a manifest list file."""
    columns = {
        name: pa.array([getattr(m, name) for m in manifests], data_type)
        for name, data_type in _FIXED.items()
    }
    for i, f in enumerate(schema.partition_fields):
        data_type = to_arrow(f.type)
        columns[f"partition_min_{i}"] = pa.array([m.partition_min[i] for m in manifests], data_type)
        columns[f"partition_max_{i}"] = pa.array([m.partition_max[i] for m in manifests], data_type)
        columns[f"partition_null_{i}"] = pa.array([m.partition_has_null[i] for m in manifests])
    return pa.table(columns)


def list_from_table(table: pa.Table) -> tuple[ManifestMeta, ...]:
    """Return the manifests that `list_to_table` was given."""
    count = sum(name.startswith("partition_null_") for name in table.column_names)
    fixed = [table[name].to_pylist() for name in _FIXED]
    low = [python_values(table[f"partition_min_{i}"]) for i in range(count)]
    high = [python_values(table[f"partition_max_{i}"]) for i in range(count)]
    has_null = [table[f"partition_null_{i}"].to_pylist() for i in range(count)]
    return tuple(
        ManifestMeta(
            **{name: column[row] for name, column in zip(_FIXED, fixed, strict=True)},
            partition_min=tuple(column[row] for column in low),
            partition_max=tuple(column[row] for column in high),
            partition_has_null=tuple(column[row] for column in has_null),
        )
        for row in range(table.num_rows)
    )


def merge_min_count(schema: TableSchema) -> int:
    """Return the least number of a table's manifests that are merged at once."""
    text = schema.options.get(MANIFEST_MERGE_MIN_COUNT.key)
    return MERGE_MIN_COUNT if text is None else MANIFEST_MERGE_MIN_COUNT.parse(text)


def pick_merge(manifests: Sequence[ManifestMeta], count_min: int) -> tuple[int, int] | None:
    """Return the range [start, stop) of manifests to merge into one now, or None.

    Consecutive manifests merge like the runs of an LSM tree: from the newest on, as long as the
    next one is small or not larger than all those before it together. So each entry is rewritten
    O(log n) times, and O(log n) manifests remain. Full manifests are left alone until there are
    half as many dead entries as live ones; then everything is rewritten.
    """
    added = sum(m.added_count for m in manifests)
    deleted = sum(m.deleted_count for m in manifests)
    if deleted > max(count_min, (added - deleted) // 2):
        return 0, len(manifests)
    start = len(manifests)
    gathered = 0
    while start > 0:
        entry_count = manifests[start - 1].entry_count
        if entry_count >= MANIFEST_ENTRIES_MAX or (gathered and entry_count > gathered):
            break
        gathered += entry_count
        start -= 1
    return (start, len(manifests)) if len(manifests) - start >= count_min else None
