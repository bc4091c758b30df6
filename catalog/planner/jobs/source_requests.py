"""ALTER, DROP and RENAME of tables, on which jobs may stand."""

from __future__ import annotations

from dataclasses import replace

from table_store.catalog.definition.fate import Fate
from table_store.catalog.definition.spark_change import change_from_spark
from table_store.catalog.definition.table_change import changed_schema, with_kept_columns
from table_store.catalog.jobs.progress import JOB_OF_VIEW, read_progress
from table_store.catalog.jobs.renamed_query import TableName, renamed_table
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord, RelationKind
from table_store.catalog.names.namespace_store import check_droppable
from table_store.catalog.planner.epochs.consumers import Dependent, note_consumer
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.registration import forget_sink, register_view
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.jobs.alteration import (
    STRUCTURAL,
    Alteration,
    analysed_or_reason,
)
from table_store.catalog.planner.jobs.dependents import (
    all_dependents,
    fate_or,
    refuse,
    release_sources,
    running,
    stop,
    writers,
)
from table_store.catalog.planner.jobs.key_change import alter_key, key_change
from table_store.catalog.planner.jobs.redefinition import change_schema
from table_store.catalog.planner.names import namespace_requests, table_requests
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.namespaces import DropNamespace
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.tables import (
    AlterTable,
    DropTable,
    LoadedTable,
    RenameTable,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.log_store.logged_table import open_logged


def alter_table(session: PlannerSession, request: AlterTable) -> LoadedTable:
    """Change a table, and with it the views on it, which go on, as do jobs that write it.

    Raises:
        DependentsError: one could not go on, and the statement does not say what becomes of it.
    """
    change = key_change(session, request)
    if change is not None:
        return alter_key(session, change)
    found = _record(session, request.relation)
    if found is None:
        return table_requests.alter_table(session, request)
    access, record = found
    asked = [change_from_spark(change) for change in request.changes]
    if not any(isinstance(change, STRUCTURAL) for change in asked):
        return table_requests.alter_table(session, request)
    location = access.warehouse.location(record)
    before = open_logged(location).schema
    changes = with_kept_columns(before, [change for change in asked if change is not None])
    structural = [change for change in changes if isinstance(change, STRUCTURAL)]
    after = changed_schema(before, changes, time_ms=before.time_ms)
    parts = (access.name, record.identifier.namespace, record.identifier.name)
    alteration = Alteration(parts, structural, {location: after})
    alteration.follow(session, [*all_dependents(record, access), *writers(session, location)])
    operation, name = "ALTER TABLE", access.qualified(record.identifier)
    fate = fate_or(Fate.RESTRICT)
    if fate is Fate.RESTRICT:
        refuse(operation, name, alteration.stopped)
    loaded = table_requests.alter_table(session, request)
    for dependent in alteration.changed:
        _define(dependent, alteration.schemas[dependent.table.path])
    stop(session, access, alteration.stopped, fate)
    return loaded


def _define(dependent: Dependent, after: TableSchema) -> None:
    change_schema(dependent.table, lambda old: replace(old, fields=after.fields, query=after.query))


def drop_table(session: PlannerSession, request: DropTable) -> bool:
    """Drop a table, which suspends the views on it; return whether there was one.

    Raises:
        DependentsError: something stands on it, and the statement says RESTRICT.
    """
    found = _record(session, request.relation)
    if found is None:
        return table_requests.drop_table(session, request)
    access, record = found
    stopped = _stopped_by_drop(session, access, record)
    fate = fate_or(Fate.SUSPEND)
    if fate is Fate.RESTRICT:
        refuse("DROP TABLE", access.qualified(record.identifier), stopped)
    release_sources(access.qualified(record.identifier), access.warehouse.location(record))
    is_dropped = table_requests.drop_table(session, request)
    if is_dropped:
        forget_sink(access.warehouse, access.warehouse.location(record))
        stop(session, access, stopped, fate)
    return is_dropped


def drop_namespace(session: PlannerSession, request: DropNamespace) -> bool:
    """Drop a namespace, which suspends the views elsewhere that stand on its tables.

    Raises:
        NamespaceNotEmptyError: the namespace is not empty, and CASCADE is not given.
        ProtectedNamespaceError: it is `default`.
    """
    access = CatalogAccess.of(session, request.catalog)
    stopped = []
    locations = []
    check_droppable(".".join(request.namespace))
    namespace = request.namespace[0] if len(request.namespace) == 1 else None
    if namespace is not None and request.cascade and access.warehouse.find_namespace(namespace):
        for record in access.warehouse.records(namespace, (RelationKind.TABLE,)):
            locations.append(access.warehouse.location(record))
            release_sources(access.qualified(record.identifier), locations[-1])
            stopped += _stopped_by_drop(session, access, record)
    is_dropped = namespace_requests.drop_namespace(session, request)
    if is_dropped:
        for location in locations:
            forget_sink(access.warehouse, location)
        stop(session, access, stopped, Fate.SUSPEND)
    return is_dropped


def _stopped_by_drop(
    session: PlannerSession, access: CatalogAccess, record: NameRecord
) -> list[tuple[Dependent, str]]:
    reason = f"{access.qualified(record.identifier)}, which it reads, was dropped"
    return [(one, reason) for one in running(session, all_dependents(record, access))]


def rename_table(session: PlannerSession, request: RenameTable) -> None:
    """Give a table another name, also in the queries of views.

    Raises:
        DependentsError: a view's query cannot be rewritten, or a job has the old name.
    """
    found = _record(session, request.relation)
    if found is None:
        table_requests.rename_table(session, request)
        return
    access, record = found
    location = access.warehouse.location(record)
    old, queries = record.identifier, []
    dependents = running(session, all_dependents(record, access))
    jobs = [one for one in dependents if not one.is_view] + writers(session, location)
    stopped = [(job, "its text has the old name") for job in jobs]
    for dependent in (one for one in dependents if one.is_view):
        schema = dependent.table.schema
        if schema.query is not None and not schema.upkeep.is_suspended:
            query = analysed_or_reason(session, schema.query)
            if isinstance(query, JobQuery):
                queries.append((dependent, schema.query, query))
    fate = fate_or(Fate.RESTRICT)
    if fate is Fate.RESTRICT:
        refuse("ALTER TABLE", access.qualified(old), stopped)
    table_requests.rename_table(session, request)
    new = request.to.identifier
    assert new is not None, "it has got this name"
    for dependent, stored, before in queries:
        text = _renamed(session, access, stored, before.meaning, (old, new))
        if text is None:
            stopped.append((dependent, f"its query cannot be rewritten to read {new}"))
        else:
            _rewrite(dependent, stored, text)
    if fate is Fate.RESTRICT and stopped:
        _undo(session, request, queries)
        refuse("ALTER TABLE", access.qualified(old), stopped)
    stop(session, access, stopped, fate)
    _rename_consumer(access, request.to, location, access.qualified(old))


def _undo(
    session: PlannerSession,
    request: RenameTable,
    queries: list[tuple[Dependent, StoredQuery, JobQuery]],
) -> None:
    back = RenameTable(relation=request.to, to=request.relation)
    table_requests.rename_table(session, back)
    for dependent, query, _ in queries:
        _rewrite(dependent, query, query.text)


def _rewrite(dependent: Dependent, query: StoredQuery, text: str) -> None:
    change_schema(dependent.table, lambda now: replace(now, query=replace(query, text=text)))


def _renamed(
    session: PlannerSession,
    access: CatalogAccess,
    query: StoredQuery,
    meaning: str,
    names: tuple[Identifier, Identifier],
) -> str | None:
    """The query's text with a table's new name that means the same; None if there is none."""
    old, new = ((access.name, name.namespace, name.name) for name in names)
    current = (query.current_catalog, *query.current_namespace)
    name = TableName(parts=old, current=current)
    for text in (query.text, *renamed_table(query.text, name, new)):
        found = analysed_or_reason(session, replace(query, text=text))
        if isinstance(found, JobQuery) and found.meaning == meaning:
            return text
    return None


def _rename_consumer(
    access: CatalogAccess, relation: RelationReference, location: str, old: str
) -> None:
    """Let a view's sources know it by its new name."""
    table = open_logged(location)
    schema = table.schema
    progress = None if schema.query is None else read_progress(table.file_io, table.path)
    if progress is not None:
        release_sources(old, location)
        sink = Sink(relation=relation, access=access, table=table, schema=schema, job=JOB_OF_VIEW)
        note_consumer(sink, progress.followed.sources)
        known = JobRegistry.of(access.warehouse).find(location)
        register_view(sink, progress.followed.sources, known.names if known else {})


def _record(
    session: PlannerSession, relation: RelationReference
) -> tuple[CatalogAccess, NameRecord] | None:
    """The managed table of a name; None for everything else, temporary tables included."""
    access, identifier = CatalogAccess.of(session, relation.catalog), relation.identifier
    if identifier is None or table_requests.is_temporary(session, access, relation):
        return None
    record = access.warehouse.find(identifier)
    return None if record is None or record.kind is not RelationKind.TABLE else (access, record)
