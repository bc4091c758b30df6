"""Analysed queries that are kept from one epoch to the next.

An analysis is a function of the query's text and settings, of the catalogs, and of the tables that
its names stand for: their directories, when they were created, and their columns. A query that
depends on anything else (a view, the time, somebody's function) is analysed each time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.planner.epochs.job_query import AS_THEY_ARE, JobQuery
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.named_relation import temporary_identifier
from table_store.catalog.planner.names.supposed_schema import supposed_schema
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.json_form import to_json
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.logged_table import known_table


@dataclass(frozen=True, slots=True)
class Target:
    """The columns that an INSERT writes: a table's directory, creation (ms since 1970) and schema.

    Spark gives the query's columns their types and adds those that are left out.
    """

    path: str
    created_ms: int
    schema_id: int

    @classmethod
    def of(cls, table: FileStoreTable, schema: TableSchema) -> Target:
        """What an INSERT INTO a table with a schema writes."""
        return cls(table.path, table.created_ms, schema.id)


@dataclass(frozen=True, slots=True)
class _Key:
    context: str
    query: str
    target: Target | None


@dataclass(slots=True)
class _Kept:
    """Queries of the last Spark context, those that were asked for last."""

    entries_max: int
    _application: str = ""
    _queries: dict[_Key, JobQuery] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: _Key) -> JobQuery | None:
        with self._lock:
            found = self._queries.pop(key, None)
            if found is not None:
                self._queries[key] = found
            return found

    def put(self, key: _Key, query: JobQuery, application: str) -> None:
        with self._lock:
            if application != self._application:
                self._application = application
                self._queries.clear()
            self._queries[key] = query
            while len(self._queries) > self.entries_max:
                del self._queries[next(iter(self._queries))]


_KEPT: Final = _Kept(entries_max=64)


def context_of(session: PlannerSession) -> str:
    """What an analysis depends on in a session: the application, and what its catalogs are."""
    return str(session.bridge.JobQuery.contextOf(session.spark._jsparkSession))


def analysed(
    session: PlannerSession,
    query: StoredQuery,
    snapshots: Mapping[str, int] = AS_THEY_ARE,
    target: Target | None = None,
    context: str | None = None,
) -> JobQuery:
    """A stored query as `JobQuery.analysed` gives it; an analysis that still holds is not repeated.

    `target` is what the query writes if it is that of an INSERT, `context` the session's if it is
    known. Without analysis it costs a look at each table.

    Raises:
        UnsupportedQueryError: see `JobQuery.analysed`.
    """
    context = context_of(session) if context is None else context
    key = _Key(context, json.dumps(to_json(query), sort_keys=True), target)
    known = _KEPT.get(key)
    heads = None if known is None else _heads(session, known)
    if known is not None and heads is not None:
        found = moved(known, {**heads, **snapshots})
        if found is not None:
            return found.in_session(session)
    new = JobQuery.analysed(session, query, snapshots)
    if new.facts.is_lasting:
        _KEPT.put(key, new, json.loads(context)[0])
    return new


def moved(query: JobQuery, snapshots: Mapping[str, int]) -> JobQuery | None:
    """The same query over other snapshots of some tables, by directory, for another epoch.

    None if it has to be analysed once more.
    """
    at = {path: snapshots.get(path, known) for path, known in query.sources.items()}
    return query.at(at) if query.facts.is_lasting else None


def _heads(session: PlannerSession, query: JobQuery) -> dict[str, int] | None:
    """The last snapshots of a query's tables; None if it would have others, or other columns."""
    heads = {}
    for source in query.facts.sources:
        try:
            head = _head(session, source, query.created[source.table_handle.path])
        except TableStoreError:
            return None  # the analysis says what it is
        if head is None:
            return None
        heads[source.table_handle.path] = head
    return heads


def _head(session: PlannerSession, source: TableReference, created_ms: int) -> int | None:
    handle, identifier = source.table_handle, source.relation.identifier
    if identifier is None or supposed_schema(handle.path) is not None:
        return None
    access = CatalogAccess.of(session, source.relation.catalog)
    own = access.session_source(source.relation.catalog, identifier.name)
    if own is None:
        managed = access.lifecycle.load(identifier)
    else:
        managed = own.load(temporary_identifier(identifier))
    table = known_table(managed.location, access.warehouse.places.file_io_of(managed.location))
    snapshot = table.latest_snapshot()
    first = managed.schema
    created = first.time_ms if first.id == 0 else table.created_ms
    if snapshot is None and connector_of(managed.schema) is not None:
        is_same = (managed.location, created) == (handle.path, created_ms)
        return 0 if is_same and managed.schema.id == handle.schema_id else None
    if snapshot is None or managed.location != handle.path or created != created_ms:
        return None
    is_same = max(managed.schema.id, snapshot.schema_id) == handle.schema_id
    return snapshot.id if is_same else None
