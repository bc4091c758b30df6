"""Turns Spark's description of a table's columns into a storage schema, and back.

Spark describes columns as the JSON of a `StructType`, with what else is known about a column
in the metadata of its field: `comment`, `CURRENT_DEFAULT` (SQL that later inserts use),
`EXISTS_DEFAULT` (a literal that older rows read as), `GENERATION_EXPRESSION`, and
`__CHAR_VARCHAR_TYPE_STRING` (the declared type of a column that is kept as a string).
Source: `CatalogV2Util`, `ResolveDefaultColumns` and `CharVarcharUtils` of Spark 4.2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from table_store.catalog.definition.declared_type import (
    CHAR_VARCHAR,
    COLLATIONS,
    declared_sql,
    has_length,
    stored_type,
)
from table_store.catalog.definition.sql_literal import parse_literal
from table_store.catalog.definition.watermark_rule import check_watermark
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.model.upkeep import DEFAULT_UPKEEP, Upkeep
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    Json,
    MapType,
    StructField,
    StructType,
    parse_type,
)
from table_store.storage.kernel.values import value_to_json
from table_store.storage.options.connector_options import CONNECTOR
from table_store.storage.options.log_options import LOG_KAFKA_TOPIC

COMMENT: Final = "comment"
CURRENT_DEFAULT: Final = "CURRENT_DEFAULT"
EXISTS_DEFAULT: Final = "EXISTS_DEFAULT"
GENERATION_EXPRESSION: Final = "GENERATION_EXPRESSION"

PROPERTY_COMMENT: Final = "comment"
COLLATION: Final = "collation"
"""The property of DEFAULT COLLATION; it is kept, and Spark gives it to the columns it makes."""
OWNER: Final = "owner"
"""The property with the user who has made a table, which Spark gives and DESCRIBE shows."""
WATERMARK_COLUMN: Final = "watermark.column"
WATERMARK_EXPRESSION: Final = "watermark.expression"
"""Properties in which WATERMARK FOR reaches the catalog, because Spark does not know it."""

OPTION_PREFIX: Final = "option."
"""Prefix under which Spark repeats the properties of OPTIONS (…)."""

_LOCATION: Final = "location"
_IGNORED_PROPERTIES: Final = frozenset({"is_managed_location", "table_type"})
_REFUSED_PROPERTIES: Final[Mapping[str, str]] = {
    _LOCATION: "a table stays in the folder in which it was made",
    "external": "a managed table's files go with it; leave EXTERNAL out, or name a format with "
    "USING",
    "primary-key": "it is given by PRIMARY KEY (…) NOT ENFORCED among the columns",
    "provider": "a managed table has no provider; leave USING out",
    WATERMARK_COLUMN: "it is given by WATERMARK FOR in CREATE TABLE",
    WATERMARK_EXPRESSION: "it is given by WATERMARK FOR in CREATE TABLE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    """A managed table as CREATE TABLE describes it, before ids and defaults are added.

    The ids of `columns` have no meaning yet. `watermark` is (column, expression). Only a
    materialized view has a `query` and an `upkeep`. `location` is a folder of its own that the
    statement names.
    """

    columns: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=FrozenMap)
    comment: str | None = None
    constraint_name: str | None = None
    watermark: tuple[str, StoredExpression] | None = None
    query: StoredQuery | None = None
    upkeep: Upkeep = DEFAULT_UPKEEP
    checks: tuple[Check, ...] = ()
    location: str | None = None

    def with_options(self, options: Mapping[str, str]) -> TableDefinition:
        """Return the same definition with other options."""
        return replace(self, options=FrozenMap(options))

    def schema(self, *, time_ms: int) -> TableSchema:
        """Return the first schema of such a table.

        Raises:
            InvalidSchemaError: a rule of table definitions is broken; the error names the column.
        """
        schema = new_schema(
            # Columns of another table (LIKE) still have the ids of their nested fields.
            fields=[
                replace(f, type=_changed(f.type, _without_id), had_null=False) for f in self.columns
            ],
            primary_key=self.primary_key,
            partition_keys=self.partition_keys,
            options=self.options,
            comment=self.comment,
            time_ms=time_ms,
            constraint_name=self.constraint_name,
            watermark=self.watermark,
            query=self.query,
            upkeep=self.upkeep,
            checks=self.checks,
        )
        _check_stored_order(schema)
        check_watermark(schema)
        return schema


def with_other_key(
    schema: TableSchema, primary_key: Sequence[str], constraint_name: str | None
) -> TableDefinition:
    """Return the definition of a new table that differs from a table in its primary key alone.

    Its rows are all written anew, so columns have no value for older ones, and it gets a log of its
    own.
    """
    options = {key: text for key, text in schema.options.items() if key != LOG_KAFKA_TOPIC.key}
    return TableDefinition(
        columns=tuple(replace(field, initial_default=None) for field in schema.fields),
        primary_key=tuple(primary_key),
        partition_keys=schema.partition_keys,
        options=FrozenMap(options),
        comment=schema.comment,
        constraint_name=constraint_name,
        watermark=schema.watermark,
        checks=schema.checks,
    )


def definition_from_spark(
    *,
    columns: str,
    partition_columns: Sequence[str],
    properties: Mapping[str, str],
    primary_key: Sequence[str] = (),
    constraint_name: str | None = None,
    checks: Sequence[Check] = (),
) -> TableDefinition:
    """Return the definition that Spark's `TableInfo` describes.

    Args:
        columns: JSON of the StructType.
        partition_columns: columns of identity transforms; managed tables have no others.
        properties: options, and the table properties that Spark reserves (`comment`, `owner`).
        primary_key: columns of the constraint.
        constraint_name: of the primary key; None if Spark has invented it.
        checks: the CHECK constraints.

    Raises:
        UnsupportedTypeError, InvalidSchemaError: see `columns_from_spark`.
        InvalidOptionError: managed tables do not take one of the properties.
    """
    options: dict[str, str] = {}
    for key, value in properties.items():
        bare = key.removeprefix(OPTION_PREFIX)
        repeats_option = key != bare and properties.get(bare) == value
        own = key in (PROPERTY_COMMENT, _LOCATION, WATERMARK_COLUMN, WATERMARK_EXPRESSION)
        if not (own or repeats_option or refuse_reserved_property(key, value)):
            options[key] = value
    if CONNECTOR.key in options:  # such a table takes its connector's options alone
        options.pop(OWNER, None)
    column, expression = properties.get(WATERMARK_COLUMN), properties.get(WATERMARK_EXPRESSION)
    return TableDefinition(
        columns=columns_from_spark(columns),
        primary_key=tuple(primary_key),
        partition_keys=tuple(partition_columns),
        options=FrozenMap(options),
        comment=properties.get(PROPERTY_COMMENT),
        constraint_name=constraint_name,
        watermark=None
        if column is None or expression is None
        else (column, StoredExpression(expression)),
        checks=tuple(checks),
        location=properties.get(_LOCATION),
    )


def refuse_reserved_property(key: str, value: str | None) -> bool:
    """Return whether a property is one of Spark's own that has no meaning for managed tables.

    Raises:
        InvalidOptionError: it asks for something that a managed table cannot have.
    """
    if key in _REFUSED_PROPERTIES:
        raise InvalidOptionError(key=key, value=value, reason=_REFUSED_PROPERTIES[key])
    return key in _IGNORED_PROPERTIES


def columns_from_spark(struct_json: str) -> tuple[Field, ...]:
    """Return the columns that the JSON of a Spark `StructType` describes, in its order.

    Raises:
        UnsupportedTypeError: a type cannot be stored; the error names type and column.
        InvalidSchemaError: the JSON is no struct.
    """
    try:
        struct = json.loads(struct_json)
    except ValueError as error:
        raise InvalidSchemaError(reason=f"the columns are not JSON ({error})") from error
    fields = struct.get("fields") if isinstance(struct, dict) else None
    if not isinstance(fields, list):
        raise InvalidSchemaError(reason="the columns are not a struct")
    return tuple(_column_from_spark(item) for item in fields)


def with_initial_default(column: Field, *, time_zone: str = "UTC") -> Field:
    """Return a column as it is added to a table that may already have rows.

    Those rows get the value of the literal that Spark computed (`EXISTS_DEFAULT`).

    Raises:
        InvalidSchemaError: the default is not a literal, or the column is NOT NULL and
            existing rows would have no value.
    """
    literal = next(
        (json.loads(text) for key, text in column.metadata if key == EXISTS_DEFAULT),
        None,
    )
    value = (
        None
        if literal is None
        else parse_literal(literal, column.type, column=column.name, time_zone=time_zone)
    )
    metadata = tuple(item for item in column.metadata if item[0] != EXISTS_DEFAULT)
    if value is None:
        if not column.nullable:
            raise InvalidSchemaError(
                reason="a NOT NULL column needs a DEFAULT when it is added, for the rows that "
                "exist; add one, or let it be nullable",
                column=column.name,
            )
        return replace(column, initial_default=None, metadata=metadata)
    return replace(column, initial_default=json.dumps(value_to_json(value)), metadata=metadata)


def type_from_spark(
    type_json: Json, *, column: str, declared: str | None = None
) -> tuple[DataType, str | None]:
    """Return the type, and its declared text as in `stored_type`.

    Raises:
        UnsupportedTypeError: it cannot be stored; the error names type and column.
    """
    stored, text = stored_type(type_json, declared)
    try:
        return parse_type(stored), text
    except UnsupportedTypeError as error:
        raise UnsupportedTypeError(type_name=error.type_name, column=column) from error


def columns_to_spark(fields: Sequence[Field], *, settings_key: str | None = None) -> str:
    """Return the JSON of the Spark `StructType` with these columns.

    It has no ids: they belong to the storage, and Spark would show and copy them. With a
    `settings_key`, metadata of this name has the settings of a default or of a computed column.
    """
    columns = [_column_to_spark(f, settings_key) for f in fields]
    return json.dumps({"type": "struct", "fields": columns})


def _column_from_spark(item: object) -> Field:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise InvalidSchemaError(reason="a column has no name")
    name = item["name"]
    metadata = dict(item.get("metadata") or {})
    declared = metadata.pop(CHAR_VARCHAR, None)
    data_type, declared = type_from_spark(item.get("type"), column=name, declared=declared)
    if declared is not None:
        metadata[CHAR_VARCHAR] = declared
    comment = metadata.pop(COMMENT, None)
    default = metadata.pop(CURRENT_DEFAULT, None)
    generated = metadata.pop(GENERATION_EXPRESSION, None)
    return Field(
        id=0,
        name=name,
        type=_changed(data_type, _without_id),
        nullable=bool(item.get("nullable", True)),
        comment=comment,
        default=None if default is None else StoredExpression(default),
        generated=None if generated is None else StoredExpression(generated),
        metadata=tuple(sorted((key, json.dumps(value)) for key, value in metadata.items())),
    )


def _column_to_spark(column: Field, settings_key: str | None) -> dict[str, Json]:
    metadata: dict[str, Json] = {key: json.loads(text) for key, text in column.metadata}
    if column.comment is not None:
        metadata[COMMENT] = column.comment
    expression = column.default or column.generated
    if column.default is not None:
        metadata[CURRENT_DEFAULT] = column.default.text
        # To Spark a column has a default only if both texts are there.
        metadata.setdefault(EXISTS_DEFAULT, "NULL")
    else:
        metadata.pop(EXISTS_DEFAULT, None)
    if column.generated is not None:
        metadata[GENERATION_EXPRESSION] = column.generated.text
    if expression is not None and settings_key is not None:
        metadata |= {EXISTS_DEFAULT: "NULL"} if column.default is not None else {}
        metadata[settings_key] = json.dumps(dict(expression.settings))
    if has_length(column):
        metadata[CHAR_VARCHAR] = declared_sql(column)
    return {
        "name": column.name,
        "type": _changed(column.type, _as_spark_has_it).to_json(),
        "nullable": column.nullable or column.had_null,  # for older rows; writers see to newer ones
        "metadata": metadata,
    }


def _changed(data_type: DataType, change: Callable[[StructField], StructField]) -> DataType:
    """Return the type with every field of its structs changed, at any depth."""
    match data_type:
        case StructType(fields):
            inner = (replace(f, type=_changed(f.type, change)) for f in fields)
            return StructType(tuple(map(change, inner)))
        case ArrayType(element):
            return replace(data_type, element=_changed(element, change))
        case MapType(key=key, value=value):
            key, value = _changed(key, change), _changed(value, change)
            return replace(data_type, key=key, value=value)
    return data_type


def _without_id(field: StructField) -> StructField:
    return replace(field, id=None)


def _as_spark_has_it(field: StructField) -> StructField:
    metadata = tuple(item for item in field.metadata if item[0] != CHAR_VARCHAR)
    return replace(field, id=None, metadata=metadata)


def _check_stored_order(schema: TableSchema) -> None:
    """Refuse key columns whose values Spark compares otherwise than by their bytes."""
    for role, names in (
        ("primary key", schema.primary_key),
        ("partition", schema.partition_keys),
    ):
        for name in names:
            if any(key == COLLATIONS for key, _ in schema.field_named(name).metadata):
                raise InvalidSchemaError(
                    reason=f"a {role} column cannot have a collation of its own; use plain STRING",
                    column=name,
                )
