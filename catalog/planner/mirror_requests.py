"""What JDBC metadata shows: the managed tables as entries for the v1 session catalog."""

from __future__ import annotations

import re
from typing import Any

from table_store.catalog.name_record import RelationKind
from table_store.catalog.planner.catalog_access import CatalogAccess
from table_store.catalog.planner.catalog_of import CATALOG_CLASS, catalog_options
from table_store.catalog.planner.session import PlannerSession
from table_store.catalog.table_definition import columns_to_spark
from table_store.storage.kernel.errors import TableStoreError

# The statement with which every JDBC session begins.
_USE = re.compile(r"\s*use\b", re.IGNORECASE)


def mirror_when_asked(session: PlannerSession, sql: str) -> list[dict[str, Any]]:
    """The entries, where the statement is one that JDBC sessions begin with; else none."""
    if not _USE.match(sql):
        return []
    catalog, _ = session.current()
    if session.conf(f"spark.sql.catalog.{catalog}") != CATALOG_CLASS:
        return []
    access = CatalogAccess.of(
        session, {"catalog": catalog, "options": catalog_options(session, catalog)}
    )
    return [_namespace(access, name) for name in access.warehouse.namespaces()]


def _namespace(access: CatalogAccess, name: str) -> dict[str, Any]:
    found = access.warehouse.find_namespace(name)
    location = "" if found is None else found.properties.get("location", "")
    tables = []
    for record in access.warehouse.records(name, (RelationKind.TABLE,)):
        try:
            managed = access.lifecycle.load(record.identifier)
        except TableStoreError:
            continue  # dropped meanwhile, or damaged: reading it will say what is wrong
        tables.append(
            {
                "name": record.identifier.name,
                "location": managed.location,
                "columns": columns_to_spark(managed.schema.fields),
                "comment": managed.schema.comment,
            }
        )
    return {"name": name, "location": location, "tables": tables}
