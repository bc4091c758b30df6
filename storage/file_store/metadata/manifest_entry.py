"""Files added and deleted, as the columns of a manifest and as `DataFile` objects.

One row of an entry table is one change: file `name` was added or deleted. Columns:

    kind, name, bucket, level, schema_id, row_count, delete_count, size_bytes, min_sequence,
    max_sequence, sequence_offset, checksum, created_ms, format,
    partition_<i>                       value i of the partition
    key_min_<i>, key_max_<i>            value i of the least and greatest key
    min_<id>, max_<id>, nulls_<id>      bounds and NULL count of the column with this field id
    exact_<id>                          whether the bounds occur in the file

Statistics columns without any value are left out. Rows are in the order of the changes: for
one name the last row counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import repeat
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.data_file import ColumnStats, DataFile
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import is_orderable, to_arrow
from table_store.storage.kernel.values import Value, naming_value, python_values


class FileKind(IntEnum):
    """What happened to a file; these numbers are on disk."""

    ADD = 0
    DELETE = 1


_FIXED: Final[Mapping[str, pa.DataType]] = {
    "kind": pa.int8(),
    "name": pa.string(),
    "bucket": pa.int32(),
    "level": pa.int32(),
    "schema_id": pa.int64(),
    "row_count": pa.int64(),
    "delete_count": pa.int64(),
    "size_bytes": pa.int64(),
    "min_sequence": pa.int64(),
    "max_sequence": pa.int64(),
    "sequence_offset": pa.int64(),
    "checksum": pa.int64(),
    "created_ms": pa.int64(),
    "format": pa.string(),
}

WATERMARK_ENTRY: Final = "watermark"
"""Column with the watermark of a file that has replaced others, if that is known."""

_NO_STATS: Final[FrozenMap[int, ColumnStats]] = FrozenMap()


def entry_types(schema: TableSchema) -> dict[str, pa.DataType]:
    """Return name and Arrow type of every column that entries of this schema may have."""
    types = dict(_FIXED)
    for i, f in enumerate(schema.partition_fields):
        types[f"partition_{i}"] = to_arrow(f.type)
    for i, f in enumerate(schema.key_fields):
        types[f"key_min_{i}"] = types[f"key_max_{i}"] = to_arrow(f.type)
    for f in schema.fields:
        if is_orderable(f.type):
            types[f"min_{f.id}"] = types[f"max_{f.id}"] = to_arrow(f.type)
            types[f"exact_{f.id}"] = pa.bool_()
        types[f"nulls_{f.id}"] = pa.int64()
    types[WATERMARK_ENTRY] = pa.int64()
    return types


def entries_from_files(
    schema: TableSchema, *, added: Sequence[DataFile] = (), deleted: Sequence[DataFile] = ()
) -> pa.Table:
    """Return the entries of a commit; deletions come first, since a file may change its level."""
    files = [*deleted, *added]
    kinds = [FileKind.DELETE.value] * len(deleted) + [FileKind.ADD.value] * len(added)
    columns: dict[str, list[Value]] = {
        name: [getattr(f, name) for f in files] for name in _FIXED if name != "kind"
    }
    columns["kind"] = list(kinds)
    for i in range(len(schema.partition_keys)):
        columns[f"partition_{i}"] = [f.partition[i] for f in files]
    for i in range(len(schema.primary_key)):
        columns[f"key_min_{i}"] = [None if f.key_min is None else f.key_min[i] for f in files]
        columns[f"key_max_{i}"] = [None if f.key_max is None else f.key_max[i] for f in files]
    for field_id in sorted({field_id for f in files for field_id in f.stats}):
        found = [f.stats.get(field_id) for f in files]
        columns[f"nulls_{field_id}"] = [None if s is None else s.null_count for s in found]
        columns[f"min_{field_id}"] = [None if s is None else s.min for s in found]
        columns[f"max_{field_id}"] = [None if s is None else s.max for s in found]
        columns[f"exact_{field_id}"] = [None if s is None else s.exact for s in found]
    arrays = {
        name: pa.array(columns[name], data_type)
        for name, data_type in entry_types(schema).items()
        if name in columns
    }
    return without_empty_columns(pa.table(arrays))


def without_empty_columns(entries: pa.Table) -> pa.Table:
    """Return the entries without the optional columns that hold no value."""
    keep = [
        name
        for name, column in zip(entries.column_names, entries.columns, strict=True)
        if name in _FIXED or column.null_count < len(column) or name.startswith("partition_")
    ]
    return entries.select(keep)


def with_stats_of(entries: pa.Table, field_ids: Collection[int]) -> pa.Table:
    """Return the entries without the bounds of columns other than these."""
    keep = [
        name
        for name in entries.column_names
        if name in _FIXED
        or not name.startswith(("min_", "max_", "exact_", "nulls_"))
        or int(name.rpartition("_")[2]) in field_ids
    ]
    return entries.select(keep)


def align_entries(entries: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return the entries with the column types of another (newer) schema.

    Columns that it does not have are dropped. Bounds whose type cannot be converted, because
    the column's type changed by more than widening, become unknown, which only costs pruning.
    """
    if all(types.get(field.name) == field.type for field in entries.schema):
        return entries
    names: list[str] = []
    columns: list[pa.ChunkedArray] = []
    for name, column in zip(entries.column_names, entries.columns, strict=True):
        wanted = types.get(name)
        if wanted is None:
            continue
        if column.type != wanted:
            try:
                column = pc.cast(column, wanted)
            except pa.ArrowException:
                if not name.startswith(("min_", "max_")) or name in _FIXED:
                    raise
                column = pa.chunked_array([pa.nulls(len(column), wanted)])
        names.append(name)
        columns.append(column)
    return pa.table(columns, names=names)


def concat_entries(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all rows in order; columns that a table lacks are NULL there."""
    if not tables:
        return pa.table({name: pa.array([], data_type) for name, data_type in _FIXED.items()})
    return pa.concat_tables(tables, promote_options="default")


def files_from_entries(
    entries: pa.Table, schema: TableSchema, *, with_stats: bool = False
) -> tuple[DataFile, ...]:
    """Return one `DataFile` per row; without `with_stats` their `stats` are empty.

    Costs about 5 µs a row, with statistics about 1 µs more for each column that has them.
    """
    key_count = len(schema.primary_key)
    columns = zip(
        *(python_values(entries[name]) for name in _FIXED if name != "kind"),
        _partitions(entries, schema),
        _keys(entries, [f"key_min_{i}" for i in range(key_count)]),
        _keys(entries, [f"key_max_{i}" for i in range(key_count)]),
        _stats(entries) if with_stats else repeat(_NO_STATS, entries.num_rows),
        strict=True,
    )
    return tuple(_file(values) for values in columns)


def _file(values: tuple[Any, ...]) -> DataFile:
    """Return the file of one row. It is written out for speed: there may be 100,000 files."""
    return DataFile(
        name=values[0],
        bucket=values[1],
        level=values[2],
        schema_id=values[3],
        row_count=values[4],
        delete_count=values[5],
        size_bytes=values[6],
        min_sequence=values[7],
        max_sequence=values[8],
        sequence_offset=values[9],
        checksum=values[10],
        created_ms=values[11],
        format=values[12],
        partition=values[13],
        key_min=values[14],
        key_max=values[15],
        stats=values[16],
    )


def _partitions(entries: pa.Table, schema: TableSchema) -> list[tuple[Value, ...]]:
    names = [f"partition_{i}" for i in range(len(schema.partition_keys))]
    partitions = _tuples(entries, names)
    if any(pa.types.is_floating(entries[name].type) for name in names):
        return [tuple(map(naming_value, partition)) for partition in partitions]
    return partitions


def _tuples(entries: pa.Table, names: Iterable[str]) -> list[tuple[Value, ...]]:
    columns = [python_values(entries[name]) for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * entries.num_rows


def _keys(entries: pa.Table, names: Sequence[str]) -> list[tuple[Value, ...] | None]:
    # A manifest has no columns without values, so no file has a key range if these are absent.
    if not names or any(name not in entries.column_names for name in names):
        return [None] * entries.num_rows
    return [None if key[0] is None else key for key in _tuples(entries, names)]


def _stats(entries: pa.Table) -> list[FrozenMap[int, ColumnStats]]:
    known = set(entries.column_names)
    unknown: list[Value] = [None] * entries.num_rows
    per_file: list[dict[int, ColumnStats]] = [{} for _ in range(entries.num_rows)]
    for name in entries.column_names:
        prefix, _, suffix = name.partition("_")
        if prefix != "nulls":
            continue
        low, high, exact = (
            python_values(entries[f"{part}_{suffix}"]) if f"{part}_{suffix}" in known else unknown
            for part in ("min", "max", "exact")
        )
        rows = zip(per_file, python_values(entries[name]), low, high, exact, strict=True)
        for stats, null_count, least, greatest, is_exact in rows:
            if isinstance(null_count, int):
                stats[int(suffix)] = ColumnStats(
                    min=least, max=greatest, null_count=null_count, exact=is_exact is True
                )
    return [FrozenMap(stats) for stats in per_file]
