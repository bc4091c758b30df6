"""The changes of a table that a replication slot keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.database_errors import (
    SourceBusyError,
    SourceChangesGoneError,
    SourceServerError,
    SourceTableChangedError,
)
from table_store.catalog.connectors.postgres.pgoutput import plugin_options
from table_store.catalog.connectors.postgres.postgres_connection import (
    Connection,
    StatementError,
    literal,
    said,
)
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition
from table_store.storage.kernel.errors import TableStoreError

_MADE_WITHIN_MS: Final = 10_000
_HELD_WITHIN_MS: Final = 60_000
_WRITERS_WITHIN_S: Final = 10
_LOOK_S: Final = 0.02
_CANCELED, _LOCKED, _IN_USE, _EXISTS, _NO_MORE = "57014", "55P03", "55006", "42710", "53400"
_NO_OBJECT, _NOT_READY = "42704", "55000"

_SLOT: Final = (
    "SELECT plugin, database, temporary, active_pid, wal_status, "
    "(confirmed_flush_lsn - '0/0')::bigint FROM pg_catalog.pg_replication_slots "
    "WHERE slot_name = %s"
)
_WRITERS: Final = (
    "SELECT l.virtualtransaction, l.pid FROM pg_catalog.pg_locks l LEFT JOIN "
    "pg_catalog.pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'relation' AND l.relation = "
    "%s AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = "
    "pg_catalog.current_database()) AND l.granted AND l.mode IN ('RowExclusiveLock', "
    "'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') "
    "AND coalesce(a.state, '') NOT LIKE 'idle in transaction%%'"
)
_KEPT: Final = (
    "For the future let 'max_slot_wal_keep_size' of the database exceed what it writes while jobs "
    "are away, and give each table a slot of its own"
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot.

    Attributes:
        reader: the process that reads it; None if nobody does.
        begin: from where on it has changes.
        is_lost: whether the database has deleted what it kept.
    """

    reader: int | None
    begin: int
    is_lost: bool

    @classmethod
    def of(cls, connection: Connection, definition: PostgresDefinition) -> Slot | None:
        """Look at the slot of a table; None if there is none.

        Raises:
            SourceServerError: it is one for something else.
        """
        found = connection.rows(_SLOT, (definition.slot,))
        if not found:
            return None
        plugin, database, is_temporary, reader, status, begin = found[0]
        if plugin != "pgoutput" or database != definition.database.name or is_temporary:
            raise SourceServerError(
                server=definition.database.server,
                reason=f"the replication slot {definition.slot} is for {plugin or 'replicas'} and "
                f"the database {database}",
                remedy="Create the source with another 'slot.name'",
            )
        return cls(reader, begin or 0, status == "lost")


def made_slot(connection: Connection, definition: PostgresDefinition) -> Slot:
    """Return the slot of a table, which is made if there is none.

    Raises:
        SourceBusyError: transactions that are open hold that up.
        SourceServerError: there may be no more slots, or it is one for something else.
    """
    try:
        if Slot.of(connection, definition) is None:
            connection.rows(f"SET statement_timeout = {_MADE_WITHIN_MS:d}")
            made = "SELECT pg_catalog.pg_create_logical_replication_slot(%s, 'pgoutput')"
            connection.rows(made, (definition.slot,))
    except StatementError as error:
        if error.sqlstate == _CANCELED:
            raise SourceBusyError(
                table=definition.table,
                reason=f"the replication slot {definition.slot} cannot be made while transactions "
                "are open that have written",
                remedy="See pg_stat_activity for them (backend_xid) and pg_prepared_xacts, and end "
                "them",
            ) from error
        if error.sqlstate == _NO_MORE:
            raise SourceServerError(
                server=definition.database.server,
                reason=said(error),
                remedy="As its administrator drop replication slots that nobody reads, or raise "
                "max_replication_slots",
            ) from error
        if error.sqlstate != _EXISTS:  # somebody else was faster
            raise
    finally:
        if not connection.held.closed:
            connection.rows("SET statement_timeout = 0")
    found = Slot.of(connection, definition)
    if found is None:
        raise changes_gone(definition, 0, f"the slot {definition.slot} was dropped at once")
    return found


def wait_for_writers(connection: Connection, definition: PostgresDefinition, oid: int) -> None:
    """Wait until what is committed in the log of a table is committed in the table, too.

    A transaction is first in the log, and visible to others a moment later; until then it holds the
    lock with which it has written. Whose session does nothing has not begun to commit.

    Raises:
        SourceBusyError: a transaction has written the table, and does not end.
    """
    end = time.monotonic() + _WRITERS_WITHIN_S
    first = frozenset(connection.rows(_WRITERS, (oid,)))
    there = first
    while there and time.monotonic() < end:
        time.sleep(_LOOK_S)
        there = first.intersection(connection.rows(_WRITERS, (oid,)))
    if there:
        pids = ", ".join(sorted(str(pid or "prepared") for _, pid in there))
        raise SourceBusyError(
            table=definition.table,
            reason=f"a statement that writes it does not end (process {pids})",
            remedy="End it with pg_terminate_backend, or wait for it",
        )


def advance_slot(connection: Connection, definition: PostgresDefinition, at: int) -> None:
    """Let the database delete changes before a position, which nobody needs any more.

    While others read the slot nothing is done: the next call comes soon.
    """
    with connection.transaction():
        if not connection.rows(f"SELECT pg_catalog.pg_try_advisory_xact_lock({_lock(definition)})")[
            0
        ][0]:
            return
        slot = Slot.of(connection, definition)
        if slot is None or slot.is_lost or slot.begin >= at:
            return
        try:
            connection.rows(
                "SELECT pg_catalog.pg_replication_slot_advance(%s, '0/0'::pg_lsn + %s)",
                (definition.slot, at),
            )
        except StatementError as error:
            if error.sqlstate not in (_IN_USE, _NO_OBJECT):
                raise


@dataclass(frozen=True, slots=True)
class TableLog:
    """The changes that the slot of a table keeps."""

    definition: PostgresDefinition

    def pieces(self, start: int, end: int) -> Iterator[list[memoryview]]:
        """Yield the messages of `pgoutput` up to a position, many at a time, in COPY's rows.

        Those of all transactions between both are among them. The database decodes them first, and
        holds what exceeds its memory on its disk.

        Raises:
            SourceChangesGoneError: the slot does not have them any more.
            SourceBusyError: others read the slot.
            SourceServerError: the publication is gone.
        """
        definition = self.definition
        with definition.database.connected() as connection, _held(connection, definition):
            self._check(connection, start)
            options = ", ".join(map(literal, plugin_options(definition.publication)))
            arguments = f"{literal(definition.slot)}, {literal(shown(end))}, NULL, {options}"
            function = "pg_catalog.pg_logical_slot_peek_binary_changes"
            with self._named(start):
                yield from connection.copied(f"SELECT data FROM {function}({arguments})", "binary")

    def _check(self, connection: Connection, start: int) -> None:
        slot = Slot.of(connection, self.definition)
        check_has(self.definition, slot, start)

    @contextmanager
    def _named(self, start: int) -> Iterator[None]:
        definition = self.definition
        try:
            yield
        except StatementError as error:
            found: TableStoreError | None = None
            match error.sqlstate:
                case "55006":
                    found = busy(definition, said(error))
                case "42704":
                    found = SourceServerError(
                        server=definition.database.server,
                        reason=said(error),
                        remedy="The log has changes from before it was made, or after it was "
                        "dropped: drop the source, create it again and begin anew with another "
                        "'pipeline.name' of the INSERT",
                    )
                case "55000" | "58P01":
                    found = changes_gone(definition, start, said(error))
            if found is None:
                raise
            raise found from error


def check_has(definition: PostgresDefinition, slot: Slot | None, start: int) -> None:
    """Check that a slot has the changes from a position on.

    Raises:
        SourceChangesGoneError: it does not.
    """
    if slot is None:
        raise changes_gone(definition, start, f"there is no replication slot {definition.slot}")
    if slot.is_lost:
        reason = f"the database has deleted what the slot {definition.slot} kept, as it was so much"
        raise changes_gone(definition, start, reason)
    if slot.begin > start:
        reason = f"the slot {definition.slot} was advanced to {shown(slot.begin)} by others"
        raise changes_gone(definition, start, reason)


def changes_gone(
    definition: PostgresDefinition, position: int, reason: str
) -> SourceChangesGoneError:
    """Return what to raise where changes from a position on are not there."""
    return SourceChangesGoneError(
        table=definition.table, position=shown(position), reason=reason, remedy=_KEPT
    )


def table_changed(definition: PostgresDefinition, reason: str) -> SourceTableChangedError:
    """Return what to raise where a table or its log is not what it was."""
    return SourceTableChangedError(table=definition.table, reason=reason)


def busy(definition: PostgresDefinition, reason: str) -> SourceBusyError:
    """Return what to raise where somebody else reads the slot."""
    return SourceBusyError(
        table=definition.table,
        reason=reason,
        remedy="End the other reader, or create the source with another 'slot.name'",
    )


def shown(position: int) -> str:
    """Return a position in the log as the database writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


@contextmanager
def _held(connection: Connection, definition: PostgresDefinition) -> Iterator[None]:
    """Have the slot alone among readers of ours, of which others wait, within a transaction."""
    with connection.transaction():
        connection.rows(f"SET LOCAL lock_timeout = {_HELD_WITHIN_MS:d}")
        try:
            connection.rows(f"SELECT pg_catalog.pg_advisory_xact_lock({_lock(definition)})")
        except StatementError as error:
            if error.sqlstate != _LOCKED:
                raise
            reason = f"other jobs read the slot {definition.slot} for long"
            raise busy(definition, reason) from error
        yield


def _lock(definition: PostgresDefinition) -> str:
    return f"pg_catalog.hashtextextended({literal(f'table-store {definition.slot}')}, 0)"
