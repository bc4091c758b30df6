"""Requests of a running stream: where it starts, what is new, and what a batch reads."""

from __future__ import annotations

from typing import Any

from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.read.change_plan import change_task, payloads
from table_store.catalog.planner.stream.stream_lag import lag_of
from table_store.catalog.planner.stream.stream_limits import ReadLimits
from table_store.catalog.planner.stream.stream_offset import StreamOffset
from table_store.catalog.planner.stream.stream_source import StreamSource
from table_store.storage.file_store.model.errors import SnapshotNotFoundError


def stream_start(session: PlannerSession, argument: Argument) -> str:
    """The offset before the first batch of a new stream, which the bridge keeps."""
    source = StreamSource.of(argument)
    begins = source.start()
    return source.offset(begins or 0, is_before_all=begins is None).to_text()


def stream_latest(session: PlannerSession, argument: Argument) -> dict[str, str]:
    """The offset at which a batch that begins at `start` is to end, and the newest there is.

    The end is `start` where nothing is new. `bound` is an offset behind which nothing is read.
    """
    source = StreamSource.of(argument)
    latest = source.latest_version()
    answer = {"latest": source.offset(latest).to_text()}
    if argument.get("start") is None:
        return answer
    if argument.get("bound") is not None:
        latest = min(latest, StreamOffset.from_text(argument["bound"]).version)
    limits = ReadLimits.of(source.options) if argument["isLimited"] else ReadLimits()
    start = StreamOffset.from_text(argument["start"])
    end = source.end(start, latest, limits)
    source.note_progress(start, end)
    return {**answer, "end": end.to_text()}


def plan_stream(session: PlannerSession, argument: Argument) -> list[dict[str, Any]]:
    """The splits of the batch between two offsets.

    Raises:
        ChangesNotAvailableError: snapshots that the stream has not read yet have expired.
        StreamSourceChangedError: the table is another one, or has other columns.
    """
    source = StreamSource.of(argument)
    start, end = (StreamOffset.from_text(argument[name]) for name in ("start", "end"))
    return payloads(source.splits(start, end, argument.get("parallelism", 1)))


def stream_lag(session: PlannerSession, argument: Argument) -> dict[str, str]:
    """How far a stream that has read up to `start` is behind the table, as metrics."""
    source = StreamSource.of(argument)
    try:
        start = StreamOffset.from_text(argument["start"])
        return lag_of(source.table, start, source.latest_version())
    except SnapshotNotFoundError:
        return {}  # the stream is about to end with an error that says so


def stream_task(session: PlannerSession, argument: Argument) -> dict[str, str]:
    """What reads the splits of every batch."""
    source = StreamSource.of(argument)
    nothing = source.offset(0)
    return change_task(source.scan(nothing, nothing, 1), argument)
