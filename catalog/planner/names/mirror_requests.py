"""Our tables and views as entries of the v1 session catalog, which JDBC metadata shows."""

from __future__ import annotations

import json
import re
from typing import Final

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.names.name_record import (
    ForeignDefinition,
    NameRecord,
    RelationKind,
    TableTarget,
    ViewDefinition,
)
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.catalog_of import CATALOG_CLASS, catalog_reference
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.mirror import (
    MirroredCatalog,
    MirroredNamespace,
    MirroredRelation,
    MirrorEntry,
)
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.storage.kernel.errors import TableStoreError

# The statement with which every JDBC session begins.
_USE: Final = re.compile(r"\s*use\b", re.IGNORECASE)
_DEFAULT_CATALOG: Final = "spark.sql.defaultCatalog"
_SESSION_CATALOG: Final = "spark_catalog"
_ALL_KINDS: Final = tuple(RelationKind)


def mirror_when_asked(session: PlannerSession, sql: str) -> MirroredCatalog | None:
    """All entries of the default catalog if `sql` is a USE, which begins a JDBC session; else None.

    Costs a read of every name and its schema.
    """
    if not _USE.match(sql):
        return None
    catalog = session.conf(_DEFAULT_CATALOG) or _SESSION_CATALOG
    if session.conf(f"spark.sql.catalog.{catalog}") != CATALOG_CLASS:
        return None
    access = CatalogAccess.of(session, catalog_reference(session, catalog))
    namespaces = [
        MirroredNamespace(name=name, relations=_entries(access, name))
        for name in access.warehouse.namespaces()
    ]
    return MirroredCatalog(catalog=catalog, namespaces=tuple(namespaces))


def mirror_entry(session: PlannerSession, request: MirrorEntry) -> MirroredRelation | None:
    """The entry of one name; None if no table or view has this name any more."""
    access = CatalogAccess.of(session, request.relation.catalog)
    identifier = request.relation.identifier
    record = None if identifier is None else access.warehouse.find(identifier)
    return None if record is None else _entry(access, record)


def _entries(access: CatalogAccess, namespace: str) -> tuple[MirroredRelation, ...]:
    entries = (_entry(access, record) for record in access.warehouse.records(namespace, _ALL_KINDS))
    return tuple(entry for entry in entries if entry is not None)


def _entry(access: CatalogAccess, record: NameRecord) -> MirroredRelation | None:
    match record.target:
        case TableTarget():
            try:
                schema = access.lifecycle.load(record.identifier).schema
            except TableStoreError:
                return None  # dropped meanwhile, or damaged, which a query of the table reports
            columns, comment = columns_to_spark(schema.fields), schema.comment
        case ViewDefinition(columns=columns, properties=properties):
            comment = properties.get("comment")
        case ForeignDefinition(columns=columns, comment=comment):
            columns = columns or json.dumps({"type": "struct", "fields": []})
    return MirroredRelation(
        name=record.identifier.name,
        is_view=record.kind is RelationKind.VIEW,
        columns=SparkColumns(columns),
        comment=comment,
    )
