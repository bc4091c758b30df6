"""CREATE, REFRESH, DROP and SHOW of materialized views."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.planner.jobs.epoch import Refreshed
from table_store.catalog.planner.jobs.refresh import JOB, refresh
from table_store.catalog.planner.jobs.sink import Sink
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.names.foreign_requests import is_foreign
from table_store.catalog.planner.names.spark_table import definition_of
from table_store.catalog.planner.names.table_requests import listed, managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.materialized_views import CreateMaterializedView
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.tables.staged_table import StagingMode
from table_store.storage.kernel.errors import (
    InvalidSchemaError,
    TableStoreError,
)
from table_store.storage.log_store.logged_table import open_logged


def create_materialized_view(session: PlannerSession, request: CreateMaterializedView) -> None:
    """Make a materialized view and fill it; nobody sees it before it is filled.

    Raises:
        NamespaceNotFoundError: its namespace does not exist.
        AlreadyExistsError: its name is taken.
        UnsupportedQueryError: a view cannot be kept equal to the query.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = require_identifier(request.relation)
    if request.if_not_exists and access.warehouse.find(identifier) is not None:
        return
    if is_foreign(request.definition.properties):
        raise InvalidSchemaError(
            reason="a materialized view is a managed table; leave out USING and LOCATION"
        )
    definition = replace(definition_of(request.definition), query=request.query)
    settings = session.confs("table-storage.")
    staged = access.lifecycle.stage(identifier, definition, StagingMode.CREATE, settings=settings)
    with ExitStack() as undo:
        undo.callback(access.lifecycle.abort_staged, staged)
        table = open_logged(staged.location, access.warehouse.places.file_io_of(staged.location))
        view = Sink(
            relation=request.relation,
            access=access,
            table=table,
            schema=table.schema,
            job=JOB,
            staged=staged.to_json(),
        )
        refresh(session, view, is_full=True)
        undo.pop_all()
    access.lifecycle.commit_staged(staged)


def refresh_materialized_view(
    session: PlannerSession, relation: RelationReference, *, is_full: bool
) -> Sequence[Refreshed]:
    """REFRESH MATERIALIZED VIEW: one answer for each view, the named one last.

    Raises:
        WrongRelationKindError: the name is that of another table.
        CommitConflictError: another refresh of the same view was faster.
    """
    return refresh(session, materialized_view(session, relation), is_full=is_full)


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
    return Sink(relation=relation, access=access, table=table, schema=managed.schema, job=JOB)


def names_of_materialized_views(
    session: PlannerSession, relation: RelationReference
) -> list[tuple[str, str]]:
    """(namespace, name) of the views in the namespace of `relation`, whose name has no meaning.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    access = CatalogAccess.of(session, relation.catalog)
    found = []
    for name in listed(session, relation.catalog, relation.namespace, (RelationKind.TABLE,)):
        try:
            managed = access.lifecycle.load(Identifier(relation.namespace[0], name))
        except TableStoreError:
            continue  # it was dropped just now, or is damaged, which a statement about it tells
        if managed.schema.query is not None:
            found.append((managed.identifier.namespace, managed.identifier.name))
    return sorted(found)
