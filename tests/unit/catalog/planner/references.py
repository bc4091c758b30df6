"""A table as requests of the bridge name it."""

from __future__ import annotations

from table_store.catalog.planner.protocol.handles import Handle, TableReference
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference

CATALOG = CatalogReference(name="c", options={}, allowed_roots="")


def reference(handle: Handle) -> TableReference:
    relation = RelationReference(catalog=CATALOG, namespace=("default",), name="t")
    return TableReference(relation=relation, handle=handle)
