"""One epoch of a job: brings its sink to the result of the query over newer snapshots."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.errors import JobHistoryLostError, ViewKeyError
from table_store.catalog.jobs.progress import Followed, Progress, SinkState, write_progress
from table_store.catalog.jobs.sink_commit import commit_properties
from table_store.catalog.names.identifier import quoted_parts
from table_store.catalog.planner.jobs.delta import query_delta
from table_store.catalog.planner.jobs.difference import CHANGE_TYPE, changes, inserts
from table_store.catalog.planner.jobs.job_query import JobQuery
from table_store.catalog.planner.jobs.keyed_difference import (
    BAD_KEY,
    key_problem,
    keyed_changes,
    keyed_differences,
    keyed_inserts,
)
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.jobs.source_changes import why_not_readable
from table_store.catalog.planner.jobs.standing import Standing
from table_store.catalog.planner.jobs.step import Rule, Step, next_step, source_rows
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import raised_text, write_with
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.options.table_options import COMMIT_IDENTIFIER, COMMIT_USER


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What an epoch did; see `REFRESH MATERIALIZED VIEW` in docs/sql.md.

    Attributes:
        snapshot: of the sink, with the rows of the barrier; 0 if it has none.
    """

    view: str
    barrier: int
    rule: str
    reason: str
    rows_read: int
    rows_changed: int
    milliseconds: int
    snapshot: int


def advance(
    session: PlannerSession,
    sink: Sink,
    query: JobQuery,
    *,
    is_full: bool,
    barrier: int | None = None,
) -> Refreshed:
    """Bring a sink to the result of a query over the snapshots with which it was analysed.

    `barrier` is the number of those snapshots; without it the sink gets one of its own.

    Raises:
        CommitConflictError: another epoch of the same job was faster.
        NotIncrementalError: the sink's policy is INCREMENTAL STRICT, and that is not possible.
        ViewKeyError: the sink has a key, of which the result has two rows, or a NULL.
    """
    begin = time.monotonic()
    standing = Standing.of(sink)
    followed = standing.followed()
    step = next_step(sink, query, followed, is_full=is_full, sink_rows=standing.rows)
    number = standing.next_barrier if barrier is None else barrier
    rows_changed, reached = 0, standing.snapshot_id
    if step.rule is not Rule.NONE:
        if number <= standing.barrier:
            raise _conflict(standing)
        snapshot = standing.snapshot
        rows_changed = write_changes(session, sink, query, snapshot, number, step, followed)
        found = standing.snapshot_after(number, is_changed=rows_changed > 0)
        if found is None:
            raise _conflict(standing)
        reached = found
        _write_progress(standing, query, number, is_changed=rows_changed > 0)
    return Refreshed(
        view=sink.name,
        barrier=number,
        rule=step.rule.value,
        reason=step.reason,
        rows_read=sum(source_rows(query)) if step.rule is Rule.FULL else step.row_count,
        rows_changed=rows_changed,
        milliseconds=round((time.monotonic() - begin) * 1000),
        snapshot=reached,
    )


def planned_step(sink: Sink, query: JobQuery, *, is_full: bool) -> Step:
    """What `advance` would do now.

    Raises:
        NotIncrementalError: see `advance`.
    """
    standing = Standing.of(sink)
    return next_step(sink, query, standing.followed(), is_full=is_full, sink_rows=standing.rows)


def _write_progress(standing: Standing, query: JobQuery, barrier: int, *, is_changed: bool) -> None:
    sink, table = standing.sink, standing.sink.table
    state = SinkState.of(table.latest_snapshot(), sink.job) if is_changed else standing.state
    done = Progress(barrier=barrier, followed=query.followed, sink=state)
    write_progress(table.file_io, table.path, done, sink.job)


def _conflict(standing: Standing) -> CommitConflictError:
    return CommitConflictError(
        table=standing.sink.name,
        snapshot_id=standing.snapshot_id or None,
        operation="REFRESH",
        reason="another refresh has brought it to a later barrier",
    )


def write_changes(
    session: PlannerSession,
    sink: Sink,
    query: JobQuery,
    snapshot: Snapshot | None,
    barrier: int,
    step: Step,
    followed: Followed | None = None,
) -> int:
    """Commit what brings the sink from a snapshot to the result; how many changes there are.

    `followed` is what the sink's rows are the result of, if that is known.

    Raises:
        CommitConflictError, ViewKeyError: see `advance`.
    """
    try:
        rows = _changed_rows(sink, query, snapshot, step, followed)
        return 0 if rows is None else _written(session, sink, query, snapshot, barrier, rows)
    except CapturedException as error:
        raised = raised_text(session, error, BAD_KEY)
        if raised is None:
            raise
        problem, key = key_problem(raised)
        raise ViewKeyError(name=sink.name, problem=problem, key=key) from None
    finally:
        query.release()


def recache(session: PlannerSession, sink: Sink) -> None:
    """Let cached plans over a sink read the rows that it has now."""
    session.bridge.JobQuery.recache(session.spark._jsparkSession, list(sink.parts))


def _changed_rows(
    sink: Sink,
    query: JobQuery,
    snapshot: Snapshot | None,
    step: Step,
    followed: Followed | None,
) -> DataFrame | None:
    """The rows to insert into the sink and to delete from it; None if there are none."""
    names, key = sink.written, sink.schema.primary_key
    before = None
    if snapshot is not None and not sink.is_shared:
        # It holds the result as it was: a refresh is incremental only if nobody else wrote it.
        name = quoted_parts(sink.parts)
        before = query.sql(f"SELECT * FROM {name} VERSION AS OF {snapshot.id}")
    if step.rule is Rule.INCREMENTAL:
        delta = query_delta(query, step.changes, before)
        if not delta:
            return None
        changed = query.changes(delta, names) if step.is_small else changes(delta, names)
        if changed is None or not key:
            return changed
        return keyed_changes(changed, names, key, before, is_small=step.is_small)
    if sink.is_shared:
        changed = _result_changes(sink, query, followed)
        return keyed_changes(changed, names, key, None, is_small=False) if key else changed
    new = query.rows()
    if before is None:
        return keyed_inserts(new, names, key) if key else inserts(new, names)
    if key:
        return keyed_differences(new, before, names, key)
    return changes([(new, 1), (before, -1)], names)


def _result_changes(sink: Sink, query: JobQuery, followed: Followed | None) -> DataFrame:
    """The change of the whole result; all of it where nothing tells what it was."""
    if followed is None:
        return inserts(query.rows(), sink.written)
    gone = why_not_readable(query, followed)
    if gone is None:
        return changes([(query.rows(), 1), (query.rows_at(followed.sources), -1)], sink.written)
    if not sink.schema.primary_key:
        raise JobHistoryLostError(sink=sink.name, reason=gone)
    return inserts(query.rows(), sink.written)


def _written(
    session: PlannerSession,
    sink: Sink,
    query: JobQuery,
    snapshot: Snapshot | None,
    barrier: int,
    rows: DataFrame,
) -> int:
    """Commit the changes of the sink's rows; how many there are."""
    request = Write(
        table=TableReference(
            relation=sink.relation,
            handle=TableHandle(
                path=sink.table.path,
                schema_id=sink.schema.id,
                snapshot_id=None if snapshot is None else snapshot.id,
                written=tuple(rows.columns),
                change_type_column=CHANGE_TYPE,
                staged=sink.staged,
            ),
        ),
        mode=WriteMode.APPEND,
        options={
            **sink.options,
            COMMIT_USER.key: sink.job,
            COMMIT_IDENTIFIER.key: str(barrier),
        },
        # With a command, a commit of others since `snapshot` is a conflict.
        command=None if sink.is_shared else "REFRESH",
    )
    properties = commit_properties(barrier, query.followed)
    changed = write_with(session, request, session.bridge.JobQuery.written(rows._jdf), properties)
    if changed and sink.staged is None:
        recache(session, sink)
    return changed
