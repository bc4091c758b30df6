"""The definition of a table: columns with ids, key, partitions, options; and its JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.column_names import check_names
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.file_store.model.upkeep import DEFAULT_UPKEEP, Upkeep
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    Json,
    MapType,
    StructField,
    StructType,
    is_orderable,
    parse_type,
    to_arrow,
)

SCHEMA_VERSION: Final = 6
"""Format version of the schema file; see storage/FORMAT.md."""

_VERSION_WITHOUT_SETTINGS: Final = 5
_VERSION_WITHOUT_SUCCESSOR: Final = 4
_VERSION_WITHOUT_CHECKS: Final = 3
_VERSION_WITHOUT_QUERY: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column. `id` stays the same through renames, and is never used again after a drop.

    `default` is what later inserts use. `initial_default` is the value of rows that are older than
    the column, in the JSON form of `values.value_to_json`. `generated` is the expression of a
    computed column. `metadata` holds further Spark metadata as (key, JSON text),
    sorted by key. `had_null` says that a column which is not `nullable` was so once: older
    snapshots and changes may have NULL in it.
    """

    id: int
    name: str
    type: DataType
    nullable: bool = True
    comment: str | None = None
    default: StoredExpression | None = None
    initial_default: str | None = None
    generated: StoredExpression | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    had_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """One version of a table's definition.

    Fields are in the order the user sees. `watermark` is (column, expression).
    `highest_field_id` is the greatest id ever given out, nested fields included. Only a
    materialized view has a `query`, and `upkeep` means something for it alone. `checks` are in the
    order in which they were declared. A table that has a `successor` takes no rows any more.
    """

    id: int = 0
    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=FrozenMap)
    comment: str | None = None
    highest_field_id: int
    time_ms: int
    constraint_name: str | None = None
    watermark: tuple[str, StoredExpression] | None = None
    query: StoredQuery | None = None
    upkeep: Upkeep = DEFAULT_UPKEEP
    checks: tuple[Check, ...] = ()
    successor: Successor | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.options, FrozenMap):
            object.__setattr__(self, "options", FrozenMap(self.options))

    @property
    def column_names(self) -> tuple[str, ...]:
        """All column names in order."""
        return tuple(f.name for f in self.fields)

    @property
    def key_fields(self) -> tuple[Field, ...]:
        """Fields of the primary key in the key's order; empty without key."""
        return tuple(self.field_named(name) for name in self.primary_key)

    @property
    def partition_fields(self) -> tuple[Field, ...]:
        """Fields of the partition in the order of the directories."""
        return tuple(self.field_named(name) for name in self.partition_keys)

    @property
    def expressions(self) -> tuple[StoredExpression, ...]:
        """The defaults, computed columns, conditions and the watermark."""
        of_columns = [e for f in self.fields for e in (f.default, f.generated) if e is not None]
        of_rules = [check.condition for check in self.checks]
        return (*of_columns, *of_rules, *(self.watermark or ())[1:])

    def field_named(self, name: str) -> Field:
        """Return the field of this name; case counts only where both spellings exist.

        Raises:
            InvalidSchemaError: there is no such column.
        """
        for exact in self.fields:
            if exact.name == name:
                return exact
        folded = name.lower()
        for candidate in self.fields:
            if candidate.name.lower() == folded:
                return candidate
        raise InvalidSchemaError(
            reason=f"no such column; there are {', '.join(self.column_names)}", column=name
        )

    def field_with_id(self, field_id: int) -> Field | None:
        """Return the top-level field of this id, or None."""
        return next((f for f in self.fields if f.id == field_id), None)

    def validate(self) -> None:
        """Check every rule of a table definition.

        Raises:
            InvalidSchemaError: a rule is broken; the error names it and the column.
        """
        check_names(_typed_names(self.fields))
        _check_key_columns(self.primary_key, self, role="primary key")
        _check_key_columns(self.partition_keys, self, role="partition")
        if self.primary_key:
            absent = [c for c in self.partition_keys if c not in self.primary_key]
            if absent:
                raise InvalidSchemaError(
                    reason="the primary key of a partitioned table must contain all partition "
                    f"columns, and {', '.join(self.primary_key)} does not",
                    column=absent[0],
                )
        for name in self.primary_key:
            if self.field_named(name).nullable:
                raise InvalidSchemaError(reason="a key column must be NOT NULL", column=name)
        if self.watermark is not None:
            self.field_named(self.watermark[0])
        _check_constraint_names(self)

    def to_bytes(self) -> bytes:
        """Return the content of the schema file; `from_bytes` is its inverse."""
        item = {
            "id": self.id,
            "fields": [_field_to_json(f) for f in self.fields],
            "highestFieldId": self.highest_field_id,
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_key),
            "constraintName": self.constraint_name,
            "watermark": None if self.watermark is None else _watermark_to_json(*self.watermark),
            "options": dict(self.options),
            "comment": self.comment,
            "timeMillis": self.time_ms,
        }
        version = _VERSION_WITHOUT_QUERY  # an older release reads what it can enforce
        if self.query is not None:
            version = _VERSION_WITHOUT_CHECKS
            item["query"] = self.query.to_json()
            item["upkeep"] = self.upkeep.to_json()
        if self.checks or any(f.had_null for f in self.fields):
            version = _VERSION_WITHOUT_SUCCESSOR
            item["checks"] = [check.to_json() for check in self.checks]
        if self.successor is not None:
            version = _VERSION_WITHOUT_SETTINGS
            item["successor"] = self.successor.to_json()
        if any(expression.settings for expression in self.expressions):
            version = SCHEMA_VERSION
        return to_checked_json(item, version=version)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str = "schema") -> TableSchema:
        """Return the schema that `to_bytes` wrote; `path` only names the file in errors.

        Raises:
            CorruptFileError: it is not a schema, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data, _schema_from_json, path=path, version=SCHEMA_VERSION, noun="table schema"
        )


def arrow_types(fields: Sequence[Field]) -> dict[str, pa.DataType]:
    """Return the Arrow type of each column by its name."""
    return {column.name: to_arrow(column.type) for column in fields}


def new_schema(
    *,
    fields: Sequence[Field],
    primary_key: Sequence[str] = (),
    partition_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    time_ms: int,
    constraint_name: str | None = None,
    watermark: tuple[str, StoredExpression] | None = None,
    query: StoredQuery | None = None,
    upkeep: Upkeep = DEFAULT_UPKEEP,
    checks: Sequence[Check] = (),
) -> TableSchema:
    """Return the first schema of a table: ids assigned, key columns NOT NULL, rules checked.

    The ids in `fields` are ignored: columns get 1, 2, …, and nested fields the numbers after
    them. Key and partition columns are spelled as the column is.

    Raises:
        InvalidSchemaError: a rule of `TableSchema.validate` is broken.
    """
    numbered = [replace(f, id=i) for i, f in enumerate(fields, start=1)]
    highest = len(numbered)
    complete: list[Field] = []
    for f in numbered:
        data_type, highest = assign_nested_ids(f.type, highest)
        complete.append(replace(f, type=data_type))
    draft = TableSchema(
        fields=tuple(complete),
        options=FrozenMap(options or {}),
        comment=comment,
        highest_field_id=highest,
        time_ms=time_ms,
        constraint_name=constraint_name,
        watermark=watermark,
        query=query,
        upkeep=upkeep,
        checks=tuple(replace(check, since=0, is_verified=True) for check in checks),
    )
    check_names(_typed_names(draft.fields))
    key = tuple(draft.field_named(name).name for name in primary_key)
    schema = replace(
        draft,
        primary_key=key,
        partition_keys=tuple(draft.field_named(name).name for name in partition_keys),
        fields=tuple(replace(f, nullable=f.nullable and f.name not in key) for f in complete),
    )
    schema.validate()
    return schema


def assign_nested_ids(data_type: DataType, highest: int) -> tuple[DataType, int]:
    """Return the type with an id in every struct field, and the highest id after that."""
    match data_type:
        case StructType(fields):
            done: list[StructField] = []
            for f in fields:
                field_id = f.id
                if field_id is None:
                    highest += 1
                    field_id = highest
                inner, highest = assign_nested_ids(f.type, highest)
                done.append(replace(f, id=field_id, type=inner))
            return StructType(tuple(done)), highest
        case ArrayType():
            element, highest = assign_nested_ids(data_type.element, highest)
            return replace(data_type, element=element), highest
        case MapType():
            key, highest = assign_nested_ids(data_type.key, highest)
            value, highest = assign_nested_ids(data_type.value, highest)
            return replace(data_type, key=key, value=value), highest
    return data_type, highest


def _typed_names(fields: Sequence[Field]) -> list[tuple[str, DataType]]:
    return [(f.name, f.type) for f in fields]


def _check_constraint_names(schema: TableSchema) -> None:
    names = [check.name.lower() for check in schema.checks]
    if schema.constraint_name is not None:
        names.append(schema.constraint_name.lower())
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InvalidSchemaError(reason=f"two constraints have the name {twice!r}")


def _check_key_columns(names: Sequence[str], schema: TableSchema, *, role: str) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise InvalidSchemaError(reason=f"it is twice in the {role}", column=name)
        data_type = schema.field_named(name).type
        if not is_orderable(data_type):
            raise InvalidSchemaError(
                reason=f"a {role} column must have an order, and {data_type.sql_name()} has none",
                column=name,
            )


def _schema_from_json(item: Mapping[str, Any]) -> TableSchema:
    watermark, query = item["watermark"], item.get("query")
    successor = item.get("successor")
    return TableSchema(
        id=int(item["id"]),
        fields=tuple(_field_from_json(f) for f in item["fields"]),
        primary_key=tuple(item["primaryKeys"]),
        partition_keys=tuple(item["partitionKeys"]),
        options=FrozenMap(item["options"]),
        comment=item["comment"],
        highest_field_id=int(item["highestFieldId"]),
        time_ms=int(item["timeMillis"]),
        constraint_name=item["constraintName"],
        watermark=None if watermark is None else _watermark_from_json(watermark),
        query=None if query is None else StoredQuery.from_json(query),
        upkeep=DEFAULT_UPKEEP if query is None else Upkeep.from_json(item["upkeep"]),
        checks=tuple(map(Check.from_json, item.get("checks", ()))),
        successor=None if successor is None else Successor.from_json(successor),
    )


def _field_to_json(f: Field) -> dict[str, Json]:
    item: dict[str, Json] = {
        "id": f.id,
        "name": f.name,
        "type": f.type.to_json(),
        "nullable": f.nullable,
        "comment": f.comment,
        "default": _text_of(f.default),
        "initialDefault": f.initial_default,
        "generated": _text_of(f.generated),
        "metadata": {key: json.loads(text) for key, text in f.metadata},
    }
    for key, expression in (("defaultSettings", f.default), ("generatedSettings", f.generated)):
        if expression is not None:
            item |= expression.settings_json(key)
    return item | {"hadNull": True} if f.had_null else item


def _field_from_json(item: Mapping[str, Json]) -> Field:
    metadata = item["metadata"]
    field_id = item["id"]
    if not isinstance(metadata, Mapping) or not isinstance(field_id, int):
        raise TypeError("a field needs an id and metadata")
    return Field(
        id=field_id,
        name=str(item["name"]),
        type=parse_type(item["type"]),
        nullable=bool(item["nullable"]),
        comment=_optional_text(item["comment"]),
        default=_expression_from_json(item["default"], item.get("defaultSettings")),
        initial_default=_optional_text(item["initialDefault"]),
        generated=_expression_from_json(item["generated"], item.get("generatedSettings")),
        metadata=tuple(sorted((key, json.dumps(value)) for key, value in metadata.items())),
        had_null=bool(item.get("hadNull")),
    )


def _watermark_to_json(column: str, expression: StoredExpression) -> dict[str, Json]:
    item: dict[str, Json] = {"column": column, "expression": expression.text}
    return item | expression.settings_json("settings")


def _watermark_from_json(item: Mapping[str, Any]) -> tuple[str, StoredExpression]:
    return item["column"], StoredExpression.from_json(item["expression"], item.get("settings"))


def _expression_from_json(text: Json, settings: Json) -> StoredExpression | None:
    return None if text is None else StoredExpression.from_json(text, settings)


def _text_of(expression: StoredExpression | None) -> str | None:
    return None if expression is None else expression.text


def _optional_text(item: Json) -> str | None:
    return None if item is None else str(item)
