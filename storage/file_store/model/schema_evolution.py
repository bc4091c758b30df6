"""Changing a table's definition: pure functions from one schema to the next.

A column is named by its path: `("a",)`, or `("s", "x")` for a field of struct `s`. Inside of
arrays and maps the steps are `element`, `key` and `value`, as in Spark's ALTER TABLE. Files keep
the schema they were written with; columns are matched by id, so no file is rewritten.
Every function raises `InvalidSchemaError`, naming column and rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from table_store.storage.file_store.model.schema import Field, TableSchema, assign_nested_ids
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.type_widening import can_widen
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)

Path: TypeAlias = tuple[str, ...]
Member: TypeAlias = Field | StructField
Metadata: TypeAlias = tuple[tuple[str, str], ...]
_Edit: TypeAlias = Callable[[list[Member]], list[Member]]

FIRST: Final = ""
"""Position before all other columns; any other position is the name of the column before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewColumn:
    """A column to add; the attributes mean what they mean in `Field`."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str | None = None
    default: StoredExpression | None = None
    initial_default: str | None = None
    generated: StoredExpression | None = None
    metadata: tuple[tuple[str, str], ...] = ()


def add_column(
    schema: TableSchema,
    column: NewColumn,
    *,
    time_ms: int,
    parent: Path = (),
    after: str | None = None,
) -> TableSchema:
    """Return the schema with one more column: last, `FIRST`, or after a named sibling."""
    if not column.nullable and column.initial_default is None:
        raise InvalidSchemaError(
            reason="rows that exist have no value for it: allow NULL or give a default",
            column=column.name,
        )
    field_id = schema.highest_field_id + 1
    data_type, highest = assign_nested_ids(column.type, field_id)
    if parent and (column.default or column.initial_default or column.generated):
        raise InvalidSchemaError(
            reason="a field of a struct takes no default and no expression", column=column.name
        )
    if parent:
        member: Member = StructField(
            name=column.name,
            type=data_type,
            nullable=column.nullable,
            id=field_id,
            comment=column.comment,
            metadata=column.metadata,
        )
    else:
        member = Field(
            id=field_id,
            name=column.name,
            type=data_type,
            nullable=column.nullable,
            comment=column.comment,
            default=column.default,
            initial_default=column.initial_default,
            generated=column.generated,
            metadata=column.metadata,
        )

    def edit(siblings: list[Member]) -> list[Member]:
        return _inserted(siblings, member, after)

    return _next(_edited(schema, parent, edit), time_ms, highest_field_id=highest)


def drop_column(schema: TableSchema, path: Path, *, time_ms: int) -> TableSchema:
    """Return the schema without a column; its id is never used again."""
    if len(path) == 1:
        _refuse_special(schema, path[0], "dropped")

    def edit(siblings: list[Member]) -> list[Member]:
        if len(siblings) == 1:
            raise InvalidSchemaError(reason="the only column cannot be dropped", column=path[-1])
        del siblings[_position(siblings, path[-1])]
        return siblings

    return _next(_edited(schema, path[:-1], edit), time_ms)


def rename_column(
    schema: TableSchema,
    path: Path,
    name: str,
    *,
    time_ms: int,
    metadata: Callable[[Member], Metadata] = lambda member: member.metadata,
) -> TableSchema:
    """Return the schema with a column renamed; it may be a key column but no partition column.

    `metadata` returns the column's new metadata, in case the old name occurs in it.
    """
    old = path[-1]
    if len(path) == 1:
        old = schema.field_named(old).name
        if old in schema.partition_keys:
            raise InvalidSchemaError(
                reason="folders are named after it, so a partition column cannot be renamed",
                column=old,
            )
        if schema.watermark is not None and schema.watermark[0] == old:
            raise InvalidSchemaError(
                reason="the watermark's expression names it, so it cannot be renamed", column=old
            )
        schema = replace(
            schema,
            primary_key=tuple(name if key == old else key for key in schema.primary_key),
        )

    def change(member: Member) -> Member:
        return replace(member, name=name, metadata=metadata(member))

    return _next(_replaced(schema, path, change), time_ms)


def move_column(schema: TableSchema, path: Path, *, after: str, time_ms: int) -> TableSchema:
    """Return the schema with a column at another place among its siblings."""

    def edit(siblings: list[Member]) -> list[Member]:
        member = siblings.pop(_position(siblings, path[-1]))
        return _inserted(siblings, member, after)

    return _next(_edited(schema, path[:-1], edit), time_ms)


def widen_column(
    schema: TableSchema,
    path: Path,
    data_type: DataType,
    *,
    time_ms: int,
    metadata: Callable[[Member], Metadata] = lambda member: member.metadata,
) -> TableSchema:
    """Return the schema with a column of a type that holds all values of its old type.

    `metadata` returns the column's new metadata, or refuses by an `InvalidSchemaError`.
    """
    if len(path) == 1:
        name = schema.field_named(path[0]).name
        if name in (*schema.primary_key, *schema.partition_keys):
            # Spark hashes INT 1 and BIGINT 1 differently: rows would change their bucket.
            raise InvalidSchemaError(
                reason="key and partition columns keep their type", column=name
            )

    def change(member: Member) -> Member:
        if not can_widen(member.type, data_type):
            raise InvalidSchemaError(
                reason=f"{member.type.sql_name()} cannot become {data_type.sql_name()}: only "
                "types that hold all values of the old one are possible",
                column=".".join(path),
            )
        wide = _with_ids(data_type, member.type)
        return replace(member, type=wide, metadata=metadata(member))

    return _next(_replaced(schema, path, change), time_ms)


def drop_not_null(schema: TableSchema, path: Path, *, time_ms: int) -> TableSchema:
    """Return the schema with a column that may be NULL from now on."""
    if len(path) == 1 and schema.field_named(path[0]).name in schema.primary_key:
        raise InvalidSchemaError(reason="a key column must be NOT NULL", column=path[0])
    return _next(_replaced(schema, path, lambda m: replace(m, nullable=True)), time_ms)


def set_not_null(schema: TableSchema, name: str, *, time_ms: int) -> TableSchema:
    """Return the schema with a column that is never NULL; whoever calls it has seen to its rows."""
    if not schema.field_named(name).nullable:
        return schema

    def change(member: Member) -> Member:
        return (
            replace(member, nullable=False, had_null=True) if isinstance(member, Field) else member
        )

    return _next(_replaced(schema, (name,), change), time_ms)


def set_column_comment(
    schema: TableSchema, path: Path, comment: str | None, *, time_ms: int
) -> TableSchema:
    """Return the schema with another comment at a column."""
    return _next(_replaced(schema, path, lambda m: replace(m, comment=comment)), time_ms)


def set_column_default(
    schema: TableSchema, name: str, default: StoredExpression | None, *, time_ms: int
) -> TableSchema:
    """Return the schema with another DEFAULT for later inserts; stored rows do not change."""

    def change(member: Member) -> Member:
        return replace(member, default=default) if isinstance(member, Field) else member

    return _next(_replaced(schema, (name,), change), time_ms)


def change_options(
    schema: TableSchema,
    *,
    time_ms: int,
    set_to: Mapping[str, str] | None = None,
    unset: Sequence[str] = (),
) -> TableSchema:
    """Return the schema with options set and unset, without checking whether they may change."""
    options = {k: v for k, v in schema.options.items() if k not in unset} | dict(set_to or {})
    return _next(replace(schema, options=FrozenMap(options)), time_ms)


def set_table_comment(schema: TableSchema, comment: str | None, *, time_ms: int) -> TableSchema:
    """Return the schema with another table comment."""
    return _next(replace(schema, comment=comment), time_ms)


def _next(schema: TableSchema, time_ms: int, *, highest_field_id: int | None = None) -> TableSchema:
    highest = schema.highest_field_id if highest_field_id is None else highest_field_id
    following = replace(schema, id=schema.id + 1, time_ms=time_ms, highest_field_id=highest)
    following.validate()
    return following


def _refuse_special(schema: TableSchema, name: str, action: str) -> None:
    name = schema.field_named(name).name
    if name in (*schema.primary_key, *schema.partition_keys):
        raise InvalidSchemaError(
            reason=f"a key or partition column cannot be {action}", column=name
        )
    if schema.watermark is not None and schema.watermark[0] == name:
        raise InvalidSchemaError(reason=f"the watermark's column cannot be {action}", column=name)


def _edited(schema: TableSchema, parent: Path, edit: _Edit) -> TableSchema:
    """Return the schema with the fields below `parent` (empty: the columns) edited."""
    if not parent:
        fields = edit(list(schema.fields))
        return replace(schema, fields=tuple(f for f in fields if isinstance(f, Field)))

    def change(member: Member) -> Member:
        return replace(member, type=_edited_type(member.type, (), edit, parent))

    return _replaced(schema, parent, change)


def _replaced(schema: TableSchema, path: Path, change: Callable[[Member], Member]) -> TableSchema:
    """Return the schema with the one column or nested field at `path` changed."""

    def edit(siblings: list[Member]) -> list[Member]:
        position = _position(siblings, path[0])
        member = siblings[position]
        if len(path) == 1:
            siblings[position] = change(member)
        else:
            siblings[position] = replace(
                member, type=_changed_type(member.type, path[1:], change, path)
            )
        return siblings

    fields = edit(list(schema.fields))
    return replace(schema, fields=tuple(f for f in fields if isinstance(f, Field)))


def _changed_type(
    data_type: DataType, steps: Path, change: Callable[[Member], Member], path: Path
) -> DataType:
    """Return the type with the field that `steps` lead to changed."""
    match data_type, steps[0].lower():
        case StructType(), _:
            members: list[Member] = list(data_type.fields)
            position = _position(members, steps[0])
            member = members[position]
            members[position] = (
                change(member)
                if len(steps) == 1
                else replace(member, type=_changed_type(member.type, steps[1:], change, path))
            )
            return _struct(members)
        case ArrayType(), "element":
            inner = _changed_inner(data_type.element, data_type.contains_null, steps, change, path)
            return replace(data_type, element=inner.type, contains_null=inner.nullable)
        case MapType(), "key":
            inner = _changed_inner(data_type.key, False, steps, change, path)
            return replace(data_type, key=inner.type)
        case MapType(), "value":
            nullable = data_type.value_contains_null
            inner = _changed_inner(data_type.value, nullable, steps, change, path)
            return replace(data_type, value=inner.type, value_contains_null=inner.nullable)
    raise InvalidSchemaError(
        reason=f"{data_type.sql_name()} has no field {steps[0]!r}", column=".".join(path)
    )


def _changed_inner(
    data_type: DataType,
    nullable: bool,
    steps: Path,
    change: Callable[[Member], Member],
    path: Path,
) -> Member:
    """Return the element, key or value of a collection, seen as a field, changed."""
    inner = StructField(name=steps[0], type=data_type, nullable=nullable)
    if len(steps) == 1:
        return change(inner)
    return replace(inner, type=_changed_type(data_type, steps[1:], change, path))


def _edited_type(data_type: DataType, steps: Path, edit: _Edit, path: Path) -> DataType:
    """Return the struct with its list of fields edited."""
    if not isinstance(data_type, StructType):
        raise InvalidSchemaError(
            reason=f"{data_type.sql_name()} has no fields", column=".".join((*path, *steps))
        )
    return _struct(edit(list(data_type.fields)))


def _struct(members: Sequence[Member]) -> StructType:
    return StructType(tuple(m for m in members if isinstance(m, StructField)))


def _position(siblings: Sequence[Member], name: str) -> int:
    for position, member in enumerate(siblings):
        if member.name == name:
            return position
    for position, member in enumerate(siblings):
        if member.name.lower() == name.lower():
            return position
    raise InvalidSchemaError(
        reason=f"no such column; there are {', '.join(m.name for m in siblings)}", column=name
    )


def _inserted(siblings: list[Member], member: Member, after: str | None) -> list[Member]:
    if after is None:
        return [*siblings, member]
    at = 0 if after == FIRST else _position(siblings, after) + 1
    return [*siblings[:at], member, *siblings[at:]]


def _with_ids(wide: DataType, narrow: DataType) -> DataType:
    """Return `wide` with the ids of the fields of `narrow`, which has the same shape."""
    match wide, narrow:
        case StructType(), StructType():
            return StructType(
                tuple(
                    replace(w, id=n.id, type=_with_ids(w.type, n.type))
                    for w, n in zip(wide.fields, narrow.fields, strict=True)
                )
            )
        case ArrayType(), ArrayType():
            return replace(wide, element=_with_ids(wide.element, narrow.element))
        case MapType(), MapType():
            return replace(
                wide,
                key=_with_ids(wide.key, narrow.key),
                value=_with_ids(wide.value, narrow.value),
            )
    return wide
