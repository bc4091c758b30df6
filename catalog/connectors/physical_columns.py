"""The columns of a table that a connector fills, and those of them that say where a row is from."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.kafka_source_options import METADATA
from table_store.storage.options.options import OptionValues


def physical_columns(schema: TableSchema) -> tuple[Field, ...]:
    """Return the columns that a connector fills: all but the computed ones."""
    return tuple(field for field in schema.fields if field.generated is None)


def metadata_columns(schema: TableSchema, options: OptionValues) -> tuple[tuple[Field, str], ...]:
    """Return those of them that are METADATA, each with the key of what it has.

    Raises:
        InvalidOptionError: the table has no such column.
    """
    keys: dict[str, str] = dict(options.with_prefix(METADATA))
    columns = physical_columns(schema)
    names = {field.name for field in columns}
    for name, key in keys.items():
        if name not in names:
            option = METADATA.prefix + name
            raise InvalidOptionError(key=option, value=key, reason="there is no such column")
    return tuple((field, keys[field.name]) for field in columns if field.name in keys)
