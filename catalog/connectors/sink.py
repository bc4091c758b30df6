"""A table whose connector takes the rows that are inserted."""

from __future__ import annotations

from table_store.catalog.connectors.connector_errors import ExternalTableError
from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.filesystem.filesystem_definition import FILESYSTEM
from table_store.catalog.connectors.formats.named_format import check_formats, message_format
from table_store.catalog.connectors.kafka.kafka_definition import (
    KAFKA,
    gives_changes,
    is_kafka,
    only_in_key,
)
from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.catalog.connectors.positions.position import PositionStore
from table_store.catalog.connectors.source import check_new as check_new_source
from table_store.catalog.connectors.source import tells_only_keys
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.sinks.kafka_target import KafkaTarget, record_fields
from table_store.storage.options.connector_options import SINKS, SOURCES
from table_store.storage.options.kafka_source_options import METADATA
from table_store.storage.options.message_format_options import (
    DEBEZIUM_SCHEMA_INCLUDE,
    KEY_PART,
    VALUE_PART,
    format_value,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS


def is_sink(schema: TableSchema) -> bool:
    """Return whether a connector takes the rows that are inserted into a table."""
    return connector_of(schema) in SINKS


def is_append_only(schema: TableSchema) -> bool:
    """Return whether a table is a sink that only takes new rows."""
    connector = connector_of(schema)
    return connector == FILESYSTEM or (connector == KAFKA and not gives_changes(schema))


def check_new(schema: TableSchema) -> None:
    """Check the definition of a new table with a connector.

    Raises:
        UnknownOptionError, InvalidOptionError: an option is wrong.
        InvalidSchemaError: the connector has no such columns.
        UnsupportedTypeError: the connector has no values of a column's type.
    """
    check_new_source(schema)
    if not is_kafka(schema):
        return
    target = KafkaTarget.of(schema)
    options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    for name, part in ((VALUE_PART, target.value), (KEY_PART, target.key)):
        if part is not None:
            message_format(options, part.format, record_fields(schema, part.columns), name)
    key_format = None if target.key is None else target.key.format
    check_formats(options, target.value.format, key_format)
    target.cluster().close()


def check_readable(schema: TableSchema, name: str) -> None:
    """Check that a table has rows to read.

    Raises:
        ExternalTableError: its connector only takes rows.
    """
    connector = connector_of(schema)
    if connector is None:
        return
    if connector not in SOURCES:
        remedy = (
            "Its rows go out, and cannot be read back; INSERT them into a managed table, too, and "
            "read that one"
        )
    elif only_in_key(TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)):
        remedy = (
            "Columns that are only in the key of a record are not read; read the topic by another "
            "table with 'value.fields-include' = 'ALL', or with a key column METADATA"
        )
    elif (column := _never_null(schema)) is not None:
        remedy = (
            f"Of a row that goes only its key is known, and column {column!r} is NOT NULL; create "
            "another table over it where it is not"
        )
    else:
        return
    raise ExternalTableError(table=name, connector=connector, operation="SELECT", remedy=remedy)


def _never_null(schema: TableSchema) -> str | None:
    """Return a column that has to be known of a row that goes, and is not."""
    if not tells_only_keys(schema):
        return None
    metadata = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE).with_prefix(METADATA)
    known = {*schema.primary_key, *metadata}
    columns = (field for field in physical_columns(schema) if field.name not in known)
    return next((field.name for field in columns if not field.nullable), None)


def check_written(
    table: FileStoreTable, schema: TableSchema, name: str, *, has_changes: bool
) -> None:
    """Check that an INSERT, perhaps of changes, may write a table if a topic or files take it.

    Raises:
        ExternalTableError: it may not.
    """
    connector = connector_of(schema)
    takes_rows, is_topic = is_append_only(schema), is_kafka(schema)
    if connector is None or not (takes_rows or is_topic):
        return
    options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    others = "'connector' = 'upsert-kafka', or with 'format' = 'debezium-json'"
    remedy = None
    if takes_rows and schema.primary_key:
        remedy = (
            "It only takes new rows, and with a PRIMARY KEY they would be changes; create it "
            "without one" + (f", with {others}" if is_topic else "")
        )
    elif format_value(options, DEBEZIUM_SCHEMA_INCLUDE, VALUE_PART):
        remedy = "Records are written without a schema; create another table that includes none"
    elif options.with_prefix(METADATA):
        remedy = "Records are written without METADATA columns; create another table without them"
    elif takes_rows and has_changes:
        remedy = "It only takes new rows" + (f"; create it with {others}" if is_topic else "")
    elif PositionStore(table.file_io, table.path).last() is not None:
        place = "topic" if is_topic else "folder"
        remedy = f"Jobs read it; create another table over the {place} to write it"
    if remedy is not None:
        raise ExternalTableError(table=name, connector=connector, operation="INSERT", remedy=remedy)


def deliver(table: FileStoreTable, schema: TableSchema) -> None:
    """Bring out all rows of a sink that are committed and not out yet.

    Without any it costs a look at two small files. For a table that is no sink nothing happens.

    Raises:
        TableStoreError: what takes them does not; they stay in the table, and the next call goes
            on.
    """
    if is_sink(schema):
        LogListener(table).catch_up()
