"""Temporary tables of the session whose statement defines a job, which has a session of its own.

A job may write one, and ends with it. It may read one whose rows a connector makes, and goes on.
"""

from __future__ import annotations

import json
from dataclasses import replace

from table_store.catalog.jobs.job_errors import UnsupportedQueryError
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.names.catalog_access import (
    EXTERNAL_TABLES,
    TEMPORARY_TABLES_OF,
    CatalogAccess,
)
from table_store.catalog.planner.names.catalog_of import catalog_setting, managed_catalogs
from table_store.catalog.planner.names.table_requests import is_temporary
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.tables.session_sources import SessionSources, external_tables
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.frozen_map import FrozenMap


def why_temporary(session: PlannerSession, query: JobQuery) -> str | None:
    """Which temporary table of the session a query names; None if none.

    A job of such a query would read the permanent table that it hides.
    """
    for source in query.facts.sources:
        relation = source.relation
        access = CatalogAccess.of(session, relation.catalog)
        if access.session_source(relation.catalog, relation.name) is not None:
            continue
        if is_temporary(session, access, relation):
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


def with_sources(session: PlannerSession, insert: StoredQuery) -> StoredQuery:
    """An INSERT whose job finds the session's external tables that the text may name."""
    current = [one for one in managed_catalogs(session) if one.name == insert.current_catalog]
    if not current:
        return insert
    (catalog,) = current
    access = CatalogAccess.of(session, catalog)
    text, places = insert.text.lower(), SessionSources(access.warehouse)
    digests = {
        table.identifier.name.lower(): places.add(table)
        for table in external_tables(access.temporary.lifecycle())
        if table.identifier.name.lower() in text
    }
    if not digests:
        return insert
    key = catalog_setting(catalog.name, EXTERNAL_TABLES)
    settings = {**insert.settings, key: json.dumps(digests, sort_keys=True)}
    return replace(insert, settings=FrozenMap(settings))


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
