"""Which connector a table has."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.options.connector_options import CONNECTOR


def connector_of(schema: TableSchema) -> str | None:
    """Return the connector that makes or takes the rows of a table; None: it stores them."""
    text = schema.options.get(CONNECTOR.key)
    return None if text is None else CONNECTOR.parse(text)
