"""Requests about namespaces."""

from __future__ import annotations

from typing import Any

from table_store.catalog.errors import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess, namespace_of
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.kernel.errors import NotFoundError


def list_namespaces(session: PlannerSession, argument: Argument) -> list[str]:
    """The names of all namespaces."""
    return list(CatalogAccess.of(session, argument).warehouse.namespaces())


def load_namespace(session: PlannerSession, argument: Argument) -> dict[str, str] | None:
    """The properties of a namespace; None where it does not exist."""
    name = namespace_of(argument)
    found = None
    if name is not None:
        found = CatalogAccess.of(session, argument).warehouse.find_namespace(name)
    return None if found is None else dict(found.properties)


def create_namespace(session: PlannerSession, argument: Argument) -> bool:
    """Whether it was made; False where it was there."""
    try:
        CatalogAccess.of(session, argument).warehouse.create_namespace(
            _one_level(argument), argument["properties"]
        )
    except NamespaceAlreadyExistsError:
        return False
    return True


def alter_namespace(session: PlannerSession, argument: Argument) -> None:
    """Set and remove properties."""
    CatalogAccess.of(session, argument).warehouse.alter_namespace(
        _one_level(argument), changed=argument["set"], removed=argument["unset"]
    )


def drop_namespace(session: PlannerSession, argument: Argument) -> Any:
    """Whether it was there; "not_empty" where something is in it and CASCADE was not said."""
    try:
        CatalogAccess.of(session, argument).lifecycle.drop_namespace(
            _one_level(argument), cascade=argument["cascade"]
        )
    except NamespaceNotFoundError:
        return False
    except NamespaceNotEmptyError:
        return "not_empty"
    return True


def _one_level(argument: Argument) -> str:
    name = namespace_of(argument)
    if name is None:
        raise NotFoundError(kind="namespace", name=".".join(argument["namespace"]))
    return name
