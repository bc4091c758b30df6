"""Requests about stored procedures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.spark_values import SparkColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class ListProcedures:
    """All procedures of a catalog."""

    catalog: CatalogReference


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProcedure:
    """The description and parameters of a procedure."""

    procedure: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProcedure:
    """CALL; arguments are texts, None for NULL."""

    procedure: RelationReference
    arguments: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureNames:
    """The names of procedures, and their namespace."""

    namespace: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureParameter:
    """A parameter: `type` is JSON of Spark's type, `default` SQL text."""

    name: str
    type: str
    default: str | None = None
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedProcedure:
    """A procedure as Spark shows and binds it."""

    description: str
    parameters: tuple[ProcedureParameter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureResult:
    """The rows that a call returns, and their columns."""

    schema: SparkColumns
    rows: ArrowRows
