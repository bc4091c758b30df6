"""Requests about materialized views, and what the bridge says of an analysed query."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.jobs.query_plan import QueryNode
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import DeclaredTable
from table_store.storage.file_store.model.schema import StoredQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateMaterializedView:
    """CREATE MATERIALIZED VIEW [IF NOT EXISTS]; `definition` has the columns of the query."""

    relation: RelationReference
    definition: DeclaredTable
    query: StoredQuery
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """An analysed query.

    Attributes:
        schema: the columns of its result.
        sources: the managed tables that it reads, views resolved, as of now.
        others: short texts of what else it reads.
        functions: the names of all functions and operators in it.
        is_deterministic: whether none of its expressions is random.
        nodes: of the normalised plan; the first of `sources` are theirs.
        kept_keys: positions in the result of the keys of `QueryPlan.top`, none if one is missing.
    """

    schema: SparkColumns
    sources: tuple[TableReference, ...]
    others: tuple[str, ...]
    functions: tuple[str, ...]
    is_deterministic: bool
    nodes: tuple[QueryNode, ...]
    kept_keys: tuple[int, ...]
