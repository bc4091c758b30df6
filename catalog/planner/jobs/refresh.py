"""Brings materialized views to the results of their queries, those below first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.errors import UnsupportedQueryError
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.planner.jobs.epoch import Refreshed, advance
from table_store.catalog.planner.jobs.job_query import JobQuery
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.types import to_arrow
from table_store.storage.log_store.logged_table import open_logged


def refresh(session: PlannerSession, view: Sink, *, is_full: bool) -> list[Refreshed]:
    """Refresh the views that a view reads, then the view itself, which is the last of the answer.

    A view below that is suspended stays as it is, with all that only it reads. `is_full` recomputes
    the view itself even if nothing has changed that it reads.

    Raises:
        UnsupportedQueryError: the query has become one that no view can be kept equal to.
        CommitConflictError: another refresh of the same view was faster.
    """
    return list(_refreshed(session, view, is_full=is_full, seen=set()))


def analysed_query(session: PlannerSession, schema: TableSchema) -> JobQuery:
    """The query of a materialized view, checked against the view's columns.

    Raises:
        UnsupportedQueryError: the columns of its result are others by now.
    """
    assert schema.query is not None, "only materialized views are refreshed"
    query = JobQuery.analysed(session, schema.query)
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
    session: PlannerSession, view: Sink, *, is_full: bool, seen: set[str]
) -> Iterator[Refreshed]:
    seen.add(view.table.path)
    query = analysed_query(session, view.schema)
    below = [
        other
        for other in views_below(session, query)
        if other.table.path not in seen and not other.schema.upkeep.is_suspended
    ]
    for other in below:
        yield from _refreshed(session, other, is_full=False, seen=seen)
    if below:
        query = analysed_query(session, view.schema)
    yield advance(session, view, query, is_full=is_full)


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
