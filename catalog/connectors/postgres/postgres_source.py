"""`'connector' = 'postgres-cdc'`: the rows of a database's table, and then their changes.

Options and meanings are those of Flink CDC's connector of this name.

A job begins with the rows that the table has, in chunks by primary key, while it is
written; then it follows the log from a position before the first chunk. Each row of a chunk is as
it was at the position, or as a later change, which the log has too, has left it. Who writes rows by
their keys comes to the same state by applying these changes once more, in order. So an epoch that
is repeated may read its chunks at a later moment, when their rows are other ones; and so a job over
such a table writes a table with primary key alone.

A position is up to where the database's log is on its disk, as a number of bytes. A transaction
comes before it if its commit begins there. The changes between two positions are looked at in the
replication slot, which stays as it is, by `pg_logical_slot_peek_binary_changes`; when all jobs have
committed what they have read, `pg_replication_slot_advance` lets the database forget it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.asked_cuts import asked_cuts
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import (
    CUTS_MAX,
    Cut,
    Position,
    PositionStore,
    TopicCuts,
)
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.catalog.connectors.postgres.postgres_chunks import Chunk, chunks
from table_store.catalog.connectors.postgres.postgres_connection import Connection
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition
from table_store.catalog.connectors.postgres.postgres_log import (
    Slot,
    advance_slot,
    check_has,
    made_slot,
    shown,
    table_changed,
    wait_for_writers,
)
from table_store.catalog.connectors.postgres.postgres_rows import (
    ChangeReader,
    TableReader,
    log_part,
)
from table_store.catalog.connectors.postgres.postgres_server import (
    LogEnd,
    check_server,
    log_id,
    publication_id,
)
from table_store.catalog.connectors.postgres.postgres_table import DatabaseTable
from table_store.storage.options.kafka_source_options import STARTUP_MODE

_BYTES_EACH: Final = 64
"""About so many bytes of the log count as a row."""

_BYTES_MIN: Final = 4
"""A row has no fewer in the log."""

_MANY: Final = 1_000_000
"""How many rows a table counts at least: what the database says of it is a guess."""

_PARTS: Final = ("server", "database", "table", "publication", "slot")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PostgresSource:
    """The rows of a table whose definition names a database's table."""

    definition: PostgresDefinition

    @property
    def bound(self) -> str:
        """The option with which the rows begin; a batch query needs none for an end."""
        return STARTUP_MODE.key

    def rows_max(self, last: Position | None) -> None:
        """Return None: the changes have no end."""
        del last

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position now, whatever time has passed; None if it is still the last one.

        Raises:
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
            SourceBusyError: transactions hold up the slot.
            SourceServerError, SourceTableNotFoundError, SourceTableError: the table cannot be
                followed.
            SourceTableChangedError: the log is not the one of the last position.
            SourceChangesGoneError: the slot has not what comes behind that.
        """
        del pause_ms  # the changes come also while nobody looks
        definition, database = self.definition, self.definition.database
        known = None if last is None else last.topic
        reached = 0 if known is None else known.cuts[-1].offsets[0]
        with database.connected() as connection:
            check_server(connection, definition)
            table = self._table(connection)
            publication = publication_id(connection, definition, table.oid)
            slot = (
                made_slot(connection, definition)
                if known is None
                else Slot.of(connection, definition)
            )
            least = max(reached, 0 if slot is None else slot.begin)
            end = moment.looked(
                (database.host, database.port, database.name),
                lambda: LogEnd.of(connection),
                lambda seen: seen.at < least,
            )
            found = log_id(connection, definition, end, table.oid, publication)
        if known is None or last is None:
            rows = 1 if definition.begins_with_changes else max(1, table.rows)
            both = Cut(0, (end.at,)), Cut(rows, (end.at,))
            begun = TopicCuts(id=found, start=(end.at,), cuts=both)
            return Position(rows=rows, at_ms=now_ms, topic=begun)
        self._check_same(found, known.id, end.at, reached)
        check_has(definition, slot, reached)
        if end.at == reached:
            return None
        rows = last.rows + max(1, (end.at - reached) // _BYTES_EACH)
        cuts = (*known.cuts, Cut(rows, (end.at,)))[-CUTS_MAX:]
        topic = TopicCuts(id=known.id, start=known.start, cuts=cuts)
        return Position(rows=rows, at_ms=now_ms, topic=topic)

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead | None:
        """Return how to read rows: those of the table now, or what a job reads at a barrier.

        Raises:
            SourcePositionLostError: the position from which, or up to which, is not known.
            SourceChangesGoneError: the slot has no longer what is to be read.
            SourceBusyError: a transaction that has written the table does not end.
            SourceUnavailableError, SourceTableError and others: see `following`.
        """
        definition = self.definition
        between = None if asked.last is None else asked_cuts(asked, positions)
        with definition.database.connected() as connection:
            table = DatabaseTable.of(connection, definition)
            columns = tuple(map(table.read_column, definition.columns))
            if between is None:
                return self._rows(table, (Chunk(table.key[0], limit=asked.limit),))
            _, begin, last = between
            start, end = begin.offsets[0], last.offsets[0]
            table.check_identity(definition)
            if not (asked.first or definition.begins_with_changes):
                wait_for_writers(connection, definition, table.oid)
                found = chunks(connection, definition, table)
                _log.info(
                    "%s: about %d rows in %d chunks, then the log from %s on",
                    definition.table,
                    table.rows,
                    len(found),
                    shown(end),
                )
                return self._rows(table, found)
            check_has(definition, Slot.of(connection, definition), start)
        return SourceRead(
            reader=ChangeReader(definition=definition, oid=table.oid, columns=columns),
            parts=(log_part(start, end),) if start < end else (),
            rows=(end - start) // _BYTES_MIN,
        )

    def release(self, rows: int, positions: PositionStore) -> None:
        """Let the database forget the changes of a position that all jobs have committed.

        Raises:
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        """
        cut = positions.cut(rows)
        if cut is not None:
            with self.definition.database.connected() as connection:
                advance_slot(connection, self.definition, cut.offsets[0])

    def _table(self, connection: Connection) -> DatabaseTable:
        table = DatabaseTable.of(connection, self.definition)
        table.check_identity(self.definition)
        return table

    def _rows(self, table: DatabaseTable, found: tuple[Chunk, ...]) -> SourceRead:
        reader = TableReader(
            definition=self.definition,
            columns=tuple(map(table.read_column, self.definition.columns)),
        )
        rows = max(table.rows, _MANY)
        return SourceRead(
            reader=reader, parts=tuple(chunk.to_bytes() for chunk in found), rows=rows
        )

    def _check_same(self, found: str, known: str, end: int, reached: int) -> None:
        if found != known:
            both = zip(_PARTS, found.split(":"), known.split(":"), strict=True)
            changed = [part for part, now, then in both if now != then]
            reason = f"it is in another {changed[0]}, or that was dropped and created again"
            if changed[0] == "table":
                reason = "it was dropped and created again"
            elif changed[0] == "publication":
                reason = (
                    f"it was not in the publication {self.definition.publication} all the while"
                )
        elif end < reached:
            reason = f"the log ends at {shown(end)}, and had reached {shown(reached)} before"
        else:
            return
        raise table_changed(self.definition, reason)
