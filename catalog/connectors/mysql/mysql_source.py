"""`'connector' = 'mysql-cdc'`: the rows of a database's table, and then their changes.

Options and meanings are those of Flink CDC's connector of this name.

A job begins with the rows that the table has, in chunks by primary key, while it is written; then
it follows the binlog from a position before the first chunk. This is the algorithm of A. Andreakis
and I. Papapanagiotou, "DBLog: A Watermark Based Change-Data-Capture Framework" (2020), with a
position of the binlog in the place of a watermark that is written, and with one difference. DBLog
takes rows out of a chunk that the log has between its two watermarks. Here they stay, and the log
behind the low watermark follows. A chunk is read when the low watermark is fixed: each of its rows
is as it was then, or as a later change, which the log has too, has left it. Who writes rows by
their keys comes to the same state by applying these changes once more, in order. So an epoch that
is repeated may read its chunks at a later moment, when their rows are other ones; and so a job over
such a table writes a table with primary key alone.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.asked_cuts import asked_cuts
from table_store.catalog.connectors.database_errors import (
    SourceChangesGoneError,
    SourceTableChangedError,
)
from table_store.catalog.connectors.mysql.binlog_search import BinlogSearch
from table_store.catalog.connectors.mysql.mysql_binlog import (
    Binlog,
    BinlogPlace,
    BinlogPosition,
)
from table_store.catalog.connectors.mysql.mysql_chunks import chunks
from table_store.catalog.connectors.mysql.mysql_connection import Connection
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition, Startup
from table_store.catalog.connectors.mysql.mysql_log import PURGED, TableLog
from table_store.catalog.connectors.mysql.mysql_rows import (
    ChangeReader,
    Chunk,
    ReadTable,
    TableReader,
    log_part,
)
from table_store.catalog.connectors.mysql.mysql_table import DatabaseTable, check_server
from table_store.catalog.connectors.mysql.shared_binlog import RANGE_BYTES_MAX
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import (
    CUTS_MAX,
    Cut,
    Position,
    PositionStore,
    TopicCuts,
)
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.kafka_source_options import STARTUP_MODE
from table_store.storage.options.mysql_source_options import STARTUP_FILE

_BYTES_EACH: Final = 64
"""About so many bytes of a binlog count as a row."""

_BYTES_MIN: Final = 2
"""A row has no fewer in a binlog."""

_MANY: Final = 1_000_000
"""How many rows a table counts at least: what the database says of it is a guess."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MysqlSource:
    """The rows of a table whose definition names a database's table."""

    definition: MysqlDefinition

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
            SourceServerError, SourceTableNotFoundError, SourceTableError: the table cannot be
                followed.
            SourceTableChangedError: the binlog is not the one of the last position.
        """
        del pause_ms  # the changes come also while nobody looks
        known = None if last is None else last.topic
        reached = None if known is None else _place(known.cuts[-1])
        database = self.definition.database
        with database.connected() as connection:
            tables = self._tables(connection)
            log = moment.looked(
                (database.host, database.port),
                lambda: Binlog.of(connection, database.name),
                lambda seen: reached is not None and seen.lacks(reached) is not None,
            )
            if known is None or last is None or reached is None:
                rows = (
                    1
                    if self.definition.begins_with_changes
                    else max(1, sum(table.rows for table in tables))
                )
                return _first_position(self._start(log, connection), rows, now_ms)
        missing = log.lacks(reached)
        if missing is not None:
            raise SourceTableChangedError(table=self.definition.table, reason=missing)
        if log.is_at(reached):
            return None
        end = log.end_place(reached)
        rows = last.rows + max(1, log.bytes_between(reached, end) // _BYTES_EACH)
        cut = Cut(rows, end.offsets, end.mark)
        cuts = (*known.cuts, cut)[-CUTS_MAX:]
        topic = TopicCuts(id=log.id, start=known.start, mark=known.mark, cuts=cuts)
        return Position(rows=rows, at_ms=now_ms, topic=topic)

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead | None:
        """Return how to read rows: those of the table now, or what a job reads at a barrier.

        Raises:
            SourcePositionLostError: the position from which, or up to which, is not known.
            SourceChangesGoneError: the binlog has no longer what is to be read.
            SourceUnavailableError, SourceTableChangedError and others: see `following`.
        """
        between = None if asked.last is None else _between(asked, positions)
        with self.definition.database.connected() as connection:
            tables = self._tables(connection)
            if between is None:
                every = (
                    Chunk(table.schema_name, table.table_name, None, None, asked.limit)
                    for table in tables
                )
                return self._rows(tables, tuple(every))
            if not (asked.first or self.definition.begins_with_changes):
                found = tuple(
                    chunk
                    for table in tables
                    for chunk in chunks(connection, self.definition, table)
                )
                _log.info(
                    "%s: about %d rows in %d chunks, then the binlog from %d:%d on",
                    self.definition.table,
                    sum(table.rows for table in tables),
                    len(found),
                    between[1].position.file,
                    between[1].position.at,
                )
                return self._rows(tables, found)
            log = Binlog.of(connection, self.definition.database.name)
        start, end = between
        if start != end and not log.has_after(start):
            raise self._gone(log, log.shown_place(start))
        return SourceRead(
            reader=ChangeReader(log=self._log(log, tables), tables=self._read(tables)),
            parts=(log_part(start, end),) if start != end else (),
            rows=log.bytes_between(start, end) // _BYTES_MIN,
            is_shared=log.bytes_between(start, end) <= RANGE_BYTES_MAX,
        )

    def _tables(self, connection: Connection) -> tuple[DatabaseTable, ...]:
        check_server(connection, self.definition.database.name)
        return DatabaseTable.all_of(connection, self.definition)

    def _read(self, tables: tuple[DatabaseTable, ...]) -> tuple[ReadTable, ...]:
        return tuple(table.read(self.definition) for table in tables)

    def _rows(self, tables: tuple[DatabaseTable, ...], found: tuple[Chunk, ...]) -> SourceRead:
        reader = TableReader(database=self.definition.database, tables=self._read(tables))
        rows = max(sum(table.rows for table in tables), _MANY)
        return SourceRead(
            reader=reader, parts=tuple(chunk.to_bytes() for chunk in found), rows=rows
        )

    def _log(self, log: Binlog, tables: tuple[DatabaseTable, ...]) -> TableLog:
        definition = self.definition
        return TableLog(
            database=definition.database,
            names=definition.names,
            log=log,
            server_ids=definition.server_ids,
            labels=FrozenMap({table.place: table.labels for table in self._read(tables)}),
        )

    def _start(self, log: Binlog, connection: Connection) -> BinlogPlace:
        """Return where the binlog is followed from, for who begins now."""
        definition = self.definition
        search = BinlogSearch(definition.database, connection, log, definition.server_ids)
        if definition.startup is Startup.EARLIEST:
            return search.at(log.begin) if log.is_mariadb else log.begin_place()
        if definition.startup_ms is not None:
            return search.since(definition.startup_ms)
        if definition.startup_at is None:
            return log.end_place(None)
        name, at = definition.startup_at
        base, digits = name.rsplit(".", 1)
        found = BinlogPosition(int(digits), at)
        if base != log.base or found > log.end:
            reason = f"the binlog is now at {log.shown(log.end)}"
            raise InvalidOptionError(key=STARTUP_FILE.key, value=name, reason=reason)
        if found.file not in log.sizes:
            raise self._gone(log, f"{name}:{at}")
        return search.at(found)

    def _gone(self, log: Binlog, position: str) -> SourceChangesGoneError:
        return SourceChangesGoneError(
            table=self.definition.table,
            position=position,
            reason=f"the binlog begins with {log.shown(log.begin)}",
            remedy=PURGED,
        )


def _first_position(start: BinlogPlace, rows: int, now_ms: int) -> Position:
    at, mark = start.offsets, start.mark
    cuts = (Cut(0, at, mark), Cut(rows, at, mark))
    topic = TopicCuts(id=start.log_id, start=at, mark=mark, cuts=cuts)
    return Position(rows=rows, at_ms=now_ms, topic=topic)


def _between(asked: AskedRows, positions: PositionStore) -> tuple[BinlogPlace, BinlogPlace]:
    _, start, end = asked_cuts(asked, positions)
    return _place(start), _place(end)


def _place(cut: Cut) -> BinlogPlace:
    return BinlogPlace.of(cut.offsets, cut.mark)
