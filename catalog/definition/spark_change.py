"""Changes of ALTER TABLE in the form in which the bridge sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from table_store.catalog.definition.rule_change import RequireColumn, rule_from_spark
from table_store.catalog.definition.table_change import (
    AddColumn,
    DropColumn,
    MoveColumn,
    Path,
    RenameColumn,
    SetColumnComment,
    SetColumnDefault,
    SetColumnNullable,
    SetComment,
    SetOption,
    TableChange,
    UnsetOption,
    WidenColumn,
)
from table_store.catalog.definition.table_definition import (
    PROPERTY_COMMENT,
    columns_from_spark,
    refuse_reserved_property,
    type_from_spark,
    with_initial_default,
)
from table_store.storage.file_store.model.schema_evolution import FIRST
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.frozen_map import FrozenMap

DECLARING: Final = ("add_column", "update_default", "add_constraint")
"""Changes that may have an expression."""


def change_from_spark(
    change: Mapping[str, object], settings: Mapping[str, str] | None = None
) -> TableChange | None:
    """Return the change that the bridge sent; None for what has no meaning here (`owner`).

    Args:
        change: one item of the bridge's `changes`.
        settings: of Spark, under which the statement's expressions have their meaning.

    Raises:
        InvalidSchemaError: the column cannot be added like that.
        UnsupportedTypeError: a type cannot be stored.
        InvalidOptionError: the property is not one that ALTER TABLE may set.
    """
    kind = change["change"]
    if kind == "add_constraint" or kind == "drop_constraint":
        return rule_from_spark(change, settings)
    if kind == "set_property" or kind == "remove_property":
        return _property_change(change)
    path = _path(change)
    match kind:
        case "add_column":
            (column,) = columns_from_spark(str(change["column"]))
            default = column.default and replace(column.default, settings=FrozenMap(settings or {}))
            column = with_initial_default(replace(column, default=default))
            after = _after(change.get("position"))
            return AddColumn(parent=path[:-1], column=column, after=after)
        case "rename_column":
            return RenameColumn(path, str(change["name"]))
        case "drop_column":
            return DropColumn(path, if_exists=bool(change.get("ifExists")))
        case "update_position":
            return MoveColumn(path, _after(change.get("position")) or FIRST)
        case "update_type":
            name = ".".join(path)
            data_type, declared = type_from_spark(json.loads(str(change["type"])), column=name)
            return WidenColumn(path=path, type=data_type, declared=declared)
        case "update_nullability":
            if len(path) == 1 and not change["nullable"]:
                return RequireColumn(path[0])
            return SetColumnNullable(path, nullable=bool(change["nullable"]))
        case "update_comment":
            return SetColumnComment(path, _text_or_none(change.get("comment")))
        case "update_default":
            default_text = _text_or_none(change.get("default"))
            return SetColumnDefault(
                path, StoredExpression(default_text, settings or {}) if default_text else None
            )
    raise InvalidSchemaError(reason=f"ALTER TABLE cannot do this to a managed table: {kind}")


def _property_change(change: Mapping[str, object]) -> TableChange | None:
    key = str(change["key"])
    value = str(change["value"]) if change["change"] == "set_property" else None
    if key == PROPERTY_COMMENT:
        return SetComment(value or None)  # COMMENT ON TABLE … IS NULL comes as an empty text
    if refuse_reserved_property(key, value):
        return None
    return UnsetOption(key) if value is None else SetOption(key, value)


def _path(change: Mapping[str, object]) -> Path:
    path = change.get("path")
    if not isinstance(path, Sequence) or isinstance(path, str) or not path:
        raise InvalidSchemaError(reason=f"ALTER TABLE cannot do this: {change.get('change')}")
    return tuple(str(step) for step in path)


def _after(position: object) -> str | None:
    if isinstance(position, Mapping):
        return str(position["after"])
    return FIRST if position == "first" else None


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)
