"""One epoch of a job: brings its sink to the result of the query over newer snapshots."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.jobs.job_errors import (
    ViewKeyError,
    ViewRedefinedError,
)
from table_store.catalog.jobs.progress import Followed, Progress, SinkState, note_progress
from table_store.catalog.jobs.sink_commit import commit_properties
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.consumers import note_consumer
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE
from table_store.catalog.planner.epochs.emission import emission_step, late_rows
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.keyed_difference import (
    BAD_KEY,
    key_problem,
)
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.registration import found_names, register_view
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.sink_changes import SinkChanges, changed_rows
from table_store.catalog.planner.epochs.source_changes import changes_key
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.epochs.step import (
    UNCHANGED,
    Rule,
    Step,
    next_step,
)
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import WriteResult, raised_text, write_with
from table_store.storage.file_store.changes import change_labels
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.options.table_options import COMMIT_IDENTIFIER, COMMIT_USER


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
        ViewRedefinedError: the sink is a view that has got another query since it was looked at. It
            may have rows of the old one, which the next epoch with the new query replaces.
        NotIncrementalError: the sink's policy is INCREMENTAL STRICT, and that is not possible.
        ViewKeyError: the sink has a key, of which the result has two rows, or a NULL.
    """
    begin = time.monotonic()
    sink = _as_it_is_written(sink, query)
    standing = Standing.of(sink)
    check_definition(sink)
    followed = standing.followed()
    states = AggregateStates.of(sink, query, followed)
    step = _step(sink, query, followed, states, is_full=is_full, sink_rows=standing.rows)
    states.are_dear = step.are_groups_dear
    states.emitted_ms = None if step.closed is None else step.closed.until_ms
    late = late_rows(states, step)
    number = standing.next_barrier if barrier is None else barrier
    written, reached = Written(), standing.snapshot_id
    is_whole = step.rule is Rule.FULL and not sink.is_shared
    diverged = None if is_whole else step.left_out(number) or standing.diverged
    if step.rule is not Rule.NONE:
        if number <= standing.barrier:
            raise _conflict(sink, standing.snapshot)
        snapshot = standing.snapshot
        written = write_changes(session, states, snapshot, number, step, followed)
        check_definition(sink)
        if written.snapshot is not None:
            reached = written.snapshot.id
            if written.net is not None and snapshot is not None:
                _hand_on(states, snapshot.id, reached, written.net)
    if step.rule is not Rule.NONE or not standing.is_noted:
        if written.snapshot is None and not standing.is_last():
            raise _conflict(sink, standing.snapshot)
        _write_progress(standing, states, number, written, reached, diverged)
    _tell_others(sink, query.sources, found_names(query))
    return Refreshed(
        view=sink.name,
        barrier=number,
        rule=step.rule.value,
        reason=step.reason,
        rows_read=sum(query.source_rows) if step.rule is Rule.FULL else step.row_count,
        rows_changed=written.rows_changed,
        rows_absent=written.rows_absent,
        rows_late=late,
        diverged=diverged,
        milliseconds=round((time.monotonic() - begin) * 1000),
        snapshot=reached,
    )


def _step(
    sink: Sink,
    query: JobQuery,
    followed: Followed | None,
    states: AggregateStates,
    *,
    is_full: bool,
    sink_rows: int,
) -> Step:
    if sink.is_emitted_on_watermark:
        return emission_step(query, followed, is_full=is_full)
    return next_step(sink, query, followed, states, is_full=is_full, sink_rows=sink_rows)


def left_as_it_is(standing: Standing, query: JobQuery, barrier: int) -> Refreshed:
    """What `advance` answers at a barrier for a sink that `is_current`, without looking again."""
    sink, followed = standing.sink, standing.followed()
    assert followed is not None, "it is current"
    _tell_others(sink, followed.sources, found_names(query))
    return Refreshed(
        view=sink.name,
        barrier=barrier,
        rule=Rule.NONE.value,
        reason=UNCHANGED,
        rows_read=0,
        rows_changed=0,
        diverged=standing.diverged,
        milliseconds=0,
        snapshot=standing.snapshot_id,
    )


def _tell_others(sink: Sink, sources: Mapping[str, int], names: Mapping[str, FoundName]) -> None:
    """Let a view's sources and its warehouse know that it goes on from these snapshots of them."""
    if sink.is_view:
        note_consumer(sink, sources)
        register_view(sink, sources, names)


def planned_step(sink: Sink, query: JobQuery, *, is_full: bool) -> Step:
    """What `advance` would do now.

    Raises:
        NotIncrementalError: see `advance`.
    """
    sink = _as_it_is_written(sink, query)
    standing = Standing.of(sink)
    followed = standing.followed()
    states = AggregateStates.of(sink, query, followed)
    return _step(sink, query, followed, states, is_full=is_full, sink_rows=standing.rows)


def _as_it_is_written(sink: Sink, query: JobQuery) -> Sink:
    """A sink, whose rows are no state of the result where changes may come once more."""
    return replace(sink, is_shared=True) if query.gives_changes else sink


def check_definition(sink: Sink) -> None:
    """Look whether a view still has the query with which it was looked up.

    ALTER … AS commits its rows, publishes the query, and then looks for commits in between. An
    epoch looks before its commit and after it. So one of both sees the other, and makes it good.

    Raises:
        ViewRedefinedError: it has another one.
    """
    if sink.is_view and sink.staged is None and sink.table.schema.query != sink.schema.query:
        raise ViewRedefinedError(table=sink.name)


def _write_progress(
    standing: Standing,
    states: AggregateStates,
    barrier: int,
    written: Written,
    reached: int,
    diverged: str | None,
) -> None:
    sink, table = standing.sink, standing.sink.table
    # Not the last snapshot's state, for it may be that of another epoch, which came next.
    state = standing.state if written.snapshot is None else replace(standing.state, commit=barrier)
    done = Progress(barrier=barrier, followed=states.followed, sink=state, diverged=diverged)
    note_progress(table.file_io, table.path, done, sink.job, snapshot=reached)
    if states.before.keys() != states.now.keys():
        states.forget_others()


def _hand_on(states: AggregateStates, old: int, new: int, net: DataFrame) -> None:
    """Let the jobs that follow the sink have its changes without reading them."""
    table = states.sink.table
    key = changes_key(table.path, table.created_ms, old, new, is_partial=False)
    states.query.share(key, net.toDF(*states.sink.written, change_labels.CHANGE_TYPE))


def _conflict(sink: Sink, snapshot: Snapshot | None) -> CommitConflictError:
    return CommitConflictError(
        table=sink.name,
        snapshot_id=None if snapshot is None else snapshot.id,
        operation="REFRESH",
        reason="another refresh has brought it to a later barrier",
    )


@dataclass(frozen=True, slots=True)
class Written:
    """How many changes of the sink's rows were committed, and how many deletes found no row.

    `snapshot` is the commit's; None if nothing was to be committed. `net` has the rows that came
    and those that went, if the driver holds them.
    """

    rows_changed: int = 0
    rows_absent: int = 0
    snapshot: Snapshot | None = None
    net: DataFrame | None = None


def write_changes(
    session: PlannerSession,
    states: AggregateStates,
    snapshot: Snapshot | None,
    barrier: int,
    step: Step,
    followed: Followed | None = None,
) -> Written:
    """Commit what brings the sink from a snapshot to the result.

    `followed` is what the sink's rows are the result of, if that is known.

    Raises:
        CommitConflictError, ViewKeyError: see `advance`.
    """
    try:
        found = changed_rows(states, snapshot, step, followed)
        if found is None:
            return Written()
        done = _written(session, states, snapshot, barrier, found)
        committer = states.sink.table.committer()
        if done.snapshot is None and committer.has_committed(states.sink.job, barrier):
            raise _conflict(states.sink, snapshot)
        return Written(done.rows, found.absent, done.snapshot, found.net)
    except CapturedException as error:
        raised = raised_text(session, error, BAD_KEY)
        if raised is None:
            raise
        problem, key = key_problem(raised)
        raise ViewKeyError(name=states.sink.name, problem=problem, key=key) from None
    finally:
        states.query.release()


def _written(
    session: PlannerSession,
    states: AggregateStates,
    snapshot: Snapshot | None,
    barrier: int,
    found: SinkChanges,
) -> WriteResult:
    """Commit the changes of the sink's rows, unless another epoch of the job was faster."""
    sink, rows = states.sink, found.rows
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
        command=("REFRESH" if sink.is_view else "INSERT") if found.depend_on_sink else None,
    )
    is_alone = not (sink.is_view or sink.is_shared)
    alone_until = (0 if snapshot is None else snapshot.id) if is_alone else None
    properties = commit_properties(barrier, states.followed, alone_until=alone_until)
    done = write_with(
        session,
        request,
        session.bridge.JobQuery.written(rows._jdf),
        properties,
        previous_identifier=SinkState.of(snapshot, sink.job).commit,
        waits=sink.is_view,  # a job's next epoch is not to be late
    )
    if done.snapshot is not None and sink.staged is None:
        session.recache(sink.parts)
    return done
