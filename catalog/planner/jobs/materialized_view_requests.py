"""CREATE, ALTER, REFRESH, DROP and SHOW of materialized views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.definition.upkeep_change import UpkeepChange
from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.jobs.job_errors import SuspendedViewError
from table_store.catalog.jobs.progress import JOB_OF_VIEW, read_progress
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.registration import forget_sink
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.jobs.redefinition import (
    change_schema,
    check_policy,
    is_same_definition,
    redefine,
    refuse_cycle,
)
from table_store.catalog.planner.jobs.refresh import analysed_query, refresh
from table_store.catalog.planner.jobs.temporary_names import refuse_temporary
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.names.foreign_requests import is_foreign
from table_store.catalog.planner.names.spark_table import definition_of
from table_store.catalog.planner.names.table_requests import listed, managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.materialized_views import CreateMaterializedView
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.view_clauses import VIEW_CLAUSES, ViewClauses, ViewMode
from table_store.catalog.tables.staged_table import StagingMode
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.upkeep import Upkeep
from table_store.storage.kernel.errors import (
    InvalidSchemaError,
    TableStoreError,
)
from table_store.storage.log_store.logged_table import open_logged


def create_materialized_view(session: PlannerSession, request: CreateMaterializedView) -> None:
    """CREATE [OR REPLACE | OR REFRESH] MATERIALIZED VIEW, and ALTER MATERIALIZED VIEW … AS.

    A view is filled at once, and nobody sees it before it is filled.

    Raises:
        NamespaceNotFoundError: its namespace does not exist.
        AlreadyExistsError: its name is taken.
        WrongRelationKindError: the name is that of something else than a materialized view.
        UnsupportedQueryError: a view cannot be kept equal to the query.
        NotIncrementalError: the policy is INCREMENTAL STRICT, which the query does not allow.
        ViewKeyError: the result does not have one row for each key.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = require_identifier(request.relation)
    record = access.warehouse.find(identifier)
    if request.if_not_exists and record is not None:
        return
    clauses = ViewClauses.of_properties(request.definition.properties)
    if clauses.mode is ViewMode.ALTER:
        redefine(session, materialized_view(session, request.relation), request.query)
        return
    definition = _definition(request, clauses)
    view = None
    if clauses.mode is not ViewMode.CREATE and record is not None:
        view = materialized_view(session, request.relation)
    if view is None:
        _make(session, access, request, definition, StagingMode.CREATE)
        return
    if clauses.mode is ViewMode.REFRESH:
        settings = session.confs("table-storage.")
        if is_same_definition(view.schema, definition, settings):
            if clauses.upkeep != replace(view.schema.upkeep, is_suspended=False):
                change_schema(view.table, _with_upkeep(clauses.upkeep))
            refresh_materialized_view(session, request.relation, is_full=False)
            return
    refuse_cycle(session, view, JobQuery.analysed(session, request.query))
    _make(session, access, request, definition, StagingMode.REPLACE)
    forget_sink(access.warehouse, view.table.path)
    session.recache(view.parts)


def _definition(request: CreateMaterializedView, clauses: ViewClauses) -> TableDefinition:
    """The definition of the view's table."""
    if is_foreign(request.definition.properties):
        raise InvalidSchemaError(
            reason="a materialized view is a managed table; leave out USING and LOCATION"
        )
    properties = dict(request.definition.properties)
    properties.pop(VIEW_CLAUSES, None)
    found = definition_of(replace(request.definition, properties=properties))
    columns = found.columns
    if clauses.columns:
        if len(clauses.columns) != len(columns):
            raise InvalidSchemaError(
                reason=f"{len(clauses.columns)} columns are declared, and the query returns "
                f"{len(columns)}"
            )
        columns = tuple(
            replace(column, name=declared.name, comment=declared.comment)
            for column, declared in zip(columns, clauses.columns, strict=True)
        )
    return replace(
        found,
        columns=columns,
        primary_key=clauses.primary_key,
        constraint_name=clauses.constraint_name,
        query=request.query,
        upkeep=clauses.upkeep,
    )


def _make(
    session: PlannerSession,
    access: CatalogAccess,
    request: CreateMaterializedView,
    definition: TableDefinition,
    mode: StagingMode,
) -> None:
    settings = session.confs("table-storage.")
    identifier = require_identifier(request.relation)
    staged = access.lifecycle.staging.stage(identifier, definition, mode, settings=settings)
    with ExitStack() as undo:
        undo.callback(access.lifecycle.staging.abort, staged)
        table = open_logged(staged.location, access.warehouse.places.file_io_of(staged.location))
        view = Sink(
            relation=request.relation,
            access=access,
            table=table,
            schema=table.schema,
            job=JOB_OF_VIEW,
            staged=staged.to_json(),
        )
        query = analysed_query(session, view.schema)
        refuse_temporary(session, query)
        check_policy(view, query)
        refresh(session, view, is_full=True)
        undo.pop_all()
    access.lifecycle.staging.commit(staged)


def change_upkeep(
    session: PlannerSession, relation: RelationReference, change: UpkeepChange
) -> None:
    """ALTER MATERIALIZED VIEW SUSPEND, RESUME, SET REFRESH POLICY, … SCHEDULE.

    RESUME of a view that a statement about another table has suspended also refreshes it.

    Raises:
        WrongRelationKindError: the name is that of another table.
        InvalidSchemaError: there is no schedule to change, or there is one already.
        NotIncrementalError: the new policy is INCREMENTAL STRICT, which the query does not allow.
    """
    view = materialized_view(session, relation)
    if change.policy is not None:
        changed = replace(view.schema, upkeep=change.applied(view.schema.upkeep))
        check_policy(replace(view, schema=changed), analysed_query(session, changed))
    is_resumed = change.is_suspended is False and view.schema.upkeep.suspended_because is not None
    if is_resumed:
        analysed_query(session, view.schema)  # what has suspended it may still be there
    change_schema(view.table, lambda old: replace(old, upkeep=change.applied(old.upkeep)))
    if is_resumed:
        refresh_materialized_view(session, relation, is_full=False)


def _with_upkeep(upkeep: Upkeep) -> Callable[[TableSchema], TableSchema]:
    return lambda old: replace(old, upkeep=upkeep)


def refresh_materialized_view(
    session: PlannerSession, relation: RelationReference, *, is_full: bool
) -> Sequence[Refreshed]:
    """REFRESH MATERIALIZED VIEW: one answer for each view, the named one last.

    Raises:
        WrongRelationKindError: the name is that of another table.
        SuspendedViewError: the view is suspended.
        CommitConflictError: another refresh of the same view was faster.
        NotIncrementalError: its policy is INCREMENTAL STRICT, and that is not possible.
        ViewKeyError: the result does not have one row for each key.
    """
    view = materialized_view(session, relation)
    if view.schema.upkeep.is_suspended:
        because = view.schema.upkeep.suspended_because
        raise SuspendedViewError(name=view.name, because=because)
    return refresh(session, view, is_full=is_full)


def materialized_view(session: PlannerSession, relation: RelationReference) -> Sink:
    """The materialized view of a name.

    Raises:
        NotFoundError: nothing has the name.
        WrongRelationKindError: something else has it.
    """
    access, managed = managed_table(session, relation)
    if managed.schema.query is None:
        raise WrongRelationKindError(
            name=str(managed.identifier), found="table", needed="materialized view"
        )
    table = open_logged(managed.location, access.warehouse.places.file_io_of(managed.location))
    return Sink(
        relation=relation, access=access, table=table, schema=managed.schema, job=JOB_OF_VIEW
    )


@dataclass(frozen=True, slots=True)
class ListedView:
    """A row of SHOW MATERIALIZED VIEWS; `barrier` is the last to which it was brought, if known."""

    identifier: Identifier
    upkeep: Upkeep
    barrier: int | None


def listed_materialized_views(
    session: PlannerSession, relation: RelationReference
) -> list[ListedView]:
    """The views in the namespace of `relation`, whose name has no meaning, by name.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    access = CatalogAccess.of(session, relation.catalog)
    found = []
    for name in listed(session, relation.catalog, relation.namespace, (RelationKind.TABLE,)):
        try:
            managed = access.lifecycle.load(Identifier(relation.namespace[0], name))
            if managed.schema.query is None:
                continue
            progress = read_progress(open_logged(managed.location).file_io, managed.location)
        except TableStoreError:
            continue  # it was dropped just now, or is damaged, which a statement about it tells
        barrier = None if progress is None else progress.barrier
        found.append(ListedView(managed.identifier, managed.schema.upkeep, barrier))
    return sorted(found, key=lambda view: view.identifier.name)
