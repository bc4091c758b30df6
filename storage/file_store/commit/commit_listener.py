"""The listener that hears of a table's snapshots in the process that commits them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.log_options import LOG_KAFKA_TOPIC, LOG_RETENTION


class LogNotAttachedError(TableStoreError):
    """A program that does not tell the log tries to change a table which has one."""

    condition = "TABLE_STORE_LOG_NOT_ATTACHED"
    sql_state = "55000"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"The changes of {table!r} also belong into its log, and it was opened without. Open "
            "it with table_store.open_table()."
        )


class CommitListener(Protocol):
    """Hears of every commit of one table, before and after it is published."""

    def before_commit(self, schema: TableSchema) -> None:
        """Raise an error if the log cannot take changes now; then nothing is committed."""
        ...

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:
        """Return for each bucket an offset in the log before the next snapshot's changes."""
        ...

    def on_commit(self, snapshot: Snapshot, schema: TableSchema) -> None:
        """Take note of a published snapshot. Never raises: the commit has happened."""
        ...

    def before_expiry(self, first_retained: int) -> None:
        """Copy what is still needed of older snapshots; an error keeps all of them."""
        ...


class NoListener:
    """A `CommitListener` that does nothing."""

    def before_commit(self, schema: TableSchema) -> None:
        """See `CommitListener`."""

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:  # noqa: ARG002
        """See `CommitListener`."""
        return FrozenMap()

    def on_commit(self, snapshot: Snapshot, schema: TableSchema) -> None:
        """See `CommitListener`."""

    def before_expiry(self, first_retained: int) -> None:
        """See `CommitListener`."""


NO_LISTENER: Final = NoListener()
"""For a caller who knows that nobody must hear, for example while a table is being created."""


def heard_by(listener: CommitListener | None, schema: TableSchema, path: str) -> CommitListener:
    """Return the listener of a table, or one that does nothing if none is needed.

    Raises:
        LogNotAttachedError: the table was opened without its log, which would miss the changes.
    """
    if listener is not None:
        return listener
    if LOG_KAFKA_TOPIC.key in schema.options or LOG_RETENTION.key in schema.options:
        raise LogNotAttachedError(table=path)
    return NO_LISTENER
