"""What is told of an epoch when it has ended: a line for who watches, a record in the history."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.jobs.history import EpochRecord, add_to_history, short_error
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.step import Rule
from table_store.catalog.planner.process.job_names import jobs_named
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.kernel.errors import TableStoreError

_log = logging.getLogger(__name__)


@contextmanager
def recording(
    session: PlannerSession, sink: Sink, barrier: int, *, name: str = ""
) -> Iterator[Callable[[Refreshed], None]]:
    """Within it an epoch runs, and calls what is yielded with what it did.

    Spark shows its jobs under the name of the sink with the barrier. A refresh of a view that
    another one has overtaken is no failure of the view. `name` is that of a streaming INSERT.
    """
    begin = time.monotonic()
    verb = "REFRESH" if sink.is_view else "INSERT INTO"

    def record(done: Refreshed) -> None:
        if done.rule != Rule.NONE.value:
            _tell(
                session,
                sink,
                EpochRecord(
                    ended_ms=sink.table.clock.now_ms(),
                    job=name,
                    barrier=done.barrier,
                    rule=done.rule,
                    reason=done.reason,
                    rows_read=done.rows_read,
                    rows_changed=done.rows_changed,
                    milliseconds=done.milliseconds,
                ),
            )

    try:
        with jobs_named(session, f"{verb} {sink.name} at barrier {barrier}"):
            yield record
    except (TableStoreError, CapturedException, Py4JJavaError) as error:
        if name or not isinstance(error, CommitConflictError):
            _tell(
                session,
                sink,
                EpochRecord(
                    ended_ms=sink.table.clock.now_ms(),
                    job=name,
                    barrier=barrier,
                    milliseconds=round((time.monotonic() - begin) * 1000),
                    error=error_text(error),
                ),
            )
        raise


def error_text(error: Exception) -> str:
    """An error's text without the JVM's trace."""
    if isinstance(error, Py4JJavaError):
        return short_error(str(error.java_exception.getMessage()))
    return short_error(str(error), _place_of(error))


def _place_of(error: Exception) -> str:
    """The expression of the query that has failed, if Spark tells which."""
    if not isinstance(error, CapturedException):
        return ""
    fragments = [c.fragment() for c in error.getQueryContext() if c.contextType().name == "SQL"]
    return f" It is: {fragments[0]}" if fragments else ""


def _tell(session: PlannerSession, sink: Sink, epoch: EpochRecord) -> None:
    if sink.staged is None:
        session.bridge.EpochLines.show(_line(sink, epoch))
    try:
        add_to_history(sink.table.file_io, sink.table.path, sink.job, epoch)
    except TableStoreError as error:
        _log.warning("an epoch of %s is not in the history: %s", sink.name, error)


def _line(sink: Sink, epoch: EpochRecord) -> str:
    who = f"{epoch.job} -> {sink.name}" if epoch.job not in ("", sink.name) else sink.name
    if epoch.error is not None:
        return f"{who}: barrier {epoch.barrier} failed: {epoch.error}"
    return (
        f"{who}: barrier {epoch.barrier}, {epoch.rule}, {epoch.rows_read} rows read, "
        f"{epoch.rows_changed} changed, {epoch.milliseconds} ms"
    )
