"""Which columns of a table the query of an INSERT provides, and in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.planner.protocol.json_form import ProtocolError, from_json
from table_store.catalog.planner.protocol.relations import ChangeType, RelationReference
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import parse_type
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN

CHANGE_TYPE_SEPARATOR: Final = shared_name("change-type-separator")
"""The bridge appends this and the JSON of a `ChangeType` to the name of an INSERT's table."""

_PLACEHOLDERS: Final[Mapping[str, str]] = {
    "STRING": "''",
    "BINARY": "X''",
    "BOOLEAN": "FALSE",
    "DATE": "DATE'1970-01-01'",
    "TIMESTAMP": "TIMESTAMP'1970-01-01 00:00:00Z'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
}
_INSERT: Final = (frozenset({"INSERT"}), frozenset({"INSERT", "DELETE"}))


def split_change_type(relation: RelationReference) -> tuple[RelationReference, ChangeType | None]:
    """The table's own name, and the change type that the bridge has appended to it."""
    name, separator, rest = relation.name.partition(CHANGE_TYPE_SEPARATOR)
    if not separator:
        return relation, None
    try:
        change_type = from_json(ChangeType, json.loads(rest))
    except (ValueError, ProtocolError):
        return relation, None  # a user wrote it: an ordinary name, which no table has
    return replace(relation, name=name), change_type


def seen_columns(
    privileges: Sequence[str], schema: TableSchema, change_type: ChangeType | None
) -> Sequence[Field]:
    """The columns of a table as the statement that loads it with `privileges` sees them."""
    if frozenset(privileges) in _INSERT:
        return inserted_columns(schema, change_type)
    return row_level_columns(schema) if "UPDATE" in privileges else schema.fields


def inserted_columns(schema: TableSchema, change_type: ChangeType | None) -> list[Field]:
    """The columns that an INSERT provides: no computed ones, and the change type at its position.

    Raises:
        InvalidOptionError: the table has a column with the name of the change type.
    """
    columns = [field for field in schema.fields if field.generated is None]
    if change_type is None:
        return columns
    name = change_type.column
    if any(field.name.lower() == name.lower() for field in schema.fields):
        raise InvalidOptionError(
            key=CHANGE_TYPE_COLUMN.key,
            value=name,
            reason="the table has a column of this name; the change type is not stored, so call "
            "it something else in the query",
        )
    static = {term.lower() for term in change_type.static}
    given = [i for i, field in enumerate(columns) if field.name.lower() not in static]
    at = given[change_type.at] if change_type.at < len(given) else len(columns)
    columns.insert(at, Field(id=0, name=name, type=parse_type("string")))
    return columns


def row_level_columns(schema: TableSchema) -> list[Field]:
    """The columns that MERGE and UPDATE see; they may omit the value of a computed column.

    Spark then takes the column's default: NULL for a nullable column. A NOT NULL column gets a
    placeholder as its default here, because the value is computed again in any case.
    """
    return [
        replace(field, default=_placeholder(field), generated=None)
        if field.generated is not None and not field.nullable
        else field
        for field in schema.fields
    ]


def _placeholder(field: Field) -> StoredExpression:
    kind = field.type.sql_name()
    value = _PLACEHOLDERS.get(kind, "0")
    return StoredExpression(f"CAST({value} AS {kind})")
