"""Requests of a running stream that reads a table; offsets are texts that Spark keeps."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.planner.protocol.scans import AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStart:
    """The offset before the first batch of a new stream."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLatest:
    """Where a batch that begins at `start` ends; `bound` is an offset that it does not pass.

    Without `start` only the newest offset is asked for.
    """

    scan: AskedScan
    start: str | None = None
    bound: str | None = None
    is_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStream:
    """Which splits the batch between two offsets has."""

    scan: AskedScan
    start: str
    end: str
    parallelism: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask:
    """What reads the splits of every batch."""

    scan: AskedScan


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLag:
    """How far a stream that has read up to `start` is behind the table."""

    scan: AskedScan
    start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedOffsets:
    """The newest offset there is, and the end of the batch that was asked about."""

    latest: str
    end: str | None = None
