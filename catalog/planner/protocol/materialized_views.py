"""Requests about materialized views, and what the bridge says of an analysed query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.jobs.query_plan import ColumnOrigin, QueryNode
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import DeclaredTable
from table_store.storage.file_store.model.stored_query import StoredQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateMaterializedView:
    """CREATE MATERIALIZED VIEW [IF NOT EXISTS]; `definition` has the columns of the query."""

    relation: RelationReference
    definition: DeclaredTable
    query: StoredQuery
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainQuery:
    """EXPLAIN of a statement with a query that is kept up; a view holds its result alone."""

    query: StoredQuery
    is_view: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedNode:
    """A node of a query's plan: its parent's number, -1 for the root, and what it says."""

    parent: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedQuery:
    """The nodes of a plan, parents before children."""

    nodes: tuple[ExplainedNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """An analysed query.

    Attributes:
        schema: the columns of its result.
        sources: the managed tables that it reads, views resolved, as of now.
        columns: of each source the names of those that the query uses.
        options: of the read of each source, as the query states them.
        others: short texts of what else it reads.
        functions: the names of all functions and operators in it, and TABLESAMPLE if it has one.
        is_deterministic: whether none of its expressions is random.
        nodes: of the normalised plan; the first of `sources` are theirs.
        kept_keys: positions in the result of the keys of `QueryPlan.top`, none if one is missing.
        origins: of each column of the result the columns of `sources` of which its values are made.
        conditions: the columns of `sources` that decide how many rows the result has.
        plan: a fingerprint of the normalised plan, of which views are a part, without the names of
            tables and columns.
        is_lasting: whether it means the same for as long as its names stand for the same managed
            tables with the same columns.
    """

    schema: SparkColumns
    sources: tuple[TableReference, ...]
    columns: tuple[tuple[str, ...], ...]
    options: tuple[Mapping[str, str], ...]
    others: tuple[str, ...]
    functions: tuple[str, ...]
    is_deterministic: bool
    nodes: tuple[QueryNode, ...]
    kept_keys: tuple[int, ...]
    origins: tuple[tuple[ColumnOrigin, ...], ...]
    conditions: tuple[ColumnOrigin, ...]
    plan: str
    is_lasting: bool
