"""Names of tables, views and materialized views, and their columns, as dbt sees them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation

_KINDS = frozenset({RelationType.Table, RelationType.View, RelationType.MaterializedView})


@dataclass(frozen=True, eq=False, repr=False)
class TableStoreRelation(SparkRelation):
    """A relation; each kind can be renamed, and replaced by one of its kind in one step."""

    renameable_relations: frozenset[RelationType] = field(default=_KINDS)
    replaceable_relations: frozenset[RelationType] = field(default=_KINDS)


@dataclass
class TableStoreColumn(SparkColumn):
    """A column with its comment and that of its table; empty where there is none."""

    column_comment: str = ""
    table_comment: str = ""
