"""Connections to a database, with errors that say what is the matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql
from pymysql.constants import CR
from pymysql.cursors import Cursor, SSCursor

from table_store.catalog.connectors.database_errors import (
    SourceRefusedError,
    SourceUnavailableError,
)
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.secret_reference import resolved
from table_store.storage.options.database_options import PASSWORD

_CONNECT_S: Final = 5
_SILENCE_S: Final = 60
_REFUSED: Final = frozenset((1044, 1045, 1130, 1142, 1143, 1227, 1251, 1370, 1698, 1820, 1862))
_UNAVAILABLE: Final = frozenset(
    (1040, 1053, 1077, 1152, 1153, 1158, 1159, 1160, 1161, 1184, 1203, 1927, 3169)
)
_RIGHTS: Final = (
    "SELECT on the table, and REPLICATION SLAVE and BINLOG MONITOR (of MySQL: REPLICATION CLIENT) "
    "on *.*"
)
_SESSION: Final = (
    "SET time_zone = '+00:00', sql_mode = '' "
    # What MySQL says of a table would be a day old; MariaDB takes this for a comment.
    "/*!80000 , information_schema_stats_expiry = 0 */"
)
_PAGE_BYTES: Final = 32 << 20
_CLIENT_ERRORS: Final = range(2000, 3000)

Row = tuple[Any, ...]
StatementError = pymysql.MySQLError
"""What the database says of a statement: its number and a text."""


@dataclass(frozen=True, slots=True)
class Database:
    """How a database is reached.

    Attributes:
        host: its name or address.
        port: of it.
        user: who reads.
        password: the user's, or what names it.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)

    @property
    def name(self) -> str:
        """The address for messages."""
        return f"{self.host}:{self.port}"

    def settings(self) -> dict[str, Any]:
        """Return what the client needs to connect.

        Raises:
            InvalidOptionError: nothing has the password that is named.
        """
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": resolved(PASSWORD.key, self.password) if self.password else "",
            "charset": "utf8mb4",
            "connect_timeout": _CONNECT_S,
            "read_timeout": _SILENCE_S,
            "write_timeout": _SILENCE_S,
        }

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Lend a connection whose time zone is UTC; it is closed afterwards.

        Raises:
            SourceUnavailableError: the database does not answer.
            SourceRefusedError: it lets the user not in, or not do what is done with it.
        """
        with self.named_errors():
            held = pymysql.connect(**self.settings(), autocommit=True, use_unicode=False)
            held.decoders = {}
            try:
                connection = Connection(held)
                connection.rows(_SESSION)
                yield connection
            finally:
                held.close()

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Give the client's errors the names of ours, as far as they are of the connection."""
        try:
            yield
        except (TableStoreError, GeneratorExit):
            raise
        except (pymysql.Error, OSError) as error:
            named = self._named(error)
            if named is None:
                raise
            raise named from error

    def _named(self, error: pymysql.Error | OSError) -> TableStoreError | None:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        reason = str(error.args[-1]) if error.args else type(error).__name__
        if isinstance(error, pymysql.Error) and number in _REFUSED:
            return SourceRefusedError(
                server=self.name, user=self.user, reason=reason, rights=_RIGHTS
            )
        is_lost = isinstance(error, OSError | pymysql.InterfaceError) or number in _CLIENT_ERRORS
        if is_lost or number in _UNAVAILABLE:
            return SourceUnavailableError(server=self.name, reason=reason)
        return None


@dataclass(slots=True)
class StreamConnections:
    """Makes the two connections of a binlog's client, and no others.

    It would connect anew when one is lost, and then begin a stream of transactions from its start.

    Attributes:
        left: how many it may still make.
    """

    left: int = 2

    def __call__(self, **settings: Any) -> Any:
        """Return a connection.

        Raises:
            pymysql.OperationalError: one is lost, or there is none.
        """
        if not self.left:
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "the connection was lost")
        self.left -= 1
        return pymysql.connect(**settings)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection that gives values as the bytes of their texts."""

    held: Any

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a statement, in which `%s` stands for a value and `%%` for `%`."""
        with self.held.cursor(Cursor) as cursor:
            cursor.execute(statement, tuple(values))
            return list(cursor.fetchall())

    def texts(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[str, ...]]:
        """Return the same as texts; NULL is the empty one."""
        found = self.rows(statement, values)
        return [tuple("" if v is None else v.decode() for v in row) for row in found]

    def pages(
        self, statement: str, values: Sequence[Any], rows: int, large: Sequence[int] = ()
    ) -> Iterator[Sequence[Row]]:
        """Yield the rows of one statement, so many at a time, as the database sends them.

        The connection is of no use afterwards: what has not been read of it stays there.

        Args:
            statement: as in `rows`.
            values: in its places.
            rows: how many come together at most.
            large: places of columns whose values may be large; fewer rows come together then.
        """
        with self.held.cursor(SSCursor) as cursor:
            cursor.execute(statement, tuple(values))
            try:
                while found := cursor.fetchmany(1 if large else rows):
                    if large:
                        found = _filled(cursor, found, rows, large)
                    yield found
            finally:  # else the client reads the rest, also of a connection that is lost
                cursor._result.unbuffered_active = False


def _filled(cursor: Any, page: list[Row], rows: int, large: Sequence[int]) -> list[Row]:
    """A page with more rows, until it is large enough."""
    size = 0
    while True:
        size += sum(len(page[-1][at] or b"") for at in large)
        if len(page) >= rows or size >= _PAGE_BYTES:
            return page
        following = cursor.fetchone()
        if following is None:
            return page
        page.append(following)
