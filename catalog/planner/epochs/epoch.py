"""One epoch of a job: brings its sink to the result of the query over newer snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.connectors.sink import is_append_only, is_sink
from table_store.catalog.jobs.job_errors import (
    JobHistoryLostError,
    ViewKeyError,
    ViewRedefinedError,
)
from table_store.catalog.jobs.progress import Followed, Progress, SinkState, note_progress
from table_store.catalog.jobs.sink_commit import commit_properties
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.appended_rows import appended_rows
from table_store.catalog.planner.epochs.bag_difference import present_rows
from table_store.catalog.planner.epochs.consumers import note_consumer
from table_store.catalog.planner.epochs.delta import query_delta
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE, changes, inserts, weighted
from table_store.catalog.planner.epochs.job_query import JobQuery, changes_key
from table_store.catalog.planner.epochs.keyed_difference import (
    BAD_KEY,
    key_problem,
    keyed_changes,
    keyed_differences,
    keyed_inserts,
    keyed_newest,
)
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.registration import register_view
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.source_changes import why_not_readable
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.epochs.step import (
    UNCHANGED,
    Rule,
    Step,
    next_step,
    why_never_incremental,
)
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import WriteResult, raised_text, write_with
from table_store.storage.file_store.changes import change_labels
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.upkeep import RefreshPolicy
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
    step = next_step(sink, query, followed, states, is_full=is_full, sink_rows=standing.rows)
    states.are_dear = step.are_groups_dear
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
        if written.snapshot is None and not standing.is_last():
            raise _conflict(sink, standing.snapshot)
        if written.snapshot is not None:
            reached = written.snapshot.id
            if written.net is not None and snapshot is not None:
                _hand_on(states, snapshot.id, reached, written.net)
        _write_progress(standing, states, number, written, reached, diverged)
    _tell_others(sink, query.sources)
    return Refreshed(
        view=sink.name,
        barrier=number,
        rule=step.rule.value,
        reason=step.reason,
        rows_read=sum(query.source_rows) if step.rule is Rule.FULL else step.row_count,
        rows_changed=written.rows_changed,
        rows_absent=written.rows_absent,
        diverged=diverged,
        milliseconds=round((time.monotonic() - begin) * 1000),
        snapshot=reached,
    )


def left_as_it_is(standing: Standing, barrier: int) -> Refreshed:
    """What `advance` answers at a barrier for a sink that `is_current`, without looking again."""
    sink, followed = standing.sink, standing.followed()
    assert followed is not None, "it is current"
    _tell_others(sink, followed.sources)
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


def _tell_others(sink: Sink, sources: Mapping[str, int]) -> None:
    """Let a view's sources and its warehouse know that it goes on from these snapshots of them."""
    if sink.is_view:
        note_consumer(sink, sources)
        register_view(sink, sources)


def planned_step(sink: Sink, query: JobQuery, *, is_full: bool) -> Step:
    """What `advance` would do now.

    Raises:
        NotIncrementalError: see `advance`.
    """
    sink = _as_it_is_written(sink, query)
    standing = Standing.of(sink)
    followed = standing.followed()
    states = AggregateStates.of(sink, query, followed)
    return next_step(sink, query, followed, states, is_full=is_full, sink_rows=standing.rows)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """Rows to insert into the sink and to delete from it.

    `depend_on_sink`: they are wrong if others have changed the sink since the snapshot.
    """

    rows: DataFrame
    depend_on_sink: bool
    absent: int = 0
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
        found = _changed_rows(states, snapshot, step, followed)
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


def recache(session: PlannerSession, sink: Sink) -> None:
    """Let cached plans over a sink read the rows that it has now."""
    session.bridge.JobQuery.recache(session.spark._jsparkSession, list(sink.parts))


def _changed_rows(
    states: AggregateStates, snapshot: Snapshot | None, step: Step, followed: Followed | None
) -> _Changes | None:
    """What brings the sink from a snapshot to the result; None if nothing is to be done."""
    sink, query = states.sink, states.query
    if sink.is_shared:
        return _changes_of_shared(states, snapshot, step, followed)
    names, key = sink.written, sink.schema.primary_key

    @cache
    def before() -> DataFrame | None:
        # It holds the result as it was, because nobody else writes it.
        return None if snapshot is None else _rows_of(sink, query, snapshot)

    changed: DataFrame | None
    net = None
    if step.rule is Rule.INCREMENTAL:
        changed = _increment(states, step, before)
        net = changed if step.is_small else None
        if changed is not None and key:
            changed = keyed_changes(changed, names, key, before(), is_small=step.is_small)
    elif (old := before()) is None:
        new = _result(states)
        changed = keyed_inserts(new, names, key) if key else inserts(new, names)
    elif key:
        changed = keyed_differences(_result(states), old, names, key)
    else:
        changed = changes([(_result(states), 1), (old, -1)], names)
    return None if changed is None else _Changes(rows=changed, depend_on_sink=True, net=net)


def _changes_of_shared(
    states: AggregateStates, snapshot: Snapshot | None, step: Step, followed: Followed | None
) -> _Changes | None:
    """The same where others also write the sink: what they wrote does not count."""
    sink, query = states.sink, states.query
    names, key = sink.written, sink.schema.primary_key
    is_increment = step.rule is Rule.INCREMENTAL
    if is_increment and query.gives_changes:
        newest = _newest(states, step)
        return None if newest is None else _Changes(rows=newest, depend_on_sink=False)
    changed = (
        _increment(states, step, lambda: None)
        if is_increment
        else _result_changes(states, followed)
    )
    if changed is not None and is_append_only(sink.schema):
        changed = appended_rows(query, changed, sink.name)
    if changed is None:
        return None
    if key:
        is_small = is_increment and step.is_small
        rows = keyed_changes(changed, names, key, None, is_small=is_small)
        return _Changes(rows=rows, depend_on_sink=False)
    # What a connector has taken nobody else takes away.
    if followed is None or snapshot is None or is_sink(sink.schema):
        return _Changes(rows=changed, depend_on_sink=False)
    return _changes_of_bag(query, changed, _rows_of(sink, query, snapshot))


def _changes_of_bag(query: JobQuery, changed: DataFrame, present: DataFrame) -> _Changes | None:
    """The changes without the deletes of rows that others have deleted."""
    known = query.settled(changed)
    if known is None:
        return None
    deletes = known.where(f"{CHANGE_TYPE} = 'delete'")
    asked = deletes.count()
    if not asked:
        return _Changes(rows=known, depend_on_sink=False)
    there = present_rows(deletes, present)
    absent = asked - there.count()
    rows = known.where(f"{CHANGE_TYPE} = 'insert'").unionAll(there) if absent else known
    return _Changes(rows=rows, depend_on_sink=True, absent=absent)


def _increment(
    states: AggregateStates, step: Step, before: Callable[[], DataFrame | None]
) -> DataFrame | None:
    query = states.query
    delta = query_delta(query, step.changes, before, states)
    if not delta:
        return None
    names = states.sink.written
    return query.changes(delta, names) if step.is_small else changes(delta, names)


def _newest(states: AggregateStates, step: Step) -> DataFrame | None:
    query, sink = states.query, states.sink
    delta = query_delta(query, step.changes, lambda: None, states)
    if not delta:
        return None
    rows = keyed_newest(weighted(delta, sink.written), sink.written, sink.schema.primary_key)
    return query.settled(rows) if step.is_small else rows


def _rows_of(sink: Sink, query: JobQuery, snapshot: Snapshot) -> DataFrame:
    names = ", ".join(map(quoted, sink.written))
    text = f"SELECT {names} FROM {quoted_parts(sink.parts)}"
    return query.sql_at(text, {sink.table.path: snapshot.id})


def _result(states: AggregateStates) -> DataFrame:
    """The whole result, of groups that are held from then on if an increment is possible."""
    sink, query = states.sink, states.query
    is_full = sink.schema.upkeep.policy is RefreshPolicy.FULL
    if is_full or why_never_incremental(sink, query) is not None:
        return query.rows()
    states.rebuild()
    return query.evaluated(0, {}, states=states.rows()) if states.now else query.rows()


def _result_changes(states: AggregateStates, followed: Followed | None) -> DataFrame:
    """The change of the whole result; all of it where nothing tells what it was."""
    sink, query = states.sink, states.query
    new = _result(states)
    if followed is None:
        return inserts(new, sink.written)
    gone = why_not_readable(query, followed)
    if gone is None:
        return changes([(new, 1), (query.rows_at(followed.sources), -1)], sink.written)
    if not sink.schema.primary_key:
        raise JobHistoryLostError(sink=sink.name, reason=gone)
    return inserts(new, sink.written)


def _written(
    session: PlannerSession,
    states: AggregateStates,
    snapshot: Snapshot | None,
    barrier: int,
    found: _Changes,
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
    )
    if done.snapshot is not None and sink.staged is None:
        recache(session, sink)
    return done
