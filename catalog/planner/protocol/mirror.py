"""Entries of the v1 session catalog, for JDBC metadata."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorEntry:
    """Asks for the entry of one name."""

    relation: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredRelation:
    """A table or view as JDBC metadata shows it."""

    name: str
    is_view: bool
    columns: SparkColumns
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredNamespace:
    """A namespace with all that is in it."""

    name: str
    relations: tuple[MirroredRelation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredCatalog:
    """All entries of a catalog."""

    catalog: str
    namespaces: tuple[MirroredNamespace, ...]
