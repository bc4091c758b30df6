"""Requests of a running stream that reads a table; Spark stores the offsets as texts."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.planner.protocol.scans import AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStart:
    """Asks for the offset at which a new stream starts."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLatest:
    """Asks where a batch that begins at `start` ends; the batch does not read past `bound`.

    Without `start`, asks only for the newest offset.
    """

    scan: AskedScan
    start: str | None = None
    bound: str | None = None
    is_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStream:
    """Asks for the splits of the batch between two offsets."""

    scan: AskedScan
    start: str
    end: str
    parallelism: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask:
    """Asks for the task that reads the splits of every batch."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLag:
    """Asks how far a stream that has read up to `start` is behind the table."""

    scan: AskedScan
    start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedOffsets:
    """The newest offset of the table, and the end of the batch that was asked about."""

    latest: str
    end: str | None = None
