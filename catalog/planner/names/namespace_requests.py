"""Requests about namespaces."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.errors import NamespaceNotEmptyError, NamespaceNotFoundError
from table_store.catalog.names.function_store import FunctionStore
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.namespace_store import check_droppable
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.foreign_requests import drop_foreign
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
    ListNamespaces,
    LoadNamespace,
)
from table_store.catalog.planner.protocol.relations import one_level


def list_namespaces(session: PlannerSession, request: ListNamespaces) -> tuple[str, ...]:
    """The names of all namespaces."""
    return tuple(CatalogAccess.of(session, request.catalog).warehouse.namespaces())


def load_namespace(session: PlannerSession, request: LoadNamespace) -> Mapping[str, str]:
    """The properties of a namespace.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    name = _one_level(request.namespace)
    found = CatalogAccess.of(session, request.catalog).warehouse.find_namespace(name)
    if found is None:
        raise NamespaceNotFoundError(namespace=name)
    return found.properties


def create_namespace(session: PlannerSession, request: CreateNamespace) -> None:
    """Make a namespace.

    Raises:
        NamespaceAlreadyExistsError: the namespace exists.
    """
    CatalogAccess.of(session, request.catalog).warehouse.create_namespace(
        _one_level(request.namespace), request.properties
    )


def alter_namespace(session: PlannerSession, request: AlterNamespace) -> None:
    """Set and remove properties."""
    CatalogAccess.of(session, request.catalog).warehouse.alter_namespace(
        _one_level(request.namespace), changed=request.changed, removed=request.removed
    )


def drop_namespace(session: PlannerSession, request: DropNamespace) -> bool:
    """Drop a namespace; return whether it existed.

    Raises:
        NamespaceNotEmptyError: the namespace is not empty, and CASCADE is not given.
        ProtectedNamespaceError: it is `default`.
    """
    name = _one_level(request.namespace)
    check_droppable(name)
    access = CatalogAccess.of(session, request.catalog)
    _drop_functions(access.warehouse, name, cascade=request.cascade)
    try:
        if request.cascade:
            for record in access.warehouse.records(name, (RelationKind.FOREIGN,)):
                drop_foreign(access, record.identifier)
        access.lifecycle.drop_namespace(name, cascade=request.cascade)
    except NamespaceNotFoundError:
        return False
    return True


def _drop_functions(warehouse: Warehouse, namespace: str, *, cascade: bool) -> None:
    store = FunctionStore(warehouse)
    names = store.names(namespace)
    if names and not cascade:
        raise NamespaceNotEmptyError(namespace=namespace, names=names)
    for name in names:
        store.drop(Identifier(namespace, name))
    store.drop_folder(namespace)


def _one_level(namespace: tuple[str, ...]) -> str:
    name = one_level(namespace)
    if name is None:
        raise NamespaceNotFoundError(namespace=".".join(namespace))
    return name
