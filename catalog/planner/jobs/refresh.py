"""Brings materialized views to the results of their queries, those below first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.errors import UnsupportedQueryError
from table_store.catalog.jobs.ledger import Barrier, Ledger
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.planner.jobs.epoch import Refreshed, advance
from table_store.catalog.planner.jobs.job_query import AS_THEY_ARE, JobQuery
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.jobs.standing import Standing
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.types import to_arrow
from table_store.storage.log_store.logged_table import open_logged

_Job: TypeAlias = tuple[Sink, JobQuery]


def refresh(session: PlannerSession, view: Sink, *, is_full: bool) -> list[Refreshed]:
    """Refresh the views that a view reads, then the view itself, which is the last of the answer.

    A view below that is suspended stays as it is, with all that only it reads. `is_full` recomputes
    the view itself even if nothing has changed that it reads.

    Raises:
        UnsupportedQueryError: the query has become one that no view can be kept equal to.
        CommitConflictError: another refresh of the same view was faster.
    """
    warehouse = view.access.warehouse
    ledger = Ledger(warehouse.file_io, warehouse.root, warehouse.ids)
    while True:
        last = ledger.latest()
        jobs = list(_jobs(session, view, seen=set()))
        barrier = _barrier(ledger, last, view, jobs, is_full=is_full)
        if barrier is not None:
            return _advanced(session, view, jobs, barrier, is_full=is_full)


def analysed_query(
    session: PlannerSession, schema: TableSchema, snapshots: Mapping[str, int] = AS_THEY_ARE
) -> JobQuery:
    """The query of a materialized view, checked against the view's columns.

    `snapshots` has those of tables, by directory, that are not read as they are now.

    Raises:
        UnsupportedQueryError: the columns of its result are others by now.
    """
    assert schema.query is not None, "only materialized views are refreshed"
    query = JobQuery.analysed(session, schema.query, snapshots)
    now = columns_from_spark(query.facts.schema)
    if [to_arrow(field.type) for field in now] != [to_arrow(field.type) for field in schema.fields]:
        raise UnsupportedQueryError(
            reason=f"it returns the columns {_listed(now)} now, and the view has "
            + _listed(schema.fields)
        )
    return query


def _listed(fields: Sequence[Field]) -> str:
    return ", ".join(f"{field.name} {field.type.sql_name()}" for field in fields)


def _jobs(session: PlannerSession, view: Sink, *, seen: set[str]) -> Iterator[_Job]:
    """The views to refresh that a view reads, before those that read them, and the view itself."""
    seen.add(view.table.path)
    query = analysed_query(session, view.schema)
    for other in views_below(session, query):
        if other.table.path not in seen and not other.schema.upkeep.is_suspended:
            yield from _jobs(session, other, seen=seen)
    yield view, query


def _barrier(
    ledger: Ledger, last: Barrier | None, view: Sink, jobs: Sequence[_Job], *, is_full: bool
) -> Barrier | None:
    """A barrier of all that the queries read; None if another one was cut meanwhile.

    It is the last one if there is nothing to do.
    """
    standings = [Standing.of(sink) for sink, _ in jobs]
    is_current = all(
        standing.is_current(query) for standing, (_, query) in zip(standings, jobs, strict=True)
    )
    after = max(standing.barrier for standing in standings)
    if last is not None and last.number >= after and is_current and not is_full:
        return last
    known = {} if last is None else last.snapshots
    return ledger.extended(last, max(view.table.clock.now_ms(), after + 1), _heads(jobs, known))


def _heads(jobs: Sequence[_Job], known: Mapping[str, int]) -> dict[str, int]:
    """The last snapshots of the roots; `known` are those of the last barrier."""
    sinks = {sink.table.path for sink, _ in jobs}
    heads: dict[str, int] = {}
    for _, query in jobs:
        for path in query.sources.keys() - sinks:
            heads[path] = max(heads.get(path, 0), query.sources[path])
    for path, head in heads.items():
        if head < known.get(path, 0):
            # All queries read it AS OF an older version, or it is another table by now.
            latest = open_logged(path).latest_snapshot()
            heads[path] = 0 if latest is None else latest.id
    return heads


def _advanced(
    session: PlannerSession, view: Sink, jobs: Sequence[_Job], barrier: Barrier, *, is_full: bool
) -> list[Refreshed]:
    sinks = {sink.table.path for sink, _ in jobs}
    roots = {path: at for path, at in barrier.snapshots.items() if path not in sinks}
    done: list[Refreshed] = []
    changed: set[str] = set()
    for sink, known in jobs:
        query = known
        is_at_barrier = all(at == roots.get(path, at) for path, at in query.sources.items())
        if changed.intersection(query.sources) or not is_at_barrier:
            query = analysed_query(session, sink.schema, roots)
        is_asked = is_full and sink is view
        done.append(advance(session, sink, query, is_full=is_asked, barrier=barrier.number))
        if done[-1].rows_changed:
            changed.add(sink.table.path)
    return done


def views_below(session: PlannerSession, query: JobQuery) -> Iterator[Sink]:
    """The materialized views that a query reads."""
    for source in query.facts.sources:
        table = open_logged(source.table_handle.path)
        schema = table.schema
        if schema.query is not None:
            access = CatalogAccess.of(session, source.relation.catalog)
            yield Sink(
                relation=source.relation, access=access, table=table, schema=schema, job=JOB_OF_VIEW
            )
