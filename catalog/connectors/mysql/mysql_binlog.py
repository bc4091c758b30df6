"""The binlog of a database as it is now: its files, places in it, and its transactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.database_errors import SourceServerError
from table_store.catalog.connectors.mysql.gtid_set import GtidSet
from table_store.catalog.connectors.mysql.mysql_connection import Connection

_SNAPSHOT: Final = "SHOW SESSION STATUS LIKE 'binlog_snapshot_%%'"
_NEW_STATUS: Final = (8, 2)
"""From this version on, MySQL has another name for the statement that shows the binlog's end."""


@dataclass(frozen=True, slots=True, order=True)
class BinlogPosition:
    """A place in a binlog where a transaction begins.

    Attributes:
        file: the number of its file.
        at: of the byte in it.
    """

    file: int
    at: int


NOWHERE: Final = BinlogPosition(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinlogPlace:
    """Up to where a binlog is read: on its server a position, on each one a set of transactions.

    In MariaDB the transactions are those before the position. In MySQL they are those that were
    committed in the tables when the binlog reached the position; some before it may have been on
    their way, and belong to a later place.

    Attributes:
        log_id: of the binlog that has the position.
        position: in it.
        low: of MySQL, where reading may begin: transactions of a later place hardly ever stand
            before it. File 0: it is not known.
        gtids: the transactions; None: they are not known.
    """

    log_id: str
    position: BinlogPosition
    low: BinlogPosition
    gtids: GtidSet | None

    @property
    def offsets(self) -> tuple[int, ...]:
        """What a cut keeps of the positions."""
        return self.position.file, self.position.at, self.low.file, self.low.at

    @property
    def mark(self) -> str:
        """What a cut keeps of the rest: the transactions, and the binlog behind a space."""
        return f"{'' if self.gtids is None else self.gtids.text or '-'} {self.log_id}"

    @classmethod
    def of(cls, offsets: tuple[int, ...], mark: str) -> BinlogPlace:
        """Return the place that a cut keeps."""
        file, at, low_file, low_at = (*offsets, 0, 0)[:4]  # older releases kept the first two
        gtids, _, log_id = mark.partition(" ")
        return cls(
            log_id=log_id,
            position=BinlogPosition(file, at),
            low=BinlogPosition(low_file, low_at),
            gtids=GtidSet.of_text(gtids.strip("-")) if gtids else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Binlog:
    """A binlog as it is now.

    Attributes:
        id: what it is known by: its server and the name of its files.
        is_mariadb: whether it is of MariaDB, not of MySQL.
        base: what its files' names begin with.
        digits: how many digits they have at least.
        sizes: of its files in bytes, by number.
        end: the position of all that is committed now.
        gtids: the transactions that are committed now.
        purged: of MySQL, the transactions that are no longer in the files.
    """

    id: str
    is_mariadb: bool
    base: str
    digits: int
    sizes: Mapping[int, int]
    end: BinlogPosition
    gtids: GtidSet
    purged: GtidSet

    @classmethod
    def of(cls, connection: Connection, server: str) -> Binlog:
        """Look at the binlog of a database, which has a name for messages; nothing is locked.

        Whoever reads a table afterwards sees all transactions of MariaDB that are before the end,
        and those of MySQL that are in the set, which neither database says of the position at
        which its files end: a transaction is in a file before it is in the tables.

        Raises:
            SourceServerError: it names transactions in a way that is not known.
        """
        ((version,),) = connection.texts("SELECT version()")
        is_mariadb = "mariadb" in version.lower()
        file, at, gtids, purged = _of_mariadb(connection) if is_mariadb else _of_mysql(connection)
        listed = connection.texts("SHOW BINARY LOGS")
        name = "server_id" if is_mariadb else "server_uuid"
        ((server_id,),) = connection.texts(f"SELECT @@global.{name}")
        base, digits = file.rsplit(".", 1)
        try:
            sets = GtidSet.of_text(gtids), GtidSet.of_text(purged)
        except ValueError as error:
            raise SourceServerError(
                server=server,
                reason=str(error),
                remedy="Transactions with a tag are not read",
            ) from error
        return cls(
            id=f"{server_id}:{base}",
            is_mariadb=is_mariadb,
            base=base,
            digits=len(digits),
            sizes={int(row[0].rsplit(".", 1)[1]): int(row[1]) for row in listed},
            end=BinlogPosition(int(digits), at),
            gtids=sets[0],
            purged=sets[1],
        )

    @property
    def begin(self) -> BinlogPosition:
        """Its first position."""
        return BinlogPosition(min(self.sizes, default=self.end.file), 4)

    def begin_place(self) -> BinlogPlace:
        """Return the place before all that it has."""
        # MariaDB does not tell which transactions came before.
        gtids = None if self.is_mariadb else self.purged
        return BinlogPlace(log_id=self.id, position=self.begin, low=NOWHERE, gtids=gtids)

    def end_place(self, last: BinlogPlace | None) -> BinlogPlace:
        """Return the place up to which it can be read now.

        Args:
            last: the place of the look before; None at the first one.
        """
        is_same = last is not None and last.log_id == self.id
        low = last.position if last is not None and is_same else NOWHERE
        return BinlogPlace(log_id=self.id, position=self.end, low=low, gtids=self.gtids)

    def is_at(self, place: BinlogPlace) -> bool:
        """Whether nothing has come behind a place."""
        if place.gtids is None or (self.is_mariadb and place.log_id == self.id):
            return self.end == place.position
        return self.gtids == place.gtids

    def lacks(self, place: BinlogPlace) -> str | None:
        """Return what it does not have of all that is before a place; None if it has all."""
        if place.gtids is None or (self.is_mariadb and place.log_id == self.id):
            if place.log_id != self.id:
                was, now = place.log_id.split(":", 1), self.id.split(":", 1)
                return (
                    f"the database's server is now {now[0]} and its binlog {now[1]!r}, and they "
                    f"were {was[0]} and {was[1]!r}"
                )
            if self.end < place.position:
                shown = self.shown(place.position)
                return f"the binlog ends at {self.shown(self.end)}, and had reached {shown} before"
        # A binlog that was begun anew, or that of a restored server, may be as long again.
        missing = None if place.gtids is None else place.gtids - self.gtids
        if missing:
            return f"the database does not have the transactions {missing}, which were read before"
        return None

    def has_after(self, place: BinlogPlace) -> bool:
        """Whether it has what comes behind a place; a true one may yet turn out false."""
        if not self.is_mariadb and place.gtids is not None:
            return not self.purged - place.gtids
        if place.log_id != self.id:  # by transactions: the database says so when it is read
            return True
        return place.position == self.end or place.position.file in self.sizes

    def bytes_between(self, start: BinlogPlace, end: BinlogPlace) -> int:
        """Return about how many bytes lie between; files that are gone do not count.

        Of places in another server's binlog nobody knows: all bytes that are there.
        """
        if start.log_id != end.log_id or end.log_id != self.id:
            return sum(self.sizes.values())
        first, last = start.position, end.position
        inner = sum(size for file, size in self.sizes.items() if first.file < file < last.file)
        if first.file == last.file:
            return last.at - first.at
        return max(0, self.sizes.get(first.file, first.at) - first.at) + inner + last.at

    def file_name(self, number: int) -> str:
        """Return the name of a file."""
        return f"{self.base}.{number:0{self.digits}d}"

    def shown(self, position: BinlogPosition) -> str:
        """Return a position for messages."""
        return f"{self.file_name(position.file)}:{position.at}"

    def shown_place(self, place: BinlogPlace) -> str:
        """Return a place for messages."""
        if place.log_id == self.id and (self.is_mariadb or place.gtids is None):
            return self.shown(place.position)
        return f"behind the transactions {place.gtids}"


def gtids_at(connection: Connection, file: str, at: int) -> str:
    """Return what MariaDB says of the transactions before a position."""
    ((found,),) = connection.texts("SELECT binlog_gtid_pos(%s, %s)", (file, at))
    return found


def _of_mariadb(connection: Connection) -> tuple[str, int, str, str]:
    connection.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    status = {name.lower(): value for name, value in connection.texts(_SNAPSHOT)}
    connection.rows("COMMIT")
    file, at = status["binlog_snapshot_file"], status["binlog_snapshot_position"]
    return file, int(at), gtids_at(connection, file, int(at)), ""


def _of_mysql(connection: Connection) -> tuple[str, int, str, str]:
    ((version,),) = connection.texts("SELECT version()")
    is_new = tuple(map(int, version.split("-")[0].split(".")[:2])) >= _NEW_STATUS
    ((file, at, *_),) = connection.texts(f"SHOW {'BINARY LOG' if is_new else 'MASTER'} STATUS")
    # After the position, so that hardly anything before it is missing in the set.
    ((gtids, purged),) = connection.texts("SELECT @@global.gtid_executed, @@global.gtid_purged")
    return file, int(at), gtids, purged
