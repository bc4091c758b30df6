"""Requests that change rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.protocol.stream_writes import StreamBatch


class WriteMode(Enum):
    """What a write does to the rows that the table already has."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_DYNAMIC = "overwrite dynamic"
    DELTA = "delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement that writes the rows of a query; the query is sent beside this request.

    Attributes:
        table: the target.
        mode: in DELTA each row of the query tells how to change one row of the table.
        predicates: conditions on the rows that an OVERWRITE replaces; none for all rows.
        options: the options of this write.
        command: UPDATE, DELETE or MERGE; None for an INSERT.
        row: for DELTA, positions of the table's columns in the query; None for a DELETE.
        row_id: for DELTA, positions of the columns that identify a row of the table.
        upserts: whether a MERGE can be tried without reading its target.
        absent_keys: whether no row of the target has a key that a MERGE inserts, as its ON
            condition says.
        stream: the micro-batch whose rows are written; None for a statement.
        on_newest: whether the write follows the newest snapshot, and not that of the handle, which
            an earlier part of the same statement has overtaken.
    """

    table: TableReference
    mode: WriteMode
    predicates: tuple[SparkExpression, ...] = ()
    options: Mapping[str, str]
    command: str | None = None
    row: tuple[int, ...] | None = None
    row_id: tuple[int, ...] = ()
    upserts: bool = False
    absent_keys: bool = False
    stream: StreamBatch | None = None
    on_newest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """What a statement has written, for Spark's UI; times are in nanoseconds.

    Attributes:
        rows: of the new files; a row that deletes another one is one of them.
        deletes: how many of these delete.
        files: how many new files there are.
        size_bytes: of these files.
        spilled_bytes: rows that writers moved to temporary files, in Arrow's memory.
        sort_ns: time in which writers sorted rows, of all that ran side by side.
        encode_ns: time in which they encoded and wrote files.
        commit_ns: time of the commit.
        compact_ns: time of the compaction that followed.
    """

    rows: int = 0
    deletes: int = 0
    files: int = 0
    size_bytes: int = 0
    spilled_bytes: int = 0
    sort_ns: int = 0
    encode_ns: int = 0
    commit_ns: int = 0
    compact_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CanAwaitRows:
    """Asks whether a TRUNCATE may wait for the rows that come next, and be one change with them."""

    table: TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceRows:
    """Let a table have exactly the rows of a query, which is sent beside this request."""

    table: TableReference
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanDeleteWhere:
    """Asks whether a DELETE can be done by dropping whole partitions."""

    table: TableReference
    predicates: tuple[SparkExpression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWhere:
    """Drop the partitions that a DELETE or TRUNCATE names."""

    table: TableReference
    predicates: tuple[SparkExpression, ...]
