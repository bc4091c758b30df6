"""One epoch of a job: brings its sink to the result of the query over newer snapshots."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from table_store.catalog.errors import NotIncrementalError, ViewKeyError
from table_store.catalog.jobs.cost import full_cost, incremental_cost
from table_store.catalog.jobs.delta import why_not_incremental
from table_store.catalog.jobs.progress import (
    Progress,
    SinkState,
    read_progress,
    write_progress,
)
from table_store.catalog.names.identifier import quoted_parts
from table_store.catalog.planner.jobs.delta import changed_nodes, query_delta
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
from table_store.catalog.planner.jobs.source_changes import SourceChange, source_changes
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import raised_text, write_with
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.upkeep import RefreshPolicy
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import COMMIT_IDENTIFIER, COMMIT_USER

_FEW_ROWS: Final = 20_000
"""With so few changes of tables, those of the result are worth holding in the driver; tables of so
few rows cost about the same one way or the other."""

BARRIER, SOURCE = "job.barrier", "job.source."
"""Snapshot properties: the barrier, and the snapshot of each source at it by directory."""


class Rule(Enum):
    """How a view is brought up to date."""

    NONE = "none"
    INCREMENTAL = "incremental"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Step:
    """What the next refresh does, and why; `changes` are those that an increment reads."""

    rule: Rule
    reason: str
    changes: Sequence[SourceChange] = ()

    @property
    def row_count(self) -> int:
        """About how many changes an increment reads."""
        return sum(change.rows for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What a refresh of one view did; see `REFRESH MATERIALIZED VIEW` in docs/sql.md."""

    view: str
    barrier: int
    rule: str
    reason: str
    rows_read: int
    rows_changed: int
    milliseconds: int


def advance(session: PlannerSession, sink: Sink, query: JobQuery, *, is_full: bool) -> Refreshed:
    """Bring a sink to the result of a query over the snapshots with which it was analysed.

    Raises:
        CommitConflictError: another epoch of the same job was faster.
        NotIncrementalError: the sink's policy is INCREMENTAL STRICT, and that is not possible.
        ViewKeyError: the sink has a key, of which the result has two rows, or a NULL.
    """
    begin = time.monotonic()
    table = sink.table
    snapshot = table.latest_snapshot()
    state = SinkState.of(snapshot, sink.job)
    progress = read_progress(table.file_io, table.path)
    is_known = progress is not None and progress.sink == state
    known = progress if is_known else None
    held = 0 if snapshot is None else snapshot.total_record_count
    step = _next_step(sink, query, known, is_full=is_full, sink_rows=held)
    barrier = next_barrier(sink, state, progress)
    rows_changed = 0
    if step.rule is not Rule.NONE:
        rows_changed = write_changes(session, sink, query, snapshot, barrier, step)
        if rows_changed:
            state = SinkState.of(table.latest_snapshot(), sink.job)
        done = Progress(barrier=barrier, sources=query.sources, sink=state)
        write_progress(table.file_io, table.path, done)
    return Refreshed(
        view=sink.name,
        barrier=barrier,
        rule=step.rule.value,
        reason=step.reason,
        rows_read=sum(_source_rows(query)) if step.rule is Rule.FULL else step.row_count,
        rows_changed=rows_changed,
        milliseconds=round((time.monotonic() - begin) * 1000),
    )


def next_barrier(sink: Sink, state: SinkState, progress: Progress | None) -> int:
    """A barrier after all that the sink has had."""
    after_progress = 0 if progress is None else progress.barrier + 1
    return max(sink.table.clock.now_ms(), state.commit + 1, after_progress)


def why_never_incremental(query: JobQuery) -> str | None:
    """Why no refresh of such a query can be incremental; None if one can."""
    if query.always_changes is not None:
        return query.always_changes
    return why_not_incremental(query.plan, is_stored=bool(query.facts.kept_keys))


def _next_step(
    sink: Sink, query: JobQuery, progress: Progress | None, *, is_full: bool, sink_rows: int
) -> Step:
    if is_full:
        return Step(Rule.FULL, "FULL was asked for")
    policy = sink.schema.upkeep.policy
    step = _possible_step(query, progress, policy, sink_rows)
    if step.rule is Rule.FULL and policy is RefreshPolicy.INCREMENTAL_STRICT:
        raise NotIncrementalError(name=sink.name, reason=step.reason)
    return step


def _possible_step(
    query: JobQuery, progress: Progress | None, policy: RefreshPolicy, sink_rows: int
) -> Step:
    if progress is None:
        return Step(Rule.FULL, "its rows are of no known barrier")
    if query.always_changes is not None:
        return Step(Rule.FULL, query.always_changes)
    if query.sources == dict(progress.sources):
        return Step(Rule.NONE, "nothing that it reads has changed")
    if policy is RefreshPolicy.FULL:
        return Step(Rule.FULL, "its refresh policy is FULL")
    is_cost_counted = policy is RefreshPolicy.AUTO
    found = source_changes(query, progress.sources, is_cost_counted=is_cost_counted)
    if isinstance(found, str):
        return Step(Rule.FULL, found)
    reason = why_never_incremental(query)
    if reason is not None:
        return Step(Rule.FULL, reason)
    if is_cost_counted and _is_dear(query, found, sink_rows):
        return Step(Rule.FULL, "the result costs less than its change")
    names = sorted({change.source.relation.text for change in found})
    return Step(Rule.INCREMENTAL, f"changed: {', '.join(names)}", found)


def _is_dear(query: JobQuery, changed: Sequence[SourceChange], sink_rows: int) -> bool:
    """Whether an increment would read more than the computation of the whole result does."""
    counts = _source_rows(query)
    if sum(counts) <= _FEW_ROWS:
        return False
    plan = query.plan
    rows = {n: counts[node.source] for n, node in enumerate(plan.nodes) if node.source is not None}
    changes = {node: change.rows for node, change in changed_nodes(query, changed).items()}
    stored = sink_rows if query.facts.kept_keys else None
    increment = incremental_cost(plan, rows, changes, stored=stored)
    return increment > full_cost(plan, rows, stored=sink_rows)


def write_changes(
    session: PlannerSession,
    sink: Sink,
    query: JobQuery,
    snapshot: Snapshot | None,
    barrier: int,
    step: Step,
) -> int:
    """Commit what brings the sink from a snapshot to the result; how many changes there are.

    Raises:
        CommitConflictError, ViewKeyError: see `advance`.
    """
    try:
        rows = _changed_rows(sink, query, snapshot, step)
        return 0 if rows is None else _written(session, sink, query, snapshot, barrier, rows)
    except CapturedException as error:
        raised = raised_text(session, error, BAD_KEY)
        if raised is None:
            raise
        problem, key = key_problem(raised)
        raise ViewKeyError(name=sink.name, problem=problem, key=key) from None
    finally:
        query.release()


def _changed_rows(
    sink: Sink, query: JobQuery, snapshot: Snapshot | None, step: Step
) -> DataFrame | None:
    """The rows to insert into the sink and to delete from it; None if there are none."""
    schema, is_keyed = sink.schema, bool(sink.schema.primary_key)
    names = schema.column_names
    before = None
    if snapshot is not None:
        # It holds the result as it was: a refresh is incremental only if nobody else wrote it.
        name = quoted_parts(sink.parts)
        before = query.sql(f"SELECT * FROM {name} VERSION AS OF {snapshot.id}")
    if step.rule is Rule.INCREMENTAL:
        delta = query_delta(query, step.changes, before)
        if not delta:
            return None
        is_small = step.row_count <= _FEW_ROWS
        changed = query.changes(delta, names) if is_small else changes(delta, names)
        if changed is None or not is_keyed:
            return changed
        return keyed_changes(changed, schema, before, is_small=is_small)
    new = query.rows()
    if before is None:
        return keyed_inserts(new, schema) if is_keyed else inserts(new, names)
    if is_keyed:
        return keyed_differences(new, before, schema)
    return changes([(new, 1), (before, -1)], names)


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
        options={COMMIT_USER.key: sink.job, COMMIT_IDENTIFIER.key: str(barrier)},
        command="REFRESH",
    )
    jvm = session.spark.sparkContext._jvm
    assert jvm is not None, "the planner is attached to a JVM"
    views = jvm.org.apache.spark.sql.tablestore.JobQuery
    properties = {f"{SOURCE}{path}": str(at) for path, at in query.sources.items()}
    properties[BARRIER] = str(barrier)
    changed = write_with(session, request, views.written(rows._jdf), properties)
    if changed and sink.staged is None:
        views.recache(session.spark._jsparkSession, list(sink.parts))
    return changed


def _source_rows(query: JobQuery) -> list[int]:
    """About how many rows each of the query's sources has."""
    counts = []
    for source in query.facts.sources:
        handle = source.table_handle
        snapshots = open_logged(handle.path).snapshot_store
        at = handle.snapshot_id
        counts.append(0 if at is None else snapshots.get(at).total_record_count)
    return counts
