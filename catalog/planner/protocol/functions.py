"""Requests about persistent functions, which stand in place of those of Spark's session catalog."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.names.function_store import FunctionDefinition
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFunctions:
    """The names of the functions of a namespace."""

    catalog: CatalogReference
    namespace: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFunction:
    """One function; the name is resolved as a relation's is."""

    function: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineFunction:
    """CREATE FUNCTION, or with `is_new` False a CREATE OR REPLACE of one that exists."""

    function: RelationReference
    definition: FunctionDefinition
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction:
    """DROP FUNCTION."""

    function: RelationReference
