"""Requests that change rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.protocol.stream_writes import StreamBatch


class WriteMode(Enum):
    """What becomes of the rows that are there."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_DYNAMIC = "overwrite dynamic"
    DELTA = "delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement that writes the rows of a query, which comes beside it.

    Attributes:
        table: the target.
        mode: DELTA where a row of the query says what happens to a row of the table.
        predicates: of the rows that an OVERWRITE replaces; none for all rows.
        options: those of this write.
        command: UPDATE, DELETE or MERGE; None for an INSERT.
        row: of a DELTA, where the query has the table's columns; None for a DELETE.
        row_id: of a DELTA, where the query has what tells a row of the table.
        upserts: whether a MERGE can be tried without reading its target.
        stream: the micro-batch that the rows are.
    """

    table: TableReference
    mode: WriteMode
    predicates: tuple[SparkExpression, ...] = ()
    options: Mapping[str, str]
    command: str | None = None
    row: tuple[int, ...] | None = None
    row_id: tuple[int, ...] = ()
    upserts: bool = False
    stream: StreamBatch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanDeleteWhere:
    """Whether a DELETE can be done by dropping whole partitions."""

    table: TableReference
    predicates: tuple[SparkExpression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWhere:
    """Drop the partitions that a DELETE or TRUNCATE names."""

    table: TableReference
    predicates: tuple[SparkExpression, ...]
