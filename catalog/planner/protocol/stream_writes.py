"""Requests of a streaming query that writes a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.planner.protocol.handles import TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningQuery:
    """A streaming query: its id, the id of its run, and the ids of all queries that run now."""

    query: str
    run: str
    running: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBatch:
    """A micro-batch; `offsets` are entries of the checkpoint's offset log, by batch number."""

    query: RunningQuery
    batch: int
    offsets: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartStreamWrite:
    """A query is about to start.

    Attributes:
        table: the table that the query writes.
        query: the query's id; None if its checkpoint has none yet.
        last_offset: number of the newest batch in the checkpoint's offset log; -1 for none.
        running: ids of the queries that run now.
        output_mode: Append, Update or Complete.
    """

    table: TableReference
    query: str | None = None
    last_offset: int
    running: tuple[str, ...]
    output_mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginStreamBatch:
    """A micro-batch is about to be written."""

    table: TableReference
    stream: StreamBatch
    options: Mapping[str, str]
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewStreamWrite:
    """A query still runs, though it may have nothing to write."""

    table: TableReference
    query: RunningQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class EndStreamWrite:
    """A query has ended."""

    table: TableReference
    query: RunningQuery
