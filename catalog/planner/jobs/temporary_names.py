"""Temporary tables of the session whose statement defines a job, which has a session of its own."""

from __future__ import annotations

from dataclasses import replace

from table_store.catalog.jobs.job_errors import UnsupportedQueryError
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.names.catalog_access import TEMPORARY_TABLES_OF, CatalogAccess
from table_store.catalog.planner.names.catalog_of import catalog_setting
from table_store.catalog.planner.names.table_requests import is_temporary
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.model.schema import StoredQuery
from table_store.storage.kernel.frozen_map import FrozenMap


def why_temporary(session: PlannerSession, query: JobQuery) -> str | None:
    """Which temporary table of the session a query names; None if none.

    A job of such a query would read the permanent table that it hides.
    """
    for source in query.facts.sources:
        relation = source.relation
        if is_temporary(session, CatalogAccess.of(session, relation.catalog), relation):
            return f"it reads {relation.text}, a temporary table, which ends with its session"
    return None


def refuse_temporary(session: PlannerSession, query: JobQuery) -> None:
    """Refuse to keep a materialized view equal to such a query.

    Raises:
        UnsupportedQueryError: it names a temporary table.
    """
    reason = why_temporary(session, query)
    if reason is not None:
        raise UnsupportedQueryError(reason=reason)


def seen_by_job(
    session: PlannerSession, insert: StoredQuery, sink: RelationReference
) -> tuple[StoredQuery, RelationReference]:
    """An INSERT into a temporary table, and the table's name, as the job's own session finds it."""
    catalog = sink.catalog
    key = catalog_setting(catalog.name, TEMPORARY_TABLES_OF)
    settings = FrozenMap({**insert.settings, key: session.id})
    options = FrozenMap({**catalog.options, TEMPORARY_TABLES_OF: session.id})
    seen = replace(sink, catalog=replace(catalog, options=options, only_temporary=True))
    return replace(insert, settings=settings), seen
