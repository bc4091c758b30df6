"""The binlog of a database: its files, positions in it, and the changes of a table between two."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants import NONE_SOURCE
from pymysqlreplication.event import MariadbGtidEvent, QueryEvent, RotateEvent, XidEvent
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    RowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

from table_store.catalog.connectors.database_errors import (
    SourceChangesGoneError,
    SourceTableChangedError,
)
from table_store.catalog.connectors.mysql.mysql_connection import Connection, Database

_EVENTS: Final = (
    DeleteRowsEvent,
    MariadbGtidEvent,
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
_STATUS: Final = "SHOW SESSION STATUS LIKE 'binlog_snapshot_%%'"
_COMMENT: Final = re.compile(r"/\*(?!!|M!).*?\*/|(?:--\s|#)[^\n]*", re.DOTALL)
_NAME: Final = re.compile(r"(?:(`(?:[^`]|``)*`|\w+)\s*\.\s*)?(`(?:[^`]|``)*`|\w+)")
_ENDS_ROWS: Final = (["drop", "table"], ["rename", "table"])
_REPLACES: Final = ["create", "or", "replace"]
_CHANGES_ROWS: Final = frozenset(("delete", "insert", "load", "replace", "update", "with"))


@dataclass(frozen=True, slots=True, order=True)
class BinlogPosition:
    """A place in a binlog where a transaction begins.

    Attributes:
        file: the number of its file.
        at: of the byte in it.
    """

    file: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Binlog:
    """A binlog as it is now.

    Attributes:
        server_id: whose it is.
        base: what its files' names begin with.
        digits: how many digits they have at least.
        sizes: of its files in bytes, by number.
        end: the position of all that is committed now.
    """

    server_id: str
    base: str
    digits: int
    sizes: Mapping[int, int]
    end: BinlogPosition

    @classmethod
    def of(cls, connection: Connection) -> Binlog:
        """Look at a database's binlog.

        Its end is that of a consistent read: each transaction before it is committed in the tables,
        too, which the last position of the files does not say, and whoever reads a table afterwards
        sees all of them. Nothing is locked.
        """
        connection.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        status = {name.lower(): value for name, value in connection.texts(_STATUS)}
        connection.rows("COMMIT")
        listed = connection.texts("SHOW BINARY LOGS")
        ((server_id,),) = connection.texts("SELECT @@global.server_id")
        file = status["binlog_snapshot_file"]
        base, digits = file.rsplit(".", 1)
        return cls(
            server_id=server_id,
            base=base,
            digits=len(digits),
            sizes={int(row[0].rsplit(".", 1)[1]): int(row[1]) for row in listed},
            end=BinlogPosition(int(digits), int(status["binlog_snapshot_position"])),
        )

    @property
    def id(self) -> str:
        """What it is known by."""
        return f"{self.server_id}:{self.base}"

    @property
    def begin(self) -> BinlogPosition:
        """Its first position."""
        return BinlogPosition(min(self.sizes, default=self.end.file), 4)

    def has(self, position: BinlogPosition) -> bool:
        """Whether it has what comes behind a position."""
        return position == self.end or position.file in self.sizes

    def bytes_between(self, start: BinlogPosition, end: BinlogPosition) -> int:
        """Return about how many bytes lie between; files that are gone do not count."""
        inner = sum(size for file, size in self.sizes.items() if start.file < file < end.file)
        if start.file == end.file:
            return end.at - start.at
        return max(0, self.sizes.get(start.file, start.at) - start.at) + inner + end.at

    def file_name(self, number: int) -> str:
        """Return the name of a file."""
        return f"{self.base}.{number:0{self.digits}d}"

    def shown(self, position: BinlogPosition) -> str:
        """Return a position for messages."""
        return f"{self.file_name(position.file)}:{position.at}"


@dataclass(frozen=True, slots=True)
class RowImages:
    """Rows as they came or went, of one event.

    Attributes:
        come: of each row, whether it came; else it went.
        values: by column, of each row.
        missing: why a value is NULL, of each row, by column.
        shown: where they are, for messages.
    """

    come: Sequence[bool]
    values: Sequence[Mapping[str, Any]]
    missing: Sequence[Mapping[str, str]]
    shown: str

    def empty_sets(self, name: str) -> list[bool]:
        """Return where a SET has no elements."""
        return [row.get(name) == NONE_SOURCE.EMPTY_SET for row in self.missing]

    def is_whole(self, name: str) -> bool:
        """Whether a column is in each row."""
        return all(
            name in row and why.get(name) != NONE_SOURCE.COLS_BITMAP
            for row, why in zip(self.values, self.missing, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLog:
    """The changes of one table in a binlog.

    Attributes:
        database: whose it is.
        schema_name: the name of the table's database.
        table_name: the table's.
        base: what the names of the log's files begin with.
        digits: see `Binlog`.
        server_ids: the numbers as which it may be read.
        labels: of those of the table's columns that are ENUM or SET, by name.
    """

    database: Database
    schema_name: str
    table_name: str
    base: str
    digits: int
    server_ids: tuple[int, int]
    labels: Mapping[str, tuple[str, ...]]

    def images(self, start: BinlogPosition, end: BinlogPosition) -> Iterator[RowImages]:
        """Yield the rows that came and went from one position to another one, in their order.

        Raises:
            SourceChangesGoneError: the log does not have them any more.
            SourceTableChangedError: the table was emptied or replaced in between, or changed by
                statements that the log has as texts.
        """
        if start >= end:
            return
        reader = BinLogStreamReader(
            connection_settings=self.database.settings(),
            server_id=random.SystemRandom().randint(*self.server_ids),
            log_file=self._name(start.file),
            log_pos=start.at,
            resume_stream=True,
            blocking=False,
            only_events=_EVENTS,
            only_schemas=[self.schema_name],
            only_tables=[self.table_name],
            enable_logging=False,
        )
        try:
            with self.database.named_errors():
                yield from self._of_reader(reader, end)
            if _reached(reader) < end:
                reason = f"the binlog ends at {self._shown(reader)}, and had more before"
                raise SourceTableChangedError(table=self._table, reason=reason)
        except pymysql.OperationalError as error:
            if error.args[0] != _GONE:
                raise
            raise SourceChangesGoneError(
                table=self._table,
                position=f"{self._name(start.file)}:{start.at}",
                reason=f"the binlog begins with other files ({error.args[-1]})",
                remedy=PURGED,
            ) from error
        finally:
            reader.close()

    def _of_reader(self, reader: BinLogStreamReader, end: BinlogPosition) -> Iterator[RowImages]:
        for event in reader:
            if _reached(reader) > end:
                return
            shown = self._shown(reader)
            if isinstance(event, RowsEvent):
                self._complete_labels(event)
            match event:
                case UpdateRowsEvent():
                    # One row after the other: a key that one of them gives up another may take.
                    sides = [(row, side) for row in event.rows for side in ("before", "after")]
                    yield RowImages(
                        [side == "after" for _, side in sides],
                        [row[f"{side}_values"] for row, side in sides],
                        [row[f"{side}_none_sources"] for row, side in sides],
                        shown,
                    )
                case WriteRowsEvent() | DeleteRowsEvent():
                    rows = event.rows
                    yield RowImages(
                        [isinstance(event, WriteRowsEvent)] * len(rows),
                        [row["values"] for row in rows],
                        [row["none_sources"] for row in rows],
                        shown,
                    )
                case QueryEvent():
                    self._check(event, shown)

    def _complete_labels(self, event: RowsEvent) -> None:
        """Give ENUM and SET the labels that the client cannot read: those that are no UTF-8."""
        for column in event.columns:
            known = self.labels.get(column.name, ())
            if column.enum_values and "" in column.enum_values[1:]:
                column.enum_values = _completed(column.enum_values, ("", *known))
            if column.set_values and "" in column.set_values:
                column.set_values = _completed(column.set_values, known)

    def _check(self, event: QueryEvent, shown: str) -> None:
        current = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        done = what_it_does(event.query, current, (self.schema_name, self.table_name))
        if done is not None:
            raise SourceTableChangedError(table=self._table, reason=f"{done} at {shown}")

    def _name(self, file: int) -> str:
        return f"{self.base}.{file:0{self.digits}d}"

    def _shown(self, reader: BinLogStreamReader) -> str:
        return f"{reader.log_file}:{reader.log_pos}"

    @property
    def _table(self) -> str:
        return f"{self.schema_name}.{self.table_name}"


def what_it_does(statement: str, current: str, table: tuple[str, str]) -> str | None:
    """Return what a statement of the log does to a table's rows without saying to which.

    None if it does nothing to them. A text in a statement that changes rows may be taken for the
    table's name.

    Args:
        statement: its text.
        current: the database for names without one.
        table: the names of its database and of itself.
    """
    found = [
        tuple((part or "").strip("`").replace("``", "`").lower() for part in match.groups())
        for match in _NAME.finditer(_COMMENT.sub(" ", statement))
    ]
    words = [name for _, name in found]
    schema, name = (part.lower() for part in table)
    if words[:2] in (["drop", "database"], ["drop", "schema"]):
        return f"{table[0]} was dropped" if schema in words[2:] else None
    if not any((of or current.lower(), word) == (schema, name) for of, word in found[1:]):
        return None
    if words[0] in _CHANGES_ROWS:
        return "it was changed by a statement that the binlog has as text, not as rows,"
    ends = words[:2] in _ENDS_ROWS or words[0] == "truncate" or words[:3] == _REPLACES
    ends |= words[:2] == ["alter", "table"] and any(map(_ends_rows, pairwise(words[2:])))
    return f"{words[0].upper()} has emptied or replaced it" if ends else None


def _ends_rows(part: tuple[str, str]) -> bool:
    """Whether two words of an ALTER TABLE take rows away, or another name."""
    word, following = part
    if word == "rename":
        return following not in ("column", "index", "key")
    return following == "partition" and word in ("drop", "exchange", "truncate")


def _completed(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """Labels with those that are known in the places of empty ones."""
    return [
        label or (known[place] if place < len(known) else "") for place, label in enumerate(labels)
    ]


def _reached(reader: BinLogStreamReader) -> BinlogPosition:
    return BinlogPosition(int(reader.log_file.rsplit(".", 1)[1]), reader.log_pos)
