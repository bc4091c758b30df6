"""Requests of a stream that reads a table: its start, its newest offset, its batches' splits."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.python_tasks import PythonTask
from table_store.catalog.planner.protocol.scans import WorkerSplit
from table_store.catalog.planner.protocol.streams import (
    PlanStream,
    ReachedOffsets,
    StreamLag,
    StreamLatest,
    StreamStart,
    StreamTask,
)
from table_store.catalog.planner.read.change_plan import change_task, payloads
from table_store.catalog.planner.stream.stream_lag import lag_of
from table_store.catalog.planner.stream.stream_limits import ReadLimits
from table_store.catalog.planner.stream.stream_offset import StreamOffset
from table_store.catalog.planner.stream.stream_source import StreamSource
from table_store.storage.file_store.model.errors import SnapshotNotFoundError


def stream_start(session: PlannerSession, request: StreamStart) -> str:
    """The offset before the first batch of a new stream; the bridge stores it."""
    source = StreamSource.of(session, request.scan)
    begins = source.start()
    return source.offset(begins or 0, is_before_all=begins is None).to_text()


def stream_latest(session: PlannerSession, request: StreamLatest) -> ReachedOffsets:
    """The newest offset of the table, and the offset at which a batch from `start` is to end.

    The end is `start` if nothing is new. The batch does not read past the offset `bound`.

    Raises:
        StreamSourceChangedError: the table is another one.
    """
    source = StreamSource.of(session, request.scan)
    source.check_name()
    latest = source.latest_version()
    newest = source.offset(latest).to_text()
    if request.start is None:
        return ReachedOffsets(latest=newest)
    if request.bound is not None:
        latest = min(latest, StreamOffset.from_text(request.bound).version)
    limits = ReadLimits.of(source.options) if request.is_limited else ReadLimits()
    start = StreamOffset.from_text(request.start)
    end = source.end(start, latest, limits)
    source.note_progress(start, end)
    return ReachedOffsets(latest=newest, end=end.to_text())


def plan_stream(session: PlannerSession, request: PlanStream) -> tuple[WorkerSplit, ...]:
    """The splits of the batch between two offsets.

    Raises:
        ChangesNotAvailableError: snapshots that the stream has not read yet have expired.
        StreamSourceChangedError: the table is another one, or has other columns.
    """
    source = StreamSource.of(session, request.scan)
    start, end = (StreamOffset.from_text(text) for text in (request.start, request.end))
    return payloads(source.splits(start, end, request.parallelism))


def stream_lag(session: PlannerSession, request: StreamLag) -> Mapping[str, str]:
    """How far a stream that has read up to `start` is behind the table, as metrics."""
    source = StreamSource.of(session, request.scan)
    try:
        start = StreamOffset.from_text(request.start)
        return lag_of(source.table, start, source.latest_version())
    except SnapshotNotFoundError:
        return {}  # the stream is about to fail with an error that tells the reason


def stream_task(session: PlannerSession, request: StreamTask) -> PythonTask:
    """The task that reads the splits of every batch."""
    source = StreamSource.of(session, request.scan)
    nothing = source.offset(0)
    return change_task(source.scan(nothing, nothing, 1), request.scan)
