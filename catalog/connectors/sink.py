"""A table whose connector takes the rows that are inserted."""

from __future__ import annotations

from table_store.catalog.connectors.connector_errors import ExternalTableError
from table_store.catalog.connectors.source import connector_of
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.options.connector_options import SINKS, SOURCES


def is_sink(schema: TableSchema) -> bool:
    """Return whether a connector takes the rows that are inserted into a table."""
    return connector_of(schema) in SINKS


def check_readable(schema: TableSchema, name: str) -> None:
    """Check that a table has rows to read.

    Raises:
        ExternalTableError: its connector only takes rows.
    """
    connector = connector_of(schema)
    if connector is not None and connector not in SOURCES:
        raise ExternalTableError(
            table=name,
            connector=connector,
            operation="SELECT",
            remedy="Its rows go out, and cannot be read back; INSERT them into a managed table, "
            "too, and read that one",
        )


def deliver(table: FileStoreTable, schema: TableSchema) -> None:
    """Bring out all rows of a sink that are committed and not out yet.

    Without any it costs a look at two small files. For a table that is no sink nothing happens.

    Raises:
        TableStoreError: what takes them does not; they stay in the table, and the next call goes
            on.
    """
    if is_sink(schema):
        LogListener(table).catch_up()
