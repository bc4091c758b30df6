"""A managed table as the bridge's `ManagedTable` takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, LABELS
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.arrow_types import from_arrow

ROW_COLUMN: Final = "_row"
"""Metadata column of a table without key: the whole row, by which a delete names its row."""

_CAPABILITIES = (
    "BATCH_READ",
    "MICRO_BATCH_READ",
    "BATCH_WRITE",
    "STREAMING_WRITE",
    "TRUNCATE",
    "OVERWRITE_BY_FILTER",
    "OVERWRITE_DYNAMIC",
    "AUTOMATIC_SCHEMA_EVOLUTION",
)


def describe_table(
    schema: TableSchema,
    *,
    name: str,
    path: str,
    snapshot_id: int | None,
    properties: dict[str, str],
    handle: dict[str, Any],
    columns: Sequence[Field] | None = None,
) -> dict[str, Any]:
    """What the JVM is told of a table at one snapshot.

    `handle` comes back with every request about it. `columns` are those that the statement sees,
    None for all of the table; an INSERT gives them in this order.
    """
    fields = schema.fields if columns is None else columns
    names = [field.name for field in fields]
    return {
        "name": name,
        "version": None if snapshot_id is None else str(snapshot_id),
        "columns": columns_to_spark(fields),
        "computed": columns_to_spark([f for f in schema.fields if f.generated is not None]),
        "partitions": [name for name in schema.partition_keys if name in names],
        "properties": properties,
        "constraints": _constraints(schema),
        "capabilities": list(_CAPABILITIES),
        "metadataColumns": _metadata_columns(schema),
        "rowId": list(schema.primary_key) or [ROW_COLUMN],
        "updateAsDeleteAndInsert": not schema.primary_key,
        "handle": {
            "path": path,
            "schema": schema.id,
            "snapshot": snapshot_id,
            "written": names,
            **handle,
        },
    }


def _constraints(schema: TableSchema) -> list[dict[str, Any]]:
    if not schema.primary_key:
        return []
    return [{"name": schema.constraint_name or "pk", "columns": list(schema.primary_key)}]


def _metadata_columns(schema: TableSchema) -> list[dict[str, Any]]:
    labels = [
        {"name": name, "type": json.dumps(from_arrow(LABELS[name]).to_json()), "nullable": False}
        for name in CHANGE_LABELS
    ]
    if schema.primary_key:
        return labels
    row = json.loads(columns_to_spark(schema.fields))
    for field in row["fields"]:
        field["metadata"] = {}
    return [{"name": ROW_COLUMN, "type": json.dumps(row), "nullable": False}, *labels]
