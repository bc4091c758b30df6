"""The changes of a table in a binlog: those of a range of its transactions, in their order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants import NONE_SOURCE
from pymysqlreplication.event import (
    BinLogEvent,
    GtidEvent,
    MariadbGtidEvent,
    NotImplementedEvent,
    QueryEvent,
    RotateEvent,
    XidEvent,
)
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    PartialUpdateRowsEvent,
    RowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

from table_store.catalog.connectors.database_errors import (
    SourceChangesGoneError,
    SourceTableChangedError,
)
from table_store.catalog.connectors.mysql.gtid_set import GtidSet
from table_store.catalog.connectors.mysql.logged_statement import what_it_does
from table_store.catalog.connectors.mysql.mysql_binlog import (
    NOWHERE,
    Binlog,
    BinlogPlace,
    BinlogPosition,
)
from table_store.catalog.connectors.mysql.mysql_connection import Database, StreamConnections
from table_store.catalog.connectors.mysql.table_names import Matching, TableNames

_EVENTS: Final = (
    DeleteRowsEvent,
    GtidEvent,
    MariadbGtidEvent,
    NotImplementedEvent,
    PartialUpdateRowsEvent,
    QueryEvent,
    RotateEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
    XidEvent,
)
PURGED: Final = (
    "For the future let 'binlog_expire_logs_seconds' of the database exceed the time that jobs may "
    "be away"
)
_GONE: Final = 1236
_COMPRESSED: Final = (40, *range(165, 172))
"""Kinds of events: transactions of MySQL, and statements and rows of MariaDB, compressed."""


@dataclass(frozen=True, slots=True)
class RowImages:
    """Rows as they came or went, of one event.

    Attributes:
        come: of each row, whether it came; else it went.
        values: by column, of each row.
        missing: why a value is NULL, of each row, by column.
        shown: where they are, for messages.
        table: whose they are, by its database and name.
    """

    come: Sequence[bool]
    values: Sequence[Mapping[str, Any]]
    missing: Sequence[Mapping[str, str]]
    shown: str
    table: tuple[str, str]

    def empty_sets(self, name: str) -> list[bool]:
        """Return where a SET has no elements."""
        return [row.get(name) == NONE_SOURCE.EMPTY_SET for row in self.missing]

    def is_whole(self, name: str) -> bool:
        """Whether a column is in each row."""
        return all(
            name in row and why.get(name) != NONE_SOURCE.COLS_BITMAP
            for row, why in zip(self.values, self.missing, strict=True)
        )


LoggedEvent: TypeAlias = tuple[BinLogEvent, str]
"""An event of a binlog, whose rows are not decoded yet, and where it is, for messages."""


@dataclass(slots=True)
class _Awaited:
    """Which transactions of a stream are read, and how many are still to come.

    Attributes:
        wanted: those that are read.
        is_mariadb: whether each source has its last number, and may lack others.
        left: how many transactions, or sources, are still to come.
        is_read: whether the current transaction is one of them.
    """

    wanted: GtidSet
    is_mariadb: bool
    left: int = field(init=False)
    is_read: bool = False

    def __post_init__(self) -> None:
        self.left = len(self.wanted.ranges) if self.is_mariadb else self.wanted.count

    def begin(self, source: str, number: int) -> None:
        """Take note of a transaction that begins."""
        self.is_read = (source, number) in self.wanted
        if self.is_read and (not self.is_mariadb or number == self.wanted.lasts[source]):
            self.left -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLog:
    """The changes of tables in a binlog.

    Attributes:
        database: whose it is.
        names: which tables.
        log: as it was when somebody looked.
        server_ids: the numbers as which it may be read.
        labels: by table those of its columns that are ENUM or SET, by name.
    """

    database: Database
    names: TableNames
    log: Binlog
    server_ids: tuple[int, int]
    labels: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]

    def images(self, start: BinlogPlace, end: BinlogPlace) -> Iterator[RowImages]:
        """Yield the rows that came and went from one place to another one, in their order.

        Transactions may come twice: then all come once more, from the first one on.

        Raises:
            SourceChangesGoneError: the log does not have them any more.
            SourceTableChangedError: the table was emptied or replaced in between, or changed by
                statements that the log has as texts.
        """
        yield from self.images_of(self.events(start, end))

    def images_of(self, events: Iterable[LoggedEvent]) -> Iterator[RowImages]:
        """Yield the rows that came and went by events of the binlog; fails as `images`."""
        for event, shown in events:
            yield from self._of_event(event, shown)

    def events(
        self, start: BinlogPlace, end: BinlogPlace, *, is_of_all: bool = False
    ) -> Iterator[LoggedEvent]:
        """Yield the events from one place to another one, in their order; see `images`.

        Args:
            start: the place.
            end: the other one.
            is_of_all: whether the changes of all tables are wanted.

        Raises:
            SourceChangesGoneError: the log does not have them any more.
        """
        is_here = start.log_id == end.log_id == self.log.id
        if start.gtids is None or end.gtids is None or (self.log.is_mariadb and is_here):
            yield from self._by_position(start.position, end.position, is_of_all=is_of_all)
            return
        wanted = end.gtids - start.gtids
        if not wanted:
            return
        low = start.low if start.log_id == self.log.id else NOWHERE
        if low != NOWHERE and not self.log.is_mariadb:
            awaited = _Awaited(wanted, self.log.is_mariadb)
            with suppress(SourceChangesGoneError):  # the file of `low` alone may be gone
                reader = self._reader(low, is_of_all=is_of_all)
                yield from self._read(reader, start, awaited=awaited)
            if not awaited.left:
                return
        awaited = _Awaited(wanted, self.log.is_mariadb)
        # The client takes an empty set of MySQL's for none.
        is_all = not start.gtids and not self.log.is_mariadb
        begin = self.log.begin if is_all else start.gtids.text
        yield from self._read(self._reader(begin, is_of_all=is_of_all), start, awaited=awaited)
        if awaited.left:
            raise self._gone(start, "it does not have all that came since")

    def _by_position(
        self, start: BinlogPosition, end: BinlogPosition, *, is_of_all: bool
    ) -> Iterator[LoggedEvent]:
        if start >= end:
            return
        reader = self._reader(start, is_of_all=is_of_all)
        place = BinlogPlace(log_id=self.log.id, position=start, low=start, gtids=None)
        yield from self._read(reader, place, end=end)
        if _reached(reader) < end:
            reason = f"the binlog ends at {self._shown(reader)}, and had more before"
            raise SourceTableChangedError(table=self._table, reason=reason)

    def _reader(self, start: BinlogPosition | str, *, is_of_all: bool) -> BinLogStreamReader:
        """Return a stream from a position on, or of all but some transactions."""
        where: dict[str, Any] = {"auto_position": start, "is_mariadb": self.log.is_mariadb}
        if isinstance(start, BinlogPosition):
            name = self.log.file_name(start.file)
            where = {"log_file": name, "log_pos": start.at, "resume_stream": True}
        # The client cannot read each type of column, so it is to look at no other table.
        databases, tables = (Matching(text) for text in (self.names.database, self.names.table))
        return binlog_stream(
            self.database,
            self.server_ids,
            _EVENTS,
            only_schemas=None if is_of_all else databases,
            only_tables=None if is_of_all else tables,
            **where,
        )

    def _read(
        self,
        reader: BinLogStreamReader,
        start: BinlogPlace,
        *,
        end: BinlogPosition | None = None,
        awaited: _Awaited | None = None,
    ) -> Iterator[LoggedEvent]:
        """Yield events up to a position, or until all awaited transactions have come."""
        try:
            with self.database.named_errors():
                for event in reader:
                    if end is not None and _reached(reader) > end:
                        return
                    if awaited is not None:
                        if isinstance(event, GtidEvent | MariadbGtidEvent):
                            if not awaited.left:
                                return
                            awaited.begin(*transaction_of(event))
                        elif not awaited.is_read:
                            continue
                    yield event, self._shown(reader)
        except pymysql.OperationalError as error:
            if error.args[0] != _GONE:
                raise
            raise self._gone(start, f"the binlog begins later ({error.args[-1]})") from error
        finally:
            reader.close()

    def _of_event(self, event: BinLogEvent, shown: str) -> Iterator[RowImages]:
        if isinstance(event, RowsEvent):
            if not self.names.has(event.schema, event.table):
                return
            self._complete_labels(event)
            event.packet.read_binary_json = lambda size, _: (
                event.packet.read_length_coded_pascal_string(size)
            )
        match event:
            case PartialUpdateRowsEvent():
                reason = f"the binlog has a part alone of a JSON value at {shown}"
                raise SourceTableChangedError(table=self._table, reason=reason)
            case UpdateRowsEvent():
                # One row after the other: a key that one of them gives up another may take.
                sides = [(row, side) for row in event.rows for side in ("before", "after")]
                yield RowImages(
                    [side == "after" for _, side in sides],
                    [row[f"{side}_values"] for row, side in sides],
                    [row[f"{side}_none_sources"] for row, side in sides],
                    shown,
                    (event.schema, event.table),
                )
            case WriteRowsEvent() | DeleteRowsEvent():
                rows = event.rows
                yield RowImages(
                    [isinstance(event, WriteRowsEvent)] * len(rows),
                    [row["values"] for row in rows],
                    [row["none_sources"] for row in rows],
                    shown,
                    (event.schema, event.table),
                )
            case QueryEvent():
                self._check(event, shown)
            case NotImplementedEvent() if event.event_type in _COMPRESSED:
                reason = f"the binlog has compressed changes at {shown}"
                raise SourceTableChangedError(table=self._table, reason=reason)

    def _complete_labels(self, event: RowsEvent) -> None:
        """Give ENUM and SET the labels that the client cannot read: those that are no UTF-8."""
        labels = self.labels.get((event.schema, event.table), {})
        for column in event.columns:
            known = labels.get(column.name, ())
            if column.enum_values and "" in column.enum_values[1:]:
                column.enum_values = _completed(column.enum_values, ("", *known))
            if column.set_values and "" in column.set_values:
                column.set_values = _completed(column.set_values, known)

    def _check(self, event: QueryEvent, shown: str) -> None:
        current = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        done = what_it_does(event.query, current, self.names)
        if done is not None:
            raise SourceTableChangedError(table=self._table, reason=f"{done} at {shown}")

    def _gone(self, start: BinlogPlace, reason: str) -> SourceChangesGoneError:
        position = self.log.shown_place(start)
        return SourceChangesGoneError(
            table=self._table, position=position, reason=reason, remedy=PURGED
        )

    def _shown(self, reader: BinLogStreamReader) -> str:
        return f"{reader.log_file}:{reader.log_pos}"

    @property
    def _table(self) -> str:
        return str(self.names)


def binlog_stream(
    database: Database, server_ids: tuple[int, int], events: Sequence[type], **where: Any
) -> BinLogStreamReader:
    """Return a stream that ends where the binlog does, for its caller to close.

    Args:
        database: whose binlog it is.
        server_ids: the numbers as which it may be read.
        events: the kinds that are wanted.
        where: the client's own settings: where it begins, and of which tables.
    """
    return BinLogStreamReader(
        connection_settings=database.settings(),
        server_id=random.SystemRandom().randint(*server_ids),
        blocking=False,
        only_events=events,
        enable_logging=False,
        pymysql_wrapper=StreamConnections(),
        **where,
    )


def table_of(event: LoggedEvent) -> tuple[str, str] | None:
    """Return the database and name of the table whose rows an event has; None if it has none."""
    found, _ = event
    return (found.schema, found.table) if isinstance(found, RowsEvent) else None


def frames_a_transaction(event: LoggedEvent) -> bool:
    """Whether an event says only where a transaction begins or ends."""
    found, _ = event
    if isinstance(found, QueryEvent):
        return found.query in ("BEGIN", "COMMIT")
    return isinstance(found, GtidEvent | MariadbGtidEvent | XidEvent)


def transaction_of(event: GtidEvent | MariadbGtidEvent) -> tuple[str, int]:
    """Return the source and the number of a transaction."""
    if isinstance(event, GtidEvent):
        source, _, number = event.gtid.rpartition(":")
        return source, int(number)
    domain, _, number = event.gtid.split("-")
    return domain, int(number)


def _completed(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """Labels with those that are known in the places of empty ones."""
    return [
        label or (known[place] if place < len(known) else "") for place, label in enumerate(labels)
    ]


def _reached(reader: BinLogStreamReader) -> BinlogPosition:
    return BinlogPosition(int(reader.log_file.rsplit(".", 1)[1]), reader.log_pos)
