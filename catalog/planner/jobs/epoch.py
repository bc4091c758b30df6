"""One epoch of a job: brings its sink to the result of the query over newer snapshots."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyspark.sql import DataFrame

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
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.jobs.source_changes import SourceChange, source_changes
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import write_with
from table_store.storage.file_store.model.snapshot import Snapshot
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
    """
    begin = time.monotonic()
    table = sink.table
    snapshot = table.latest_snapshot()
    state = SinkState.of(snapshot, sink.job)
    progress = read_progress(table.file_io, table.path)
    is_known = progress is not None and progress.sink == state
    known = progress if is_known else None
    held = 0 if snapshot is None else snapshot.total_record_count
    step = _next_step(query, known, is_full=is_full, sink_rows=held)
    barrier = max(table.clock.now_ms(), state.commit + 1, progress.barrier + 1 if progress else 0)
    rows_changed = 0
    if step.rule is not Rule.NONE:
        try:
            rows = _changed_rows(sink, query, snapshot, step)
            if rows is not None:
                rows_changed = _written(session, sink, query, snapshot, barrier, rows)
        finally:
            query.release()
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


def _next_step(
    query: JobQuery, progress: Progress | None, *, is_full: bool, sink_rows: int
) -> Step:
    if is_full:
        return Step(Rule.FULL, "FULL was asked for")
    if progress is None:
        return Step(Rule.FULL, "its rows are of no known barrier")
    if query.always_changes is not None:
        return Step(Rule.FULL, query.always_changes)
    if query.sources == dict(progress.sources):
        return Step(Rule.NONE, "nothing that it reads has changed")
    found = source_changes(query, progress.sources)
    if isinstance(found, str):
        return Step(Rule.FULL, found)
    reason = why_not_incremental(query.plan, is_stored=bool(query.facts.kept_keys))
    if reason is not None:
        return Step(Rule.FULL, reason)
    if _is_dear(query, found, sink_rows):
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


def _changed_rows(
    sink: Sink, query: JobQuery, snapshot: Snapshot | None, step: Step
) -> DataFrame | None:
    """The rows to insert into the sink and to delete from it; None if there are none."""
    names = sink.schema.column_names
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
        return query.changes(delta, names) if is_small else changes(delta, names)
    if before is None:
        return inserts(query.rows(), names)
    return changes([(query.rows(), 1), (before, -1)], names)


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
