"""Resolves a name in a statement to one of our catalogs, as the session would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.json_form import from_json
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.storage.kernel.errors import NotFoundError

CATALOG_CLASS: Final = "org.apache.spark.sql.tablestore.TableStoreCatalog"
_PREFIX = "spark.sql.catalog."


def managed_relation(session: PlannerSession, parts: Sequence[str]) -> RelationReference | None:
    """Catalog, namespace and name as the bridge sends them; None if the catalog is not ours.

    `parts` are the one to three parts of a name, resolved as in Spark: the session's current
    catalog and namespace replace missing parts, and a first part that names a catalog is taken
    as the catalog.
    """
    catalog, namespace = session.current()
    left = list(parts)
    if len(left) > 1 and _is_catalog(session, left[0]):
        catalog, namespace = left[0], []
        left = left[1:]
    if len(left) > 1:
        namespace = left[:-1]
    reference = catalog_reference(session, catalog)
    if reference is None:
        return None
    return RelationReference(
        catalog=reference,
        namespace=tuple(namespace) or (DEFAULT_NAMESPACE,),
        name=left[-1],
    )


def require_managed(session: PlannerSession, parts: Sequence[str]) -> RelationReference:
    """Like `managed_relation`, for a statement that exists only for managed tables.

    Raises:
        NotFoundError: the catalog is not one of ours.
    """
    relation = managed_relation(session, parts)
    if relation is None:
        raise NotFoundError(kind="managed table", name=".".join(parts))
    return relation


def catalog_reference(session: PlannerSession, catalog: str) -> CatalogReference | None:
    """A catalog as the bridge's `initialize` describes it; None if it is not ours.

    Only the application's configuration, never a session's, allows folders besides the warehouse.
    """
    found = session.catalog(catalog)
    return None if found is None else from_json(CatalogReference, found)


def managed_catalogs(session: PlannerSession) -> list[CatalogReference]:
    """All catalogs of a session that are ours."""
    named = (
        catalog_reference(session, key.removeprefix(_PREFIX))
        for key, value in session.confs(_PREFIX).items()
        if value == CATALOG_CLASS
    )
    return [found for found in named if found is not None]


def catalog_setting(catalog: str, key: str) -> str:
    """The setting of a session that configures a catalog."""
    return f"{_PREFIX}{catalog}.{key}"


def _is_catalog(session: PlannerSession, name: str) -> bool:
    return name == "spark_catalog" or session.conf(_PREFIX + name) is not None
