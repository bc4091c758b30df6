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
        _notify(
            self.listeners,
            lambda listener: listener.on_create_table(context),
            lambda listener: listener.on_drop_table(context),
            statement="CREATE TABLE",
            context=context,
        )

    def notify_alter(self, context: TableContext, before: TableSchema) -> None:
        """Call `on_alter_table` of each in order; after a failure undo those before it.

        Raises:
            ListenerFailedError: see `notify_create`.
        """
        undone = replace(context, schema=before)
        _notify(
            self.listeners,
            lambda listener: listener.on_alter_table(context, before),
            lambda listener: listener.on_alter_table(undone, context.schema),
            statement="ALTER TABLE",
            context=context,
        )

    def notify_drop(self, context: TableContext) -> None:
        """Call `on_drop_table` of each in reverse order; after a failure undo those before it.

        Raises:
            ListenerFailedError: a listener failed; the error names it and its reason.
        """
        _notify(
            self.listeners[::-1],
            lambda listener: listener.on_drop_table(context),
            lambda listener: listener.on_create_table(context),
            statement="DROP TABLE",
            context=context,
        )

    def undo_create(self, context: TableContext) -> None:
        """Call `on_drop_table` of each for a table that could not be published after all."""
        for listener in reversed(self.listeners):
            with suppress(Exception):
                listener.on_drop_table(context)


def _notify(
    listeners: Sequence[TableListener],
    call: Callable[[TableListener], None],
    undo: Callable[[TableListener], None],
    *,
    statement: str,
    context: TableContext,
) -> None:
    """Call each listener in order; if one fails, undo the calls before it in reverse order."""
    for position, listener in enumerate(listeners):
        try:
            call(listener)
        except Exception as error:  # an edge: a listener is code of anybody's
            for earlier in reversed(listeners[:position]):
                with suppress(Exception):
                    undo(earlier)
            raise _failed(listener, statement, context, error) from error


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
