"""The catalog that a request names: its warehouse, and the session's temporary tables."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from table_store.catalog.bridge.shared_text import shared_name
from table_store.catalog.errors import NamespaceNotFoundError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.log_topic import all_listeners
from table_store.catalog.tables.session_sources import SessionSources
from table_store.catalog.tables.temporary_tables import (
    TemporaryTables,
    remove_sessions_of,
    remove_sessions_that_ended,
)
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import RandomIds

WAREHOUSE = "warehouse"
_DEFAULT_WAREHOUSE: Final = shared_name("default-warehouse")
TEMPORARY_TABLES_OF: Final = "temporary-tables-of"
"""Names the session whose temporary tables another one sees: a job's, that of its statement."""

EXTERNAL_TABLES: Final = "external-tables"
"""What stands for external tables of a session in that of its job, as JSON: digests by name."""

_log = logging.getLogger(__name__)
_opened: list[Warehouse] = []


@dataclass(frozen=True, slots=True)
class CatalogAccess:
    """The objects that requests about names use; none caches state that other processes change."""

    name: str
    warehouse: Warehouse
    lifecycle: TableLifecycle
    temporary: TemporaryTables

    @classmethod
    def of(cls, session: PlannerSession, catalog: CatalogReference) -> CatalogAccess:
        """Open the catalog that a request was sent for."""
        root = catalog.options.get(WAREHOUSE) or catalog.options[_DEFAULT_WAREHOUSE]
        warehouse = _warehouse(root, catalog.allowed_roots)
        listeners = all_listeners()
        return cls(
            name=catalog.name,
            warehouse=warehouse,
            lifecycle=TableLifecycle(warehouse, listeners, catalog_name=catalog.name),
            temporary=TemporaryTables(
                warehouse=warehouse,
                session_id=catalog.options.get(TEMPORARY_TABLES_OF, session.id),
                owner=jvm_process(),
                listeners=listeners,
            ),
        )

    def session_source(self, catalog: CatalogReference, name: str) -> TableLifecycle | None:
        """The external table that a job's statement has defined under a name; None for others."""
        digests = json.loads(catalog.options.get(EXTERNAL_TABLES, "{}"))
        digest = digests.get(name.lower())
        return None if digest is None else SessionSources(self.warehouse).lifecycle(digest)

    def qualified(self, identifier: Identifier) -> str:
        """The name as messages and plans show it."""
        return f"{self.name}.{identifier.namespace}.{identifier.name}"


def require_identifier(relation: RelationReference) -> Identifier:
    """The identifier of a table or view that is to be created or renamed.

    Raises:
        NamespaceNotFoundError: the name has several namespace levels, and namespaces have one.
    """
    identifier = relation.identifier
    if identifier is None:
        raise NamespaceNotFoundError(namespace=".".join(relation.namespace))
    return identifier


def remove_temporary_tables(session: PlannerSession) -> None:
    """Remove the temporary tables of one session, which has ended."""
    for warehouse in _opened:
        TemporaryTables(
            warehouse=warehouse,
            session_id=session.id,
            owner=jvm_process(),
            listeners=all_listeners(),
        ).end()


def end_sessions() -> None:
    """Remove the temporary tables of all sessions, because the JVM ends."""
    for warehouse in _opened:
        try:
            remove_sessions_of(jvm_process(), warehouse, all_listeners())
        except TableStoreError as error:
            _log.warning("temporary tables stay in %s: %s", warehouse.root, error)


@lru_cache(maxsize=16)
def _warehouse(root: str, allowed_roots: str) -> Warehouse:
    path = root.removeprefix("file:")
    path = "/" + path.lstrip("/") if root.startswith("file:") else path
    others = [plain_path(other.strip()) for other in allowed_roots.split(",") if other.strip()]
    warehouse = Warehouse(
        file_io_for(path),
        path,
        SystemClock(),
        RandomIds(),
        other_roots={other: file_io_for(other) for other in others},
    )
    _opened.append(warehouse)
    try:
        remove_sessions_that_ended(warehouse, all_listeners())
    except TableStoreError as error:
        _log.warning("leftovers of ended sessions stay in %s: %s", path, error)
    return warehouse


@lru_cache(maxsize=1)
def jvm_process() -> ProcessIdentity:
    """Return the identity of the JVM that started this process and runs the sessions."""
    return identity_of(os.getppid())
