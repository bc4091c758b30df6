"""Requests about persisted views."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from table_store.catalog.errors import RelationNotFoundError
from table_store.catalog.names.name_record import RelationKind, ViewDefinition
from table_store.catalog.names.warehouse import DefineMode
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.names.table_requests import listed
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.namespaces import ListViews
from table_store.catalog.planner.protocol.views import (
    DefineView,
    DropView,
    NoteViewColumns,
    RenameView,
)
from table_store.storage.kernel.errors import NotFoundError


def list_views(session: PlannerSession, request: ListViews) -> tuple[str, ...]:
    """The names of the views of a namespace.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    return listed(session, request.catalog, request.namespace, (RelationKind.VIEW,))


def define_view(session: PlannerSession, request: DefineView) -> None:
    """Create or replace a view.

    Raises:
        NamespaceNotFoundError: its namespace does not exist.
        AlreadyExistsError: its name is taken.
        NotFoundError: there is no view to replace.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = require_identifier(request.relation)
    access.warehouse.define(identifier, request.view, request.mode)


def note_view_columns(session: PlannerSession, request: NoteViewColumns) -> None:
    """Record the columns that a view's query has now, unless the view was redefined meanwhile."""
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    record = None if identifier is None else access.warehouse.find(identifier)
    if identifier is None or record is None or not isinstance(record.target, ViewDefinition):
        return
    known = record.target
    view = replace(known, columns=request.columns)
    if known.query_text == request.query_text and view != known:
        with suppress(NotFoundError):
            access.warehouse.define(identifier, view, DefineMode.REPLACE, known=known)


def drop_view(session: PlannerSession, request: DropView) -> bool:
    """Drop a view; return whether there was one."""
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    record = None if identifier is None else access.warehouse.find(identifier)
    if record is None or record.kind is not RelationKind.VIEW:
        return False
    access.warehouse.drop(record)
    return True


def rename_view(session: PlannerSession, request: RenameView) -> None:
    """Give a view another name.

    Raises:
        NotFoundError: no view has the old name.
        NamespaceNotFoundError: there is no such namespace for the new one.
        AlreadyExistsError: the new name is taken.
    """
    access = CatalogAccess.of(session, request.relation.catalog)
    source = request.relation.identifier
    if source is None:
        raise RelationNotFoundError(name=request.relation.text)
    target = require_identifier(request.to)
    access.warehouse.rename(source, target, RelationKind.VIEW)
