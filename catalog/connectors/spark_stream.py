"""`'connector' = 'spark'` in jobs: a stream that Spark reads by itself, between offsets of its own.

An offset is a text that only its source understands. So a position counts the offsets that were
seen, each of which has more rows than the one before, and keeps their texts as cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.asked_cuts import asked_cuts
from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import (
    CUTS_MAX,
    Cut,
    Position,
    PositionStore,
    TopicCuts,
)
from table_store.catalog.connectors.positions.source_read import AskedRows
from table_store.catalog.connectors.positions.stream_range import StreamRange
from table_store.catalog.connectors.spark_source import SparkSource
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.secrets import is_secret

STREAM_FOLDER: Final = "stream"
"""The folder in a table's directory in which a stream of Spark's keeps what it calls checkpoint."""


class UnreadableStreamError(TableStoreError):
    """Spark does not say how far a stream is."""

    condition = "TABLE_STORE_STREAM_NOT_READABLE"
    sql_state = "58030"

    def __init__(self, *, table: str, stream_format: str, reason: str) -> None:
        self.table = table
        self.format = stream_format
        self.reason = reason
        super().__init__(
            f"A job cannot follow {table} by the format {stream_format!r}: {reason}. See to the "
            "options of the table and to what is there. Formats of files are followed by the "
            "connector 'filesystem'; what Spark reads in batch queries alone comes into a managed "
            "table by batch INSERTs."
        )


def is_stream(schema: TableSchema) -> bool:
    """Return whether jobs follow what Spark itself reads for a table."""
    return connector_of(schema) == "spark"


@dataclass(frozen=True, slots=True)
class SparkStreamSource:
    """The rows of a table whose definition names a stream of Spark's."""

    name: str
    source: SparkSource
    path: str
    created_ms: int

    @classmethod
    def of(cls, table: FileStoreTable, schema: TableSchema) -> SparkStreamSource:
        """Return those of the table in a directory."""
        first = schema if schema.id == 0 else table.schema_store.get(0)
        name = table.path.rstrip("/").rpartition("/")[2]
        return cls(name, SparkSource.of(schema), table.path, first.time_ms)

    @property
    def bound(self) -> str:
        """Nothing ends a stream of Spark's: its rows are read by jobs alone."""
        return "format"

    def rows_max(self, last: Position | None) -> None:
        """Return None: a stream has no end."""
        del last

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position with the rows that are there now; None if it is still the last one.

        Raises:
            UnreadableStreamError: Spark cannot tell.
        """
        del pause_ms
        if last is not None and last.at_ms == now_ms:
            return None  # a limit of the stream's counts for a barrier, which is looked at twice
        known = None if last is None else last.topic
        start, end = self._looked(known, moment)
        if end is None or end == (start if known is None else known.cuts[-1].mark):
            if known is not None:
                return None
            cut = Cut(0, (), start)
        else:
            cut = Cut(1 if last is None else last.rows + 1, (), end)
        if known is None:
            topic = TopicCuts(id=self.source.format, start=(), mark=start, cuts=(cut,))
        else:
            cuts = (*known.cuts, cut)[-CUTS_MAX:]
            topic = TopicCuts(id=known.id, start=(), mark=known.mark, cuts=cuts)
        return Position(rows=cut.rows, at_ms=now_ms, topic=topic)

    def plan(self, asked: AskedRows, positions: PositionStore) -> None:
        """Return None: Spark reads the rows of a stream, as `between` says."""
        del asked, positions

    def between(self, asked: AskedRows, positions: PositionStore) -> StreamRange:
        """Return the range of the stream that a job reads at a barrier.

        Raises:
            SourcePositionLostError: the position from which, or up to which, is not known.
        """
        _, begin, end = asked_cuts(asked, positions)
        return self._stream(start=begin.mark, end=end.mark)

    def release(self, rows: int, positions: PositionStore, moment: Moment) -> None:
        """Let the stream forget the rows of a position that all jobs have committed.

        Raises:
            UnreadableStreamError: it cannot be told.
        """
        cut = positions.cut(rows) if rows else None
        if cut is None or moment.spark is None:
            return
        try:
            moment.spark.commit(self._stream(end=cut.mark))
        except ValueError as error:
            raise self._unreadable(str(error)) from None

    def _looked(self, known: TopicCuts | None, moment: Moment) -> tuple[str, str | None]:
        assert moment.spark is not None, "who looks at sources of jobs has a session of Spark"
        try:
            if known is None:
                return moment.spark.look(self._stream())
            return moment.spark.look(self._stream(start=known.mark, end=known.cuts[-1].mark))
        except ValueError as error:
            raise self._unreadable(str(error)) from None

    def _stream(self, *, start: str | None = None, end: str | None = None) -> StreamRange:
        source = self.source.with_secrets()
        return StreamRange(
            identity=f"{self.path} {self.created_ms}",
            format=source.format,
            options=source.options,
            secret=tuple(key for key, value in source.options.items() if is_secret(key, value)),
            checkpoint=join_path(self.path, STREAM_FOLDER),
            start=start,
            end=end,
        )

    def _unreadable(self, reason: str) -> UnreadableStreamError:
        return UnreadableStreamError(
            table=self.name, stream_format=self.source.format, reason=reason
        )
