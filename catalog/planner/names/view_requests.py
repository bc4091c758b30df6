"""Requests about persisted views."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from table_store.catalog.errors import NamespaceNotFoundError
from table_store.catalog.names.name_record import RelationKind, ViewDefinition
from table_store.catalog.names.warehouse import DefineMode
from table_store.catalog.planner.names.catalog_access import CatalogAccess, identifier_of
from table_store.catalog.planner.names.table_requests import listed
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.kernel.errors import AlreadyExistsError, NotFoundError


def list_views(session: PlannerSession, argument: Argument) -> list[str] | None:
    """The names of the views of a namespace."""
    return listed(session, argument, (RelationKind.VIEW,))


def create_view(session: PlannerSession, argument: Argument) -> str:
    """The word "written", or the one for what is in the way."""
    return _written(session, argument, DefineMode.CREATE)


def replace_view(session: PlannerSession, argument: Argument) -> str:
    """The word "written", or the one for what is in the way."""
    return _written(session, argument, DefineMode.REPLACE)


def create_or_replace_view(session: PlannerSession, argument: Argument) -> str:
    """The word "written", or the one for what is in the way."""
    return _written(session, argument, DefineMode.CREATE_OR_REPLACE)


def note_view_columns(session: PlannerSession, argument: Argument) -> None:
    """Give a view the columns that its query has now; not one that was redefined meanwhile."""
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    record = None if identifier is None else access.warehouse.find(identifier)
    if identifier is None or record is None or not isinstance(record.target, ViewDefinition):
        return
    known = record.target
    view = replace(known, columns=argument["columns"])
    if known.query_text == argument["queryText"] and view != known:
        with suppress(NotFoundError):
            access.warehouse.define(identifier, view, DefineMode.REPLACE, known=known)


def drop_view(session: PlannerSession, argument: Argument) -> bool:
    """Whether there was a view to drop."""
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    record = None if identifier is None else access.warehouse.find(identifier)
    if record is None or record.kind is not RelationKind.VIEW:
        return False
    access.warehouse.drop(record)
    return True


def rename_view(session: PlannerSession, argument: Argument) -> str:
    """The word "renamed", or the one for what is in the way."""
    access = CatalogAccess.of(session, argument)
    source, target = identifier_of(argument), identifier_of(argument["to"])
    if source is None:
        return "no_such_relation"
    if target is None:
        return "no_such_namespace"
    try:
        access.warehouse.rename(source, target, RelationKind.VIEW)
    except NamespaceNotFoundError:
        return "no_such_namespace"
    except NotFoundError:
        return "no_such_relation"
    except AlreadyExistsError:
        return "relation_exists"
    return "renamed"


def _written(session: PlannerSession, argument: Argument, mode: DefineMode) -> str:
    access = CatalogAccess.of(session, argument)
    identifier = identifier_of(argument)
    if identifier is None:
        return "no_such_namespace"
    view = ViewDefinition.from_json(argument["view"])
    try:
        access.warehouse.define(identifier, view, mode)
    except NamespaceNotFoundError:
        return "no_such_namespace"
    except AlreadyExistsError:
        return "view_exists"
    except NotFoundError:
        return "no_such_view"
    return "written"
