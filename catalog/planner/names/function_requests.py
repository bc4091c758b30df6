"""Requests about persistent functions: Spark defines and runs them, the warehouse keeps them."""

from __future__ import annotations

from table_store.catalog.errors import NamespaceNotFoundError
from table_store.catalog.names.function_store import FunctionDefinition, FunctionStore
from table_store.catalog.planner.names.catalog_access import CatalogAccess, require_identifier
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.functions import (
    DefineFunction,
    DropFunction,
    ListFunctions,
    LoadFunction,
)
from table_store.catalog.planner.protocol.relations import CatalogReference, one_level


def list_functions(session: PlannerSession, request: ListFunctions) -> tuple[str, ...]:
    """The names of a namespace's functions.

    Raises:
        NamespaceNotFoundError: it does not exist.
    """
    store, name = _store(session, request.catalog), one_level(request.namespace)
    if name is None or store.warehouse.find_namespace(name) is None:
        raise NamespaceNotFoundError(namespace=".".join(request.namespace))
    return store.names(name)


def load_function(session: PlannerSession, request: LoadFunction) -> FunctionDefinition | None:
    """A function's definition; None if there is none of this name."""
    identifier = request.function.identifier
    store = _store(session, request.function.catalog)
    return None if identifier is None else store.find(identifier)


def define_function(session: PlannerSession, request: DefineFunction) -> None:
    """Create or replace a function.

    Raises:
        NamespaceNotFoundError, AlreadyExistsError: see `FunctionStore.define`.
    """
    identifier = require_identifier(request.function)
    store = _store(session, request.function.catalog)
    store.define(identifier, request.definition, is_new=request.is_new)


def drop_function(session: PlannerSession, request: DropFunction) -> bool:
    """Remove a function; return whether there was one."""
    identifier = request.function.identifier
    store = _store(session, request.function.catalog)
    return identifier is not None and store.drop(identifier)


def _store(session: PlannerSession, catalog: CatalogReference) -> FunctionStore:
    return FunctionStore(CatalogAccess.of(session, catalog).warehouse)
