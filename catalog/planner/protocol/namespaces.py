"""Requests about namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.planner.protocol.relations import CatalogReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNamespaces:
    """The names of all namespaces."""

    catalog: CatalogReference


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadNamespace:
    """The properties of a namespace."""

    catalog: CatalogReference
    namespace: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNamespace:
    """CREATE NAMESPACE."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterNamespace:
    """Properties to set, and keys of those to remove."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
    changed: Mapping[str, str]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNamespace:
    """DROP NAMESPACE [CASCADE]."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTables:
    """The managed and foreign tables of a namespace."""

    catalog: CatalogReference
    namespace: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListViews:
    """The views of a namespace."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
