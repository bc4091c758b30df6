"""Connections to a database, with errors that say what is the matter."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from table_store.catalog.connectors.database_errors import (
    SourceRefusedError,
    SourceUnavailableError,
)
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.secret_reference import resolved
from table_store.storage.options.database_options import PASSWORD

_CONNECT_S: Final = 5
_SILENCE_MS: Final = 60_000
_PIECE_ROWS: Final = 1 << 16
_PIECE_BYTES: Final = 1 << 23
_RIGHTS: Final = "LOGIN, REPLICATION, and SELECT on the table"
_REFUSED: Final = ("28", "42501")
_UNAVAILABLE: Final = ("08", "57P", "53300", "58")
_NOT_YET: Final = (
    "starting up",
    "shutting down",
    "in recovery",
    "too many",
    "remaining connection",
)
# The same texts of values, whatever the server is set to.
_SETTINGS: Final = (
    "SET timezone = 'UTC'; SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; "
    "SET extra_float_digits = 1; SET bytea_output = 'hex'; SET lc_monetary = 'C'"
)

Row = tuple[Any, ...]
StatementError = psycopg.Error
"""What the database says of a statement; `sqlstate` tells what is the matter."""


@dataclass(frozen=True, slots=True)
class Database:
    """How a database is reached.

    Attributes:
        host: its server's name or address.
        port: of it.
        name: the database's.
        user: who reads.
        password: the user's, or what names it.
    """

    host: str
    port: int
    name: str
    user: str
    password: str = field(repr=False)

    @property
    def server(self) -> str:
        """The address for messages."""
        return f"{self.host}:{self.port}"

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Lend a connection whose texts are in UTF-8 and times in UTC; it is closed afterwards.

        Each statement is a transaction of its own, outside of `Connection.transaction`.

        Raises:
            SourceUnavailableError: the database does not answer.
            SourceRefusedError: it lets the user not in, or not do what is done with it.
        """
        with self.named_errors():
            held = psycopg.connect(
                host=self.host,
                port=self.port,
                dbname=self.name,
                user=self.user,
                password=resolved(PASSWORD.key, self.password) if self.password else "",
                autocommit=True,
                connect_timeout=_CONNECT_S,
                tcp_user_timeout=_SILENCE_MS,
                keepalives_idle=_SILENCE_MS // 2000,
                client_encoding="UTF8",
                application_name="table-store",
            )
            try:
                connection = Connection(held)
                connection.rows(_SETTINGS)
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
        except psycopg.Error as error:
            named = self._named(error)
            if named is None:
                raise
            raise named from error

    def refused(self, reason: str) -> SourceRefusedError:
        """Return what to raise where the user may not do what is needed."""
        return SourceRefusedError(server=self.server, user=self.user, reason=reason, rights=_RIGHTS)

    def _named(self, error: psycopg.Error) -> TableStoreError | None:
        state, reason = error.sqlstate, said(error)
        if state is None:
            # Before a session begins the client tells no SQLSTATE.
            is_answer = "FATAL:" in str(error)
            if not isinstance(error, psycopg.OperationalError):
                return None
            if is_answer and not any(text in str(error) for text in _NOT_YET):
                return self.refused(reason)
            return SourceUnavailableError(server=self.server, reason=reason)
        if state.startswith(_REFUSED):
            return self.refused(reason)
        if state.startswith(_UNAVAILABLE):
            return SourceUnavailableError(server=self.server, reason=reason)
        return None


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a database."""

    held: psycopg.Connection[Row]

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a statement, in which `%s` stands for a value if there are some."""
        found = self.held.execute(statement.encode(), tuple(values) or None)
        return found.fetchall() if found.description else []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what is inside as one transaction."""
        with self.held.transaction():
            yield

    def copied(self, statement: str, how: str) -> Iterator[list[memoryview]]:
        """Yield rows of a SELECT without places for values, as COPY writes them, many at a time.

        The client's own reading of rows takes several times as long as this.
        """
        held = self.held.pgconn
        answer = held.exec_(f"COPY ({statement}) TO STDOUT (FORMAT {how})".encode())
        self._check(answer, ExecStatus.COPY_OUT)
        rows: list[memoryview] = []
        size, is_whole = 0, False
        try:
            while not is_whole:
                count, row = held.get_copy_data(1)
                if count > 0:
                    rows.append(row)
                    size += count
                elif count == 0:
                    select.select([held.socket], [], [])
                    held.consume_input()
                is_whole = count < 0
                if rows and (is_whole or len(rows) >= _PIECE_ROWS or size >= _PIECE_BYTES):
                    yield rows
                    rows, size = [], 0
        finally:
            if not is_whole:
                held.finish()  # whoever wants no more rows also wants no more of the connection
        while (ended := held.get_result()) is not None:
            self._check(ended, ExecStatus.COMMAND_OK)

    def _check(self, answer: PGresult | None, wanted: ExecStatus) -> None:
        if answer is None:
            raise psycopg.OperationalError(self.held.pgconn.get_error_message())
        if answer.status != wanted:
            raise psycopg.errors.error_from_result(answer, encoding="utf-8")


def said(error: psycopg.Error) -> str:
    """Return what the database says, in one line."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(text.split())


def quoted_name(name: str) -> str:
    """Return a name as the database's SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as the database's SQL has it."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
