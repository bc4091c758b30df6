"""The names of the columns that a program wants to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError


def spelled_names(schema: TableSchema, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as the table spells them.

    Raises:
        InvalidSchemaError: there is no such column, or it is named twice, or none is named.
    """
    if not columns:
        raise InvalidSchemaError(reason="a scan needs a column; Scan.count counts rows")
    return distinct_names(schema.field_named(name).name for name in listed_names(columns))


def listed_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names, but not the letters of a text, which is a sequence of texts, too."""
    if isinstance(columns, str):
        raise InvalidSchemaError(reason=f"columns is a list of names; say [{columns!r}]")
    return tuple(columns)


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names.

    Raises:
        InvalidSchemaError: a name is there twice.
    """
    listed = tuple(names)
    for name in listed:
        if listed.count(name) > 1:
            raise InvalidSchemaError(reason="a scan has a column once only", column=name)
    return listed
