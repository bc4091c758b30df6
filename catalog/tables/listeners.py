"""Listeners are told when a managed table is created or dropped, and may refuse.

Everything else that belongs to a table (a topic, an entry in another system) is made and removed by
a listener, like `ManagedTableFactory.onCreateTable` and `onDropTable` in the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from typing import Final, Protocol

from table_store.catalog.errors import ListenerFailedError
from table_store.catalog.names.identifier import Identifier
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import TableStoreError

ENTRY_POINT_GROUP: Final = "table_store.listeners"
"""Entry points in which a distribution names its listeners: callables without arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContext:
    """The table that is created or dropped.

    Attributes:
        identifier: its name; that of a temporary table within its session.
        table_id: stays the same through renames and replacements.
        location: of the directory. REPLACE TABLE makes another one; each is created and
            dropped once.
        schema: with the complete options.
    """

    identifier: Identifier
    table_id: str
    location: str
    schema: TableSchema


class TableListener(Protocol):
    """Is told of every managed table before its name appears, before it changes or is dropped.

    After a failure elsewhere every call may come again for the same context, and must then do no
    harm. An exception of any type refuses the statement.
    """

    def on_create_table(self, context: TableContext) -> None:
        """Make what belongs to the table; the directory exists, the name does not yet."""
        ...

    def on_alter_table(self, context: TableContext, before: TableSchema) -> None:
        """Change what belongs to the table; `context` is the table after the change."""
        ...

    def on_drop_table(self, context: TableContext) -> None:
        """Remove what belongs to the table; name and directory still exist."""
        ...


@dataclass(frozen=True, slots=True)
class ListenerChain:
    """Several listeners: if one of them refuses, the others' calls are undone."""

    listeners: Sequence[TableListener] = ()

    def notify_create(self, context: TableContext) -> None:
        """Call `on_create_table` of each in order; after a failure undo those before it.

        Raises:
            ListenerFailedError: a listener failed; the error names it and its reason.
            TableStoreError: the listener's own error, unchanged.
        """
        for position, listener in enumerate(self.listeners):
            try:
                listener.on_create_table(context)
            except Exception as error:  # a listener is anybody's code
                for earlier in reversed(self.listeners[:position]):
                    with suppress(Exception):
                        earlier.on_drop_table(context)
                raise _failed(listener, "CREATE TABLE", context, error) from error

    def notify_alter(self, context: TableContext, before: TableSchema) -> None:
        """Call `on_alter_table` of each in order; after a failure undo those before it.

        Raises:
            ListenerFailedError: see `notify_create`.
        """
        undone = replace(context, schema=before)
        for position, listener in enumerate(self.listeners):
            try:
                listener.on_alter_table(context, before)
            except Exception as error:  # a listener is anybody's code
                for earlier in reversed(self.listeners[:position]):
                    with suppress(Exception):
                        earlier.on_alter_table(undone, context.schema)
                raise _failed(listener, "ALTER TABLE", context, error) from error

    def notify_drop(self, context: TableContext) -> None:
        """Call `on_drop_table` of each in reverse order; after a failure undo those before it.

        Raises:
            ListenerFailedError: a listener failed; the error names it and its reason.
        """
        order = list(reversed(self.listeners))
        for position, listener in enumerate(order):
            try:
                listener.on_drop_table(context)
            except Exception as error:  # a listener is anybody's code
                for earlier in reversed(order[:position]):
                    with suppress(Exception):
                        earlier.on_create_table(context)
                raise _failed(listener, "DROP TABLE", context, error) from error

    def undo_create(self, context: TableContext) -> None:
        """Call `on_drop_table` of each for a table that could not be published after all."""
        for listener in reversed(self.listeners):
            with suppress(Exception):
                listener.on_drop_table(context)


def installed_listeners() -> tuple[TableListener, ...]:
    """Return a new listener of every entry point, sorted by the name of the entry point.

    Entry points are read once in a process, because that reads a file of every distribution.
    """
    return tuple(new() for new in _entry_points())


@cache
def _entry_points() -> tuple[Callable[[], TableListener], ...]:
    found = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return tuple(point.load() for point in found)


def _failed(
    listener: TableListener, event: str, context: TableContext, error: Exception
) -> TableStoreError:
    if isinstance(error, TableStoreError):
        return error
    return ListenerFailedError(
        listener=type(listener).__qualname__,
        event=event,
        table=str(context.identifier),
        reason=f"{type(error).__name__}: {error}",
    )
