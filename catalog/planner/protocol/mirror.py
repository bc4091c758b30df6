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
class MirrorCatalog:
    """Asks for what has changed in the default catalog; for all of it if nothing is shown yet."""

    is_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredNamespace:
    """What is new or changed in a namespace, and the names that are gone from it."""

    name: str
    relations: tuple[MirroredRelation, ...]
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredCatalog:
    """All namespaces of a catalog, with all of their entries or with those that have changed."""

    catalog: str
    is_whole: bool
    namespaces: tuple[MirroredNamespace, ...]
