"""The columns of a table that a connector fills."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import Field, TableSchema


def physical_columns(schema: TableSchema) -> tuple[Field, ...]:
    """Return the columns that a connector fills: all but the computed ones."""
    return tuple(field for field in schema.fields if field.generated is None)
