"""Requests for entries of the v1 session catalog, which JDBC metadata shows."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.catalog_mirror import CatalogMirror, entry_and_table
from table_store.catalog.planner.names.catalog_of import catalog_reference
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.mirror import (
    MirrorCatalog,
    MirroredCatalog,
    MirroredRelation,
    MirrorEntry,
)
from table_store.storage.kernel.errors import TableStoreError

_DEFAULT_CATALOG: Final = "spark.sql.defaultCatalog"
_SESSION_CATALOG: Final = "spark_catalog"


def mirror_catalog(session: PlannerSession, request: MirrorCatalog) -> MirroredCatalog | None:
    """What has changed in the default catalog since this was asked; None if it is not ours."""
    catalog = session.conf(_DEFAULT_CATALOG) or _SESSION_CATALOG
    reference = catalog_reference(session, catalog)
    if reference is None:
        return None
    access = CatalogAccess.of(session, reference)
    mirror = _mirror(catalog, access.warehouse.root)
    return mirror.changes(access, is_shown=request.is_shown)


def mirror_entry(session: PlannerSession, request: MirrorEntry) -> MirroredRelation | None:
    """The entry of one name; None if no table or view has this name any more."""
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    record = None if identifier is None else access.warehouse.find(identifier)
    try:
        return None if record is None else entry_and_table(access, record)[0]
    except TableStoreError:
        return None  # dropped meanwhile, or damaged, which a query of the table reports


@lru_cache(maxsize=8)
def _mirror(catalog: str, root: str) -> CatalogMirror:
    """What was answered of a catalog; one process has its entries, and this planner is its own."""
    del catalog, root
    return CatalogMirror()
