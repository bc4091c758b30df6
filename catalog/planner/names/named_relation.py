"""What a name in a request stands for: a temporary table of the session or the catalog's own."""

from __future__ import annotations

from dataclasses import replace

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import NameRecord, TableTarget, ViewDefinition
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.catalog.tables.lifecycle import TableLifecycle


def find_relation(
    session: PlannerSession,
    access: CatalogAccess,
    identifier: Identifier,
    catalog: CatalogReference,
) -> TableLifecycle | NameRecord | ViewDefinition | None:
    """What a name stands for; for a managed table, the `TableLifecycle` that operates on it.

    A `NameRecord` is returned for a foreign table. A temporary table hides what the current
    namespace has under its name, as temporary views do; a name in another namespace never means
    a temporary table. CREATE TEMPORARY TABLE looks for temporary tables only.
    """
    temporary = access.temporary.lifecycle()
    if temporary.warehouse.find(temporary_identifier(identifier)) is not None and (
        catalog.only_temporary or is_current(session, access, identifier)
    ):
        return temporary
    source = access.session_source(catalog, identifier.name)
    if source is not None and is_current(session, access, identifier):
        return source
    record = None if catalog.only_temporary else access.warehouse.find(identifier)
    if record is None:
        return None
    match record.target:
        case TableTarget():
            return access.lifecycle
        case ViewDefinition() as view:
            return view
        case _:
            return record


def is_current(session: PlannerSession, access: CatalogAccess, identifier: Identifier) -> bool:
    """Whether the name is in the current namespace; while another catalog is current: the default.

    These are the names that a temporary table hides.
    """
    return identifier.namespace == session.namespace_in(access.name)


def temporary_identifier(identifier: Identifier) -> Identifier:
    """The identifier of a temporary table in the session's own warehouse."""
    return replace(identifier, namespace=DEFAULT_NAMESPACE)


def own_identifier(
    access: CatalogAccess, lifecycle: TableLifecycle, identifier: Identifier
) -> Identifier:
    """The identifier in the warehouse of `lifecycle`."""
    is_temporary = lifecycle is not access.lifecycle
    return temporary_identifier(identifier) if is_temporary else identifier
