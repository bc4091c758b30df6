"""Brings a materialized view to the result of its query over the newest snapshots."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyspark.sql import DataFrame

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.errors import UnsupportedQueryError
from table_store.catalog.jobs.delta_terms import delta_terms, why_not_linear
from table_store.catalog.jobs.progress import (
    Progress,
    SinkState,
    read_progress,
    write_progress,
)
from table_store.catalog.names.identifier import Identifier, quoted_parts
from table_store.catalog.planner.jobs.difference import CHANGE_TYPE, changes, inserts
from table_store.catalog.planner.jobs.source_changes import SourceChange, source_changes
from table_store.catalog.planner.jobs.view_query import ViewQuery
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import write_with
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import to_arrow
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import COMMIT_IDENTIFIER, COMMIT_USER

JOB: Final = "materialized-view"
"""The commit user of refreshes: a view has one job."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedView:
    """A materialized view: its name, and the table that holds its rows.

    `staged` is the text of a `StagedTable` while nobody else sees the view.
    """

    relation: RelationReference
    access: CatalogAccess
    table: FileStoreTable
    schema: TableSchema
    staged: str | None = None

    @property
    def name(self) -> str:
        """The name as messages show it."""
        return self.access.qualified(self.identifier)

    @property
    def identifier(self) -> Identifier:
        """The name in its catalog."""
        identifier = self.relation.identifier
        assert identifier is not None, "it was found by its name"
        return identifier

    @property
    def parts(self) -> tuple[str, ...]:
        """The name with catalog and namespace."""
        return (self.access.name, self.identifier.namespace, self.identifier.name)


def refresh(session: PlannerSession, view: MaterializedView, *, is_full: bool) -> list[Refreshed]:
    """Refresh the views that a view reads, then the view itself, which is the last of the answer.

    `is_full` recomputes the view itself even if nothing has changed that it reads.

    Raises:
        UnsupportedQueryError: the query has become one that no view can be kept equal to.
        CommitConflictError: another refresh of the same view was faster.
    """
    return list(_refreshed(session, view, is_full=is_full, seen=set()))


def analysed_query(session: PlannerSession, schema: TableSchema) -> ViewQuery:
    """The query of a materialized view, checked against the view's columns.

    Raises:
        UnsupportedQueryError: the columns of its result are others by now.
    """
    assert schema.query is not None, "only materialized views are refreshed"
    query = ViewQuery.analysed(session, schema.query)
    now = columns_from_spark(query.facts.schema)
    if [to_arrow(field.type) for field in now] != [to_arrow(field.type) for field in schema.fields]:
        raise UnsupportedQueryError(
            reason=f"it returns the columns {_listed(now)} now, and the view has "
            + _listed(schema.fields)
        )
    return query


def _listed(fields: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {field.type.sql_name()}" for field in fields)


def _refreshed(
    session: PlannerSession, view: MaterializedView, *, is_full: bool, seen: set[str]
) -> Iterator[Refreshed]:
    seen.add(view.table.path)
    query = analysed_query(session, view.schema)
    below = [other for other in _views_below(session, query) if other.table.path not in seen]
    for other in below:
        yield from _refreshed(session, other, is_full=False, seen=seen)
    if below:
        query = analysed_query(session, view.schema)
    yield _brought_up(session, view, query, is_full=is_full)


def _views_below(session: PlannerSession, query: ViewQuery) -> Iterator[MaterializedView]:
    for source in query.facts.sources:
        table = open_logged(source.table_handle.path)
        schema = table.schema
        if schema.query is not None:
            access = CatalogAccess.of(session, source.relation.catalog)
            yield MaterializedView(
                relation=source.relation, access=access, table=table, schema=schema
            )


def _brought_up(
    session: PlannerSession, view: MaterializedView, query: ViewQuery, *, is_full: bool
) -> Refreshed:
    begin = time.monotonic()
    table = view.table
    snapshot = table.latest_snapshot()
    sink = SinkState.of(snapshot, JOB)
    progress = read_progress(table.file_io, table.path)
    is_known = progress is not None and progress.sink == sink
    step = _next_step(query, progress if is_known else None, is_full=is_full)
    barrier = max(table.clock.now_ms(), sink.commit + 1, progress.barrier + 1 if progress else 0)
    rows_changed = 0
    if step.rule is not Rule.NONE:
        rows = _changed_rows(view, query, snapshot, step)
        rows_changed = _written(session, view, query, snapshot, barrier, rows)
        if rows_changed:
            sink = SinkState.of(table.latest_snapshot(), JOB)
        done = Progress(barrier=barrier, sources=query.sources, sink=sink)
        write_progress(table.file_io, table.path, done)
    return Refreshed(
        view=view.name,
        barrier=barrier,
        rule=step.rule.value,
        reason=step.reason,
        rows_read=_row_count(query) if step.rule is Rule.FULL else step.row_count,
        rows_changed=rows_changed,
        milliseconds=round((time.monotonic() - begin) * 1000),
    )


def _next_step(query: ViewQuery, progress: Progress | None, *, is_full: bool) -> Step:
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
    kind = why_not_linear(query.plan)
    if kind is not None:
        return Step(Rule.FULL, f"there is no incremental rule for {kind}")
    names = sorted({change.source.relation.text for change in found})
    return Step(Rule.INCREMENTAL, f"changed: {', '.join(names)}", found)


def _changed_rows(
    view: MaterializedView, query: ViewQuery, snapshot: Snapshot | None, step: Step
) -> DataFrame:
    """The rows to insert into the view and to delete from it."""
    fields = view.schema.fields
    if step.rule is Rule.INCREMENTAL:
        return changes(_delta(query, step.changes), fields)
    if snapshot is None:
        return inserts(query.rows(), fields)
    old = f"SELECT * FROM {quoted_parts(view.parts)} VERSION AS OF {snapshot.id}"
    return changes([(query.rows(), 1), (query.sql(old), -1)], fields)


def _delta(query: ViewQuery, changed: Sequence[SourceChange]) -> list[tuple[DataFrame, int]]:
    """The terms of the query's change, each with its sign."""
    plan = query.plan
    by_path = {change.source.table_handle.path: change for change in changed}
    of_source = {}
    for number, source in enumerate(query.facts.sources):
        change = by_path.get(source.table_handle.path)
        # A table that the query reads AS OF an older version stays as it is.
        if change is not None and source.table_handle.snapshot_id == change.new:
            of_source[number] = change
    old = {
        node: of_source[plan.source_of(node)].old
        for node in plan.sources()
        if plan.source_of(node) in of_source
    }
    parts = []
    for term in delta_terms(plan, of_source.keys()):
        came, went = of_source[plan.source_of(term.changed)].changed(query)
        parts.append((query.term(term, came, old), 1))
        parts.append((query.term(term, went, old), -1))
    return parts


def _written(
    session: PlannerSession,
    view: MaterializedView,
    query: ViewQuery,
    snapshot: Snapshot | None,
    barrier: int,
    rows: DataFrame,
) -> int:
    """Commit the changes of the view's rows; how many there are."""
    request = Write(
        table=TableReference(
            relation=view.relation,
            handle=TableHandle(
                path=view.table.path,
                schema_id=view.schema.id,
                snapshot_id=None if snapshot is None else snapshot.id,
                written=tuple(rows.columns),
                change_type_column=CHANGE_TYPE,
                staged=view.staged,
            ),
        ),
        mode=WriteMode.APPEND,
        options={COMMIT_USER.key: JOB, COMMIT_IDENTIFIER.key: str(barrier)},
        command="REFRESH",
    )
    jvm = session.spark.sparkContext._jvm
    assert jvm is not None, "the planner is attached to a JVM"
    views = jvm.org.apache.spark.sql.tablestore.ViewQuery
    properties = {f"{SOURCE}{path}": str(at) for path, at in query.sources.items()}
    properties[BARRIER] = str(barrier)
    changed = write_with(session, request, views.written(rows._jdf), properties)
    if changed and view.staged is None:
        views.recache(session.spark._jsparkSession, list(view.parts))
    return changed


def _row_count(query: ViewQuery) -> int:
    """About how many rows the sources have."""
    count = 0
    for source in query.facts.sources:
        handle = source.table_handle
        if handle.snapshot_id is not None:
            snapshot = open_logged(handle.path).snapshot_store.get(handle.snapshot_id)
            count += snapshot.total_record_count
    return count
