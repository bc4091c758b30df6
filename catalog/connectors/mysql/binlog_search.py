"""The place in a binlog at a position or a time, with the transactions before it.

A binlog says neither without being read: the file by a look at the beginnings of a few, then the
transactions of this one file, whose rows nobody decodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pymysqlreplication.event import (
    FormatDescriptionEvent,
    GtidEvent,
    MariadbGtidEvent,
)

from table_store.catalog.connectors.mysql.gtid_set import GtidSet
from table_store.catalog.connectors.mysql.mysql_binlog import (
    NOWHERE,
    Binlog,
    BinlogPlace,
    BinlogPosition,
    gtids_at,
)
from table_store.catalog.connectors.mysql.mysql_connection import Connection, Database
from table_store.catalog.connectors.mysql.mysql_log import binlog_stream, transaction_of

_EVENTS: Final = (GtidEvent, MariadbGtidEvent)
_HEAD: Final = "SHOW BINLOG EVENTS IN %s LIMIT 3"
_PREVIOUS: Final = "Previous_gtids"
_MS_EACH: Final = 1_000


@dataclass(frozen=True, slots=True)
class BinlogSearch:
    """Looks for places in the binlog of a database.

    Attributes:
        database: whose it is.
        connection: to it.
        log: as it is now.
        server_ids: the numbers as which it may be read.
    """

    database: Database
    connection: Connection
    log: Binlog
    server_ids: tuple[int, int]

    def at(self, position: BinlogPosition) -> BinlogPlace:
        """Return the place of a position, at which a transaction begins. Costs a read of its file.

        Raises:
            SourceUnavailableError, SourceRefusedError: the database does not answer, or refuses.
        """
        if self.log.is_mariadb:
            return self._place(position, None)
        found = self._first(position.file, lambda start, _: start >= position.at)
        before = found[1] if found is not None else self.log.gtids
        return self._place(position, before)

    def since(self, time_ms: int) -> BinlogPlace:
        """Return the place of the first transaction that began at a time or later.

        The binlog has times in seconds: those of the whole second count as later. Costs a look at
        the beginnings of some files, and a read of one. Fails as `at`.
        """
        files = sorted(self.log.sizes)
        second = time_ms // _MS_EACH
        which = max(0, bisect_left(files, second, key=self._begun) - 1)
        for file in files[which:]:
            found = self._first(file, lambda _, seconds: seconds >= second)
            if found is not None:
                position, gtids = found
                return self._place(position, None if self.log.is_mariadb else gtids)
        return self.log.end_place(None)

    def _place(self, position: BinlogPosition, gtids: GtidSet | None) -> BinlogPlace:
        if gtids is None:
            file = self.log.file_name(position.file)
            gtids = GtidSet.of_text(gtids_at(self.connection, file, position.at))
        return BinlogPlace(log_id=self.log.id, position=position, low=NOWHERE, gtids=gtids)

    def _begun(self, file: int) -> int:
        """When a file was begun, in seconds."""
        with self.database.named_errors():
            for event in self._events(file, FormatDescriptionEvent):
                return int(event.timestamp)
        return 0

    def _first(
        self, file: int, is_wanted: Callable[[int, int], bool]
    ) -> tuple[BinlogPosition, GtidSet] | None:
        """Return where the first wanted transaction begins, and in MySQL those before it.

        Args:
            file: in which it is looked for.
            is_wanted: takes where a transaction begins, and its time in seconds.
        """
        before = self._before(file)
        seen: list[tuple[str, int]] = []
        with self.database.named_errors():
            for event in self._events(file, *_EVENTS):
                start = event.packet.log_pos - event.packet.event_size
                if is_wanted(start, int(event.timestamp)):
                    return BinlogPosition(file, start), before.with_transactions(seen)
                if isinstance(event, GtidEvent):
                    seen.append(transaction_of(event))
        return None

    def _before(self, file: int) -> GtidSet:
        """Return MySQL's transactions of all files before one, as this says at its beginning."""
        if self.log.is_mariadb:
            return GtidSet.of_text("")
        head = self.connection.texts(_HEAD, (self.log.file_name(file),))
        (found,) = [row[-1] for row in head if row[2] == _PREVIOUS]
        return GtidSet.of_text(found)

    def _events(self, file: int, *kinds: type) -> Iterator[Any]:
        """Yield the events of some kinds in one file."""
        where = {"log_file": self.log.file_name(file), "log_pos": 4, "resume_stream": True}
        reader = binlog_stream(self.database, self.server_ids, kinds, **where)
        try:
            for event in reader:
                if reader.log_file != self.log.file_name(file):
                    return
                yield event
        finally:
            reader.close()
