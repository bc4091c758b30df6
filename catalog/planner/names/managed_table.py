"""The description of a managed table from which the bridge makes its `ManagedTable`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.connectors.connector_errors import ExternalTableError
from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.sink import is_sink
from table_store.catalog.connectors.spark_source import is_read_by_spark
from table_store.catalog.connectors.spark_stream import is_stream
from table_store.catalog.definition.rule_change import key_name
from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.jobs.job_errors import MaterializedViewError
from table_store.catalog.planner.names.row_column import ROW_COLUMN
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import (
    CheckConstraint,
    DescribedTable,
    KeyConstraint,
    MetadataColumn,
)
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, LABELS
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.arrow_types import from_arrow

_SETTINGS = shared_name("settings-of-expression")
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
# What a sink refuses is refused by name when it is tried.
_OF_SINKS = ("BATCH_READ", "BATCH_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC")


def describe_table(
    schema: TableSchema,
    *,
    name: str,
    properties: Mapping[str, str],
    handle: TableHandle,
    columns: Sequence[Field] | None = None,
) -> DescribedTable:
    """The description of a table at one snapshot that the JVM receives.

    `columns` are those that the statement sees (None: all columns of the table), in the order in
    which an INSERT provides them. Their names are added to `handle`.
    """
    fields = schema.fields if columns is None else columns
    names = tuple(field.name for field in fields)
    connector = connector_of(schema)
    computed = [field for field in schema.fields if field.generated is not None]
    return DescribedTable(
        name=name,
        version=None if handle.snapshot_id is None else str(handle.snapshot_id),
        columns=SparkColumns(columns_to_spark(fields, settings_key=_SETTINGS)),
        computed=SparkColumns(columns_to_spark(computed, settings_key=_SETTINGS)),
        partitions=tuple(name for name in schema.partition_keys if name in names),
        properties=properties,
        constraints=_constraints(schema),
        checks=tuple(
            CheckConstraint(name=c.name, condition=c.condition.text, is_verified=c.is_verified)
            for c in schema.checks
        ),
        capabilities=_capabilities(schema),
        metadata_columns=_metadata_columns(schema) if connector is None else (),
        row_id=schema.primary_key or (ROW_COLUMN,),
        is_external=connector is not None,
        is_read_by_spark=is_read_by_spark(schema),
        is_stream=is_stream(schema),
        handle=replace(handle, written=names),
    )


def _capabilities(schema: TableSchema) -> tuple[str, ...]:
    if connector_of(schema) is None:
        return _CAPABILITIES
    return _OF_SINKS if is_sink(schema) else ("BATCH_READ",)


def _constraints(schema: TableSchema) -> tuple[KeyConstraint, ...]:
    if not schema.primary_key:
        return ()
    return (KeyConstraint(name=key_name(schema), columns=schema.primary_key),)


def _metadata_columns(schema: TableSchema) -> tuple[MetadataColumn, ...]:
    labels = [
        MetadataColumn(
            name=name, type=json.dumps(from_arrow(LABELS[name]).to_json()), nullable=False
        )
        for name in CHANGE_LABELS
    ]
    if schema.primary_key:
        return tuple(labels)
    row = json.loads(columns_to_spark(schema.fields))
    for field in row["fields"]:
        field["metadata"] = {}
    return (MetadataColumn(name=ROW_COLUMN, type=json.dumps(row), nullable=False), *labels)


def refuse_derived(schema: TableSchema, name: str, operation: str) -> None:
    """Return quietly unless the table's rows are not its own.

    Raises:
        MaterializedViewError: it is a materialized view.
        ExternalTableError: a connector makes its rows, or takes those of an INSERT alone.
    """
    connector = connector_of(schema)
    if connector is not None and not (is_sink(schema) and operation == "INSERT"):
        raise ExternalTableError(
            table=name,
            connector=connector,
            operation=operation,
            remedy=(
                "INSERT INTO is all that changes what goes out"
                if is_sink(schema)
                else "INSERT its rows INTO a managed table, and use that one"
            ),
        )
    if schema.query is not None:
        raise MaterializedViewError(name=name, operation=operation)
