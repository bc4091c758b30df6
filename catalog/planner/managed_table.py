"""A managed table as the bridge's `ManagedTable` takes it."""

from __future__ import annotations

import json
from typing import Any, Final

from table_store.catalog.table_definition import columns_to_spark
from table_store.storage.file_store.schema import TableSchema

ROW_COLUMN: Final = "_row"
"""Metadata column of a table without key: the whole row, by which a delete names its row."""

_CAPABILITIES = (
    "BATCH_READ",
    "BATCH_WRITE",
    "TRUNCATE",
    "OVERWRITE_BY_FILTER",
    "OVERWRITE_DYNAMIC",
)


def describe_table(
    schema: TableSchema,
    *,
    name: str,
    path: str,
    snapshot_id: int | None,
    properties: dict[str, str],
    handle: dict[str, Any],
    for_insert: bool = False,
) -> dict[str, Any]:
    """What the JVM is told of a table at one snapshot.

    `handle` comes back with every request about it. For the target of an INSERT the computed
    columns are left out: they are never listed.
    """
    fields = [f for f in schema.fields if not (for_insert and f.generated is not None)]
    return {
        "name": name,
        "version": None if snapshot_id is None else str(snapshot_id),
        "columns": columns_to_spark(fields),
        "partitions": list(schema.partition_keys),
        "properties": properties,
        "constraints": _constraints(schema),
        "capabilities": list(_CAPABILITIES),
        "metadataColumns": _metadata_columns(schema),
        "rowId": list(schema.primary_key) or [ROW_COLUMN],
        "updateAsDeleteAndInsert": not schema.primary_key,
        "handle": {"path": path, "schema": schema.id, "snapshot": snapshot_id, **handle},
    }


def _constraints(schema: TableSchema) -> list[dict[str, Any]]:
    if not schema.primary_key:
        return []
    return [{"name": schema.constraint_name or "pk", "columns": list(schema.primary_key)}]


def _metadata_columns(schema: TableSchema) -> list[dict[str, Any]]:
    if schema.primary_key:
        return []
    row = json.loads(columns_to_spark(schema.fields))
    for field in row["fields"]:
        field["metadata"] = {}
    return [{"name": ROW_COLUMN, "type": json.dumps(row), "nullable": False}]
