"""The changes of ALTER TABLE as values, and what they make of a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from table_store.catalog.definition.declared_type import CHAR_VARCHAR, with_name
from table_store.catalog.definition.option_enrichment import changed_options, check_alignment
from table_store.catalog.definition.rule_change import (
    RuleChange,
    checks_of,
    renamed_checks,
    with_rule,
)
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.schema_evolution import (
    FIRST,
    Member,
    Metadata,
    NewColumn,
    add_column,
    change_options,
    drop_column,
    drop_not_null,
    move_column,
    rename_column,
    set_column_comment,
    set_column_default,
    set_table_comment,
    widen_column,
)
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import DataType, StructField, to_arrow

Path: TypeAlias = tuple[str, ...]

_WORD: Final = re.compile(r"`((?:[^`]|``)+)`|(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """A new column, or below a `parent` a new field of a struct.

    `after` is the sibling in front of it, `FIRST`, or None for the last place. Existing rows get
    the value `column.initial_default`.
    """

    parent: Path = ()
    column: Field
    after: str | None = None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give another name to a column, which keeps its id."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Remove a column, whose values can then be read by time travel only."""

    path: Path
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class MoveColumn:
    """Move a column behind another one, or to the place `FIRST`."""

    path: Path
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WidenColumn:
    """Change a type to one that holds all its values; `declared` is the text of a `varchar`."""

    path: Path
    type: DataType
    declared: str | None = None


@dataclass(frozen=True, slots=True)
class SetColumnComment:
    """Change or remove the comment of a column."""

    path: Path
    comment: str | None


@dataclass(frozen=True, slots=True)
class SetColumnNullable:
    """Change whether a column may hold NULL; `RequireColumn` is the way to NOT NULL."""

    path: Path
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetColumnDefault:
    """Change or remove the default of later inserts that leave the column out."""

    path: Path
    default: StoredExpression | None


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set one option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetOption:
    """Reset one option to its default."""

    key: str


@dataclass(frozen=True, slots=True)
class SetComment:
    """Change or remove the comment of the table."""

    comment: str | None


_ColumnChange: TypeAlias = (
    AddColumn
    | RenameColumn
    | DropColumn
    | MoveColumn
    | WidenColumn
    | SetColumnComment
    | SetColumnNullable
    | SetColumnDefault
    | SetOption
    | UnsetOption
    | SetComment
)
TableChange: TypeAlias = _ColumnChange | RuleChange


def changed_schema(
    schema: TableSchema, changes: Sequence[TableChange], *, time_ms: int
) -> TableSchema:
    """Return the schema after all changes in order, with the next id; itself if nothing changed.

    Raises:
        InvalidSchemaError: a change breaks a rule; the error names the column.
        UnknownOptionError, InvalidOptionError: an option is not known, or may not have this
            value, or may not change.
    """
    changed = schema
    changes = with_kept_columns(schema, changes)
    for change in changes:
        if isinstance(change, RuleChange):
            changed = with_rule(changed, change, since=schema.id + 1, time_ms=time_ms)
        else:
            changed = _changed(changed, change, time_ms)
    changed = _with_options(changed, changes, time_ms)
    settled = replace(changed, id=schema.id, time_ms=schema.time_ms)
    return schema if settled == schema else replace(changed, id=schema.id + 1)


def with_kept_columns(schema: TableSchema, changes: Sequence[TableChange]) -> Sequence[TableChange]:
    """Return the changes; those of REPLACE COLUMNS so that columns of old names keep their values.

    Spark sends that statement as the drop of every column, followed by the new ones. A column that
    is named again keeps NOT NULL and its DEFAULT, too, which the statement cannot say.
    """
    drops, adds = changes[: len(schema.fields)], changes[len(schema.fields) :]
    dropped = [change.path[0] for change in drops if isinstance(change, DropColumn)]
    added = [change.column for change in adds if isinstance(change, AddColumn)]
    if not added or len(added) != len(adds) or tuple(dropped) != schema.column_names:
        return changes
    kept: list[TableChange] = []
    gone, after = {field.name.lower(): field for field in schema.fields}, FIRST
    for column in added:
        old = gone.pop(column.name.lower(), None)
        kept += (
            [AddColumn(column=column, after=after)] if old is None else _kept(old, column, after)
        )
        after = (old or column).name
    # A computed column goes before the columns that it names.
    left = sorted(gone.values(), key=lambda field: field.generated is None)
    return [*kept, *(DropColumn((field.name,)) for field in left)]


def _kept(old: Field, new: Field, after: str) -> list[TableChange]:
    path, declared = (old.name,), dict(new.metadata).get(CHAR_VARCHAR)
    changes: list[TableChange] = [SetColumnComment(path, new.comment), MoveColumn(path, after)]
    is_same = declared == dict(old.metadata).get(CHAR_VARCHAR)
    if is_same and to_arrow(old.type) == to_arrow(new.type):
        return changes
    text = None if declared is None else json.loads(declared)
    return [WidenColumn(path=path, type=new.type, declared=text), *changes]


def _changed(schema: TableSchema, change: _ColumnChange, time_ms: int) -> TableSchema:
    match change:
        case AddColumn(parent=parent, column=column, after=after):
            return add_column(schema, _new(column), time_ms=time_ms, parent=parent, after=after)
        case RenameColumn(path, name):
            _check_unmentioned(schema, path, "renamed")
            return rename_column(
                _with_renamed_checks(schema, path, name),
                path,
                name,
                time_ms=time_ms,
                metadata=partial(with_name, name),
            )
        case DropColumn(path, if_exists):
            if if_exists and not _has_column(schema, path):
                return schema
            _check_unmentioned(schema, path, "dropped")
            _check_unchecked(schema, path[0], "dropped")
            return drop_column(schema, path, time_ms=time_ms)
        case MoveColumn(path, after):
            return move_column(schema, path, after=after, time_ms=time_ms)
        case WidenColumn():
            return _widened(schema, change, time_ms)
        case SetColumnComment(path, comment):
            return set_column_comment(schema, path, comment, time_ms=time_ms)
        case SetColumnNullable(path, nullable):
            if not nullable:
                raise InvalidSchemaError(
                    reason="rows that exist may hold NULL, so it cannot become NOT NULL",
                    column=".".join(path),
                )
            return drop_not_null(schema, path, time_ms=time_ms)
        case SetColumnDefault(path, default):
            if len(path) > 1:
                raise InvalidSchemaError(
                    reason="only a whole column can have a default", column=".".join(path)
                )
            return set_column_default(schema, path[0], default, time_ms=time_ms)
        case SetComment(comment):
            return set_table_comment(schema, comment, time_ms=time_ms)
        case SetOption() | UnsetOption():
            return schema  # options are changed together, so that they are checked together


def _with_options(schema: TableSchema, changes: Sequence[TableChange], time_ms: int) -> TableSchema:
    options = dict(schema.options)
    for change in changes:
        if isinstance(change, SetOption):
            options[change.key] = change.value
        elif isinstance(change, UnsetOption):
            options.pop(change.key, None)
    if options == schema.options:
        return schema
    checked = changed_options(schema.options, FrozenMap(options), has_key=bool(schema.primary_key))
    changed = change_options(
        schema,
        time_ms=time_ms,
        set_to=checked,
        unset=[key for key in schema.options if key not in checked],
    )
    check_alignment(changed)
    return changed


def _widened(schema: TableSchema, change: WidenColumn, time_ms: int) -> TableSchema:
    described = partial(_with_declared, change)
    if len(change.path) == 1:
        column = schema.field_named(change.path[0])
        if column.type == change.type:
            # Even a key column may get a longer VARCHAR, because the stored values do not change.
            changed = replace(column, metadata=described(column))
            fields = tuple(changed if f is column else f for f in schema.fields)
            return replace(schema, fields=fields)
    return widen_column(schema, change.path, change.type, time_ms=time_ms, metadata=described)


def _with_declared(change: WidenColumn, column: Member) -> Metadata:
    """Return the metadata of a column under its new type.

    Raises:
        InvalidSchemaError: existing values may be longer than the new CHAR or VARCHAR.
    """
    is_inside = isinstance(column, StructField) and column.id is None
    if is_inside and change.declared is not None:
        raise InvalidSchemaError(
            reason="CHAR and VARCHAR directly inside of arrays and maps keep their lengths",
            column=".".join(change.path),
        )
    _check_length(column, change)
    others = (item for item in column.metadata if item[0] != CHAR_VARCHAR)
    declared = () if change.declared is None else ((CHAR_VARCHAR, json.dumps(change.declared)),)
    return tuple(sorted((*others, *declared)))


def _check_length(column: Member, change: WidenColumn) -> None:
    old = next((json.loads(text) for key, text in column.metadata if key == CHAR_VARCHAR), None)
    if change.declared is None:
        return
    if old is None and column.type == change.type:
        raise InvalidSchemaError(
            reason=f"STRING cannot become {change.declared}: rows may be longer",
            column=column.name,
        )
    before, after = _lengths(old or ""), _lengths(change.declared)
    if len(before) == len(after) and any(b > a for b, a in zip(before, after, strict=True)):
        raise InvalidSchemaError(
            reason=f"{old} cannot become {change.declared}: rows may be longer", column=column.name
        )


def _lengths(declared: str) -> list[int]:
    return [int(number) for number in re.findall(r"char\(\s*(\d+)\s*\)", declared)]


def _check_unmentioned(schema: TableSchema, path: Path, action: str) -> None:
    """Refuse a change if SQL text of the definition names the column; texts are not rewritten."""
    if len(path) > 1:
        return
    column = schema.field_named(path[0]).name
    texts = [(f"computed column {f.name!r}", f.generated) for f in schema.fields if f.generated]
    if schema.watermark is not None:
        texts.append(("the watermark", schema.watermark[1]))
    for owner, text in texts:
        words = (quoted.replace("``", "`") or plain for quoted, plain in _WORD.findall(text.text))
        if column.lower() in (word.lower() for word in words):
            raise InvalidSchemaError(
                reason=f"{owner} uses it, so it cannot be {action}", column=column
            )


def _with_renamed_checks(schema: TableSchema, path: Path, name: str) -> TableSchema:
    if len(path) > 1:
        _check_unchecked(schema, path[0], "renamed in part")
        return schema
    old = schema.field_named(path[0]).name
    return replace(schema, checks=renamed_checks(schema, old, name))


def _check_unchecked(schema: TableSchema, name: str, action: str) -> None:
    """Refuse a change of a column that a constraint uses."""
    column = schema.field_named(name).name
    for check in checks_of(schema, column):
        raise InvalidSchemaError(
            reason=f"constraint {check.name!r} uses it, so it cannot be {action}; drop the "
            "constraint first",
            column=column,
        )


def _has_column(schema: TableSchema, path: Path) -> bool:
    try:
        set_column_comment(schema, path, None, time_ms=schema.time_ms)
    except InvalidSchemaError:
        return False
    return True


def _new(column: Field) -> NewColumn:
    return NewColumn(
        name=column.name,
        type=column.type,
        nullable=column.nullable,
        comment=column.comment,
        default=column.default,
        initial_default=column.initial_default,
        generated=column.generated,
        metadata=column.metadata,
    )
