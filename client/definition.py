"""The definition of a table under its name: what ALTER TABLE does in SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_store.catalog.definition.declared_settings import settings_in
from table_store.catalog.definition.table_change import (
    AddColumn,
    DropColumn,
    MoveColumn,
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
from table_store.catalog.definition.table_definition import EXISTS_DEFAULT, with_initial_default
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.client.column_type import column_type
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.schema_evolution import FIRST
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.types import DataType


class _Unchanged:
    """Says that an argument was left out, where None has a meaning."""


UNCHANGED: Final = _Unchanged()


@dataclass(frozen=True, slots=True)
class NamedDefinition:
    """Changes a table's columns and options; each call is one new version of the definition.

    All raise `InvalidSchemaError` where a change breaks a rule, and `NotFoundError` where the table
    was dropped. A column inside of a struct is `struct.field`.
    """

    lifecycle: TableLifecycle
    identifier: Identifier
    time_zone: str | None = None

    @property
    def name(self) -> str:
        """`namespace.table`."""
        return f"{self.identifier.namespace}.{self.identifier.name}"

    def add_column(
        self,
        name: str,
        data_type: str | DataType,
        *,
        nullable: bool = True,
        comment: str | None = None,
        default: str | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> TableSchema:
        """Add a column.

        Args:
            name: of the column.
            data_type: as in `TableDescriptor.column`.
            nullable: whether it may hold NULL; if not, it needs a default.
            comment: for people.
            default: SQL text of a literal, also for the rows that exist.
            after: the column behind which it stands; by default the last.
            first: whether it stands before all others.
        """
        *parent, own = name.split(".")
        typed = column_type(name, data_type)
        existing = () if default is None else ((EXISTS_DEFAULT, json.dumps(default)),)
        column = Field(
            id=0,
            name=own,
            type=typed.type,
            nullable=nullable,
            comment=comment,
            default=self._expression(default),
            metadata=tuple(sorted((*existing, *typed.metadata))),
        )
        column = with_initial_default(column, time_zone=self.time_zone or "UTC")
        place = FIRST if first else after
        return self._alter(AddColumn(parent=tuple(parent), column=column, after=place))

    def rename_column(self, name: str, new_name: str) -> TableSchema:
        """Give a column another name; its values stay."""
        return self._alter(RenameColumn(_path(name), new_name))

    def drop_column(self, name: str, *, if_exists: bool = False) -> TableSchema:
        """Remove a column; its values can be read by older versions only."""
        return self._alter(DropColumn(_path(name), if_exists=if_exists))

    def move_column(self, name: str, *, after: str | None = None) -> TableSchema:
        """Move a column behind another one, or before all others."""
        return self._alter(MoveColumn(_path(name), FIRST if after is None else after))

    def alter_column(
        self,
        name: str,
        *,
        data_type: str | DataType | None = None,
        nullable: bool | None = None,
        comment: str | _Unchanged | None = UNCHANGED,
        default: str | _Unchanged | None = UNCHANGED,
    ) -> TableSchema:
        """Change a column; what is left out stays.

        Args:
            name: of the column.
            data_type: one that holds all values of the old one.
            nullable: True lets it hold NULL.
            comment: None removes it.
            default: SQL text for rows that lack the column; None removes it.
        """
        path = _path(name)
        changes: list[TableChange] = []
        if data_type is not None:
            typed = column_type(name, data_type)
            changes.append(WidenColumn(path=path, type=typed.type, declared=typed.declared))
        if nullable is not None:
            changes.append(SetColumnNullable(path, nullable=nullable))
        if not isinstance(comment, _Unchanged):
            changes.append(SetColumnComment(path, comment))
        if not isinstance(default, _Unchanged):
            changes.append(SetColumnDefault(path, self._expression(default)))
        return self._alter(*changes)

    def set_options(self, options: Mapping[str, str | None]) -> TableSchema:
        """Set options, or reset them to their defaults by None.

        Raises:
            UnknownOptionError, InvalidOptionError: one is wrong, or may not be changed.
        """
        changes = [
            UnsetOption(key) if value is None else SetOption(key, value)
            for key, value in options.items()
        ]
        return self._alter(*changes)

    def set_comment(self, comment: str | None) -> TableSchema:
        """Change or remove the comment of the table."""
        return self._alter(SetComment(comment))

    def _expression(self, text: str | None) -> StoredExpression | None:
        return None if text is None else StoredExpression(text, settings_in(self.time_zone))

    def _alter(self, *changes: TableChange) -> TableSchema:
        return self.lifecycle.alter(self.identifier, changes).schema


def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))
