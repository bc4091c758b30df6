"""System tables, which describe a table: `t$snapshots`, `t$files` and so on.

Columns have the names of Apache Paimon (its docs/concepts/system-tables.md), which its users know;
columns that Paimon does not have come last. Times are TIMESTAMP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.definition.table_definition import OWNER
from table_store.catalog.shown.entry_text import NULL_TEXT, braced, braced_pairs, bracketed_or_null
from table_store.storage.file_store.metadata.live_files import LiveFiles, manifests_of
from table_store.storage.file_store.model.partition_path import partition_folders, value_text
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.storage_settings import StorageSettings
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.secrets import shown_value
from table_store.storage.kernel.types import Json
from table_store.storage.kernel.values import Value

_TIME: Final = pa.timestamp("us", "UTC")
_TEXT: Final = pa.string()
_LONG: Final = pa.int64()
_INT: Final = pa.int32()

Rows = Callable[[FileStoreTable, Snapshot | None], pa.Table]


@dataclass(frozen=True, slots=True)
class SystemTable:
    """One kind of system table: its columns, and the function that makes its rows."""

    name: str
    schema: pa.Schema
    _rows: Rows

    def spark_schema(self) -> Mapping[str, Json]:
        """Return the columns as the JSON of Spark's StructType."""
        fields = [
            {
                "name": f.name,
                "type": from_arrow(f.type).to_json(),
                "nullable": f.nullable,
                "metadata": {},
            }
            for f in self.schema
        ]
        return {"type": "struct", "fields": fields}

    def rows(self, table: FileStoreTable, *, snapshot_id: int | None = None) -> pa.Table:
        """Return all rows, with the columns of `schema`.

        Args:
            table: the table that they describe.
            snapshot_id: whose files, manifests, partitions and buckets they describe; by default
                the latest.

        Raises:
            SnapshotNotFoundError: there is no such snapshot.
            CorruptFileError, MissingFileError: the table's metadata is damaged.
        """
        rows = self._rows(table, table.snapshot(version=snapshot_id))
        return rows.select(self.schema.names).cast(self.schema)


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, data_type) for name, data_type in fields])


# -- history ---------------------------------------------------------------------------------------

_SNAPSHOTS: Final = _schema(
    ("snapshot_id", _LONG),
    ("schema_id", _LONG),
    ("commit_user", _TEXT),
    ("commit_identifier", _LONG),
    ("commit_kind", _TEXT),
    ("commit_time", _TIME),
    ("base_manifest_list", _TEXT),
    ("delta_manifest_list", _TEXT),
    ("changelog_manifest_list", _TEXT),
    ("total_record_count", _LONG),
    ("delta_record_count", _LONG),
    ("changelog_record_count", _LONG),
    ("watermark", _LONG),
    ("operation", _TEXT),
    ("change_tracking", pa.bool_()),
)


def _snapshot_rows(table: FileStoreTable, _: Snapshot | None) -> pa.Table:
    found = [
        {
            "snapshot_id": s.id,
            "schema_id": s.schema_id,
            "commit_user": s.commit_user,
            "commit_identifier": s.commit_identifier,
            "commit_kind": s.commit_kind.value,
            "commit_time": s.time_ms * 1000,
            "base_manifest_list": s.base_manifest_list,
            "delta_manifest_list": s.delta_manifest_list,
            "total_record_count": s.total_record_count,
            "delta_record_count": s.delta_record_count,
            "watermark": s.watermark,
            "operation": s.operation,
            "change_tracking": s.change_tracking,
        }
        for s in reversed(tuple(table.snapshot_store.newest_first()))
    ]
    return pa.Table.from_pylist(found, schema=_SNAPSHOTS)


_SCHEMAS: Final = _schema(
    ("schema_id", _LONG),
    ("fields", _TEXT),
    ("partition_keys", _TEXT),
    ("primary_keys", _TEXT),
    ("options", _TEXT),
    ("comment", _TEXT),
    ("update_time", _TIME),
)


def _schema_rows(table: FileStoreTable, _: Snapshot | None) -> pa.Table:
    found = [
        {
            "schema_id": schema.id,
            "fields": json.dumps(json.loads(schema.to_bytes())["fields"], ensure_ascii=False),
            "partition_keys": json.dumps(schema.partition_keys, ensure_ascii=False),
            "primary_keys": json.dumps(schema.primary_key, ensure_ascii=False),
            "options": json.dumps(_shown_options(schema), ensure_ascii=False),
            "comment": schema.comment,
            "update_time": schema.time_ms * 1000,
        }
        for schema in table.schema_store.all()
    ]
    return pa.Table.from_pylist(found, schema=_SCHEMAS)


_CONSUMERS: Final = _schema(
    ("consumer_id", _TEXT), ("next_snapshot_id", _LONG), ("update_time", _TIME)
)


def _consumer_rows(table: FileStoreTable, _: Snapshot | None) -> pa.Table:
    found = [
        {
            "consumer_id": consumer.id,
            "next_snapshot_id": consumer.next_snapshot_id,
            "update_time": consumer.time_ms * 1000,
        }
        for consumer in table.consumers.all()
    ]
    return pa.Table.from_pylist(found, schema=_CONSUMERS)


_TAGS: Final = _schema(
    ("tag_name", _TEXT),
    ("snapshot_id", _LONG),
    ("schema_id", _LONG),
    ("commit_time", _TIME),
    ("record_count", _LONG),
)


def _tag_rows(table: FileStoreTable, _: Snapshot | None) -> pa.Table:
    found = [
        {
            "tag_name": tag.name,
            "snapshot_id": tag.snapshot.id,
            "schema_id": tag.snapshot.schema_id,
            "commit_time": tag.snapshot.time_ms * 1000,
            "record_count": tag.snapshot.total_record_count,
        }
        for tag in table.tags.all()
    ]
    return pa.Table.from_pylist(found, schema=_TAGS)


_OPTIONS: Final = _schema(("key", _TEXT), ("value", _TEXT))


def _option_rows(table: FileStoreTable, _: Snapshot | None) -> pa.Table:
    shown = _shown_options(table.schema)
    return pa.table({"key": list(shown), "value": list(shown.values())}, schema=_OPTIONS)


def _shown_options(schema: TableSchema) -> dict[str, str | None]:
    keys = schema.options.keys() - {OWNER}
    return {key: shown_value(key, schema.options[key]) for key in sorted(keys)}


# -- files -----------------------------------------------------------------------------------------

_MANIFESTS: Final = _schema(
    ("file_name", _TEXT),
    ("file_size", _LONG),
    ("num_added_files", _LONG),
    ("num_deleted_files", _LONG),
    ("schema_id", _LONG),
    ("min_partition_stats", _TEXT),
    ("max_partition_stats", _TEXT),
)


def _manifest_rows(table: FileStoreTable, snapshot: Snapshot | None) -> pa.Table:
    if snapshot is None:
        return _MANIFESTS.empty_table()
    base, delta = manifests_of(table.metadata, snapshot)
    found = [
        {
            "file_name": meta.name,
            "file_size": meta.size_bytes,
            "num_added_files": meta.added_count,
            "num_deleted_files": meta.deleted_count,
            "schema_id": meta.schema_id,
            "min_partition_stats": _braced_values(meta.partition_min),
            "max_partition_stats": _braced_values(meta.partition_max),
        }
        for meta in (*base, *delta)
    ]
    return pa.Table.from_pylist(found, schema=_MANIFESTS)


def _braced_values(values: tuple[Value, ...]) -> str:
    texts = (NULL_TEXT if value is None else str(value_text(value)) for value in values)
    return "{" + ", ".join(texts) + "}"


_FILES: Final = _schema(
    ("partition", _TEXT),
    ("bucket", _INT),
    ("file_path", _TEXT),
    ("file_format", _TEXT),
    ("schema_id", _LONG),
    ("level", _INT),
    ("record_count", _LONG),
    ("file_size_in_bytes", _LONG),
    ("min_key", _TEXT),
    ("max_key", _TEXT),
    ("null_value_counts", _TEXT),
    ("min_value_stats", _TEXT),
    ("max_value_stats", _TEXT),
    ("min_sequence_number", _LONG),
    ("max_sequence_number", _LONG),
    ("creation_time", _TIME),
    ("deleteRowCount", _LONG),
)


def _file_rows(table: FileStoreTable, snapshot: Snapshot | None) -> pa.Table:
    schema = table.schema
    live = table.live_files(snapshot, schema)
    entries, count = live.entries, live.file_count
    reader = table.file_reader(schema)
    paths = [reader.path_of(file) for file in live.files()]

    def numbered(prefix: str, length: int) -> list[pa.ChunkedArray]:
        names = [f"{prefix}_{i}" for i in range(length)]
        return [entries[name] for name in names if name in entries.column_names]

    def statistics(prefix: str) -> Mapping[str, pa.ChunkedArray]:
        names = {f.name: f"{prefix}_{f.id}" for f in schema.fields}
        return {f: entries[name] for f, name in names.items() if name in entries.column_names}

    key_length = len(schema.primary_key)
    rows = {
        "partition": braced(numbered("partition", len(schema.partition_keys)), count),
        "bucket": entries["bucket"],
        "file_path": pa.array(paths, _TEXT),
        "file_format": entries["format"],
        "schema_id": entries["schema_id"],
        "level": entries["level"],
        "record_count": entries["row_count"],
        "file_size_in_bytes": entries["size_bytes"],
        "min_key": bracketed_or_null(numbered("key_min", key_length), count),
        "max_key": bracketed_or_null(numbered("key_max", key_length), count),
        "null_value_counts": braced_pairs(statistics("nulls"), count),
        "min_value_stats": braced_pairs(statistics("min"), count),
        "max_value_stats": braced_pairs(statistics("max"), count),
        "min_sequence_number": entries["min_sequence"],
        "max_sequence_number": entries["max_sequence"],
        "creation_time": _times(entries["created_ms"]),
        "deleteRowCount": entries["delete_count"],
    }
    return pa.table(rows)


_PARTITIONS: Final = _schema(
    ("partition", _TEXT),
    ("record_count", _LONG),
    ("file_size_in_bytes", _LONG),
    ("file_count", _LONG),
    ("last_update_time", _TIME),
    ("total_buckets", _INT),
    ("watermark", _LONG),
)


def _partition_rows(table: FileStoreTable, snapshot: Snapshot | None) -> pa.Table:
    schema = table.schema
    if not schema.partition_keys:
        return _PARTITIONS.empty_table()
    bucket_count = StorageSettings.of(schema).bucket_count
    found = [
        {
            "partition": "/".join(partition_folders(schema.partition_keys, summary.partition)),
            "record_count": summary.record_count,
            "file_size_in_bytes": summary.size_bytes,
            "file_count": summary.file_count,
            "last_update_time": summary.last_modified_ms * 1000,
            "total_buckets": bucket_count,
            "watermark": summary.watermark,
        }
        for summary in table.live_files(snapshot, schema).partitions()
    ]
    return pa.Table.from_pylist(found, schema=_PARTITIONS).sort_by("partition")


_BUCKETS: Final = _schema(
    ("partition", _TEXT),
    ("bucket", _INT),
    ("record_count", _LONG),
    ("file_size_in_bytes", _LONG),
    ("file_count", _LONG),
    ("last_update_time", _TIME),
)


def _bucket_rows(table: FileStoreTable, snapshot: Snapshot | None) -> pa.Table:
    grouped = _by_bucket(table.live_files(snapshot, table.schema))
    keys = [name for name in grouped.column_names if name.startswith("partition_")]
    rows = pa.table(
        {
            "partition": braced([grouped[key] for key in keys], grouped.num_rows),
            "bucket": grouped["bucket"],
            "record_count": grouped["row_count_sum"],
            "file_size_in_bytes": grouped["size_bytes_sum"],
            "file_count": grouped["name_count"],
            "last_update_time": _times(grouped["created_ms_max"]),
        }
    )
    return rows.sort_by([("partition", "ascending"), ("bucket", "ascending")])


def _by_bucket(live: LiveFiles) -> pa.Table:
    keys = [f"partition_{i}" for i in range(len(live.schema.partition_keys))]
    return live.entries.group_by([*keys, "bucket"], use_threads=False).aggregate(
        [("row_count", "sum"), ("size_bytes", "sum"), ("name", "count"), ("created_ms", "max")]
    )


def _times(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.multiply(milliseconds, 1000), _TIME)


SYSTEM_TABLES: Final[Mapping[str, SystemTable]] = FrozenMap(
    (table.name, table)
    for table in (
        SystemTable("snapshots", _SNAPSHOTS, _snapshot_rows),
        SystemTable("schemas", _SCHEMAS, _schema_rows),
        SystemTable("consumers", _CONSUMERS, _consumer_rows),
        SystemTable("tags", _TAGS, _tag_rows),
        SystemTable("options", _OPTIONS, _option_rows),
        SystemTable("manifests", _MANIFESTS, _manifest_rows),
        SystemTable("files", _FILES, _file_rows),
        SystemTable("partitions", _PARTITIONS, _partition_rows),
        SystemTable("buckets", _BUCKETS, _bucket_rows),
    )
)
"""All system tables, by the name behind the `$`."""
