"""The adapter: how relations and columns are found, and which constraints are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.contracts.relation import RelationConfig, RelationType
from dbt.adapters.spark.impl import (
    KEY_TABLE_OWNER,
    KEY_TABLE_STATISTICS,
    SCHEMA_NOT_FOUND_MESSAGES,
    SparkAdapter,
    SparkConfig,
)
from dbt.adapters.tablestore.connections import TableStoreConnectionManager
from dbt.adapters.tablestore.described_view import DescribedView
from dbt.adapters.tablestore.relation import TableStoreColumn, TableStoreRelation
from dbt_common.contracts.constraints import (
    ColumnLevelConstraint,
    ConstraintType,
    ModelLevelConstraint,
)
from dbt_common.exceptions import DbtRuntimeError

_LISTS = (
    ("show tables in {schema}", RelationType.Table),
    ("show views in {schema}", RelationType.View),
    ("show materialized views in {schema}", RelationType.MaterializedView),
)


class TableStoreAdapter(SparkAdapter):
    """dbt-spark's adapter for managed tables."""

    Relation = TableStoreRelation
    Column = TableStoreColumn
    ConnectionManager = TableStoreConnectionManager
    AdapterSpecificConfigs = SparkConfig

    # A primary key is kept by replacing the row that has it, so that a result never has two.
    CONSTRAINT_SUPPORT = {
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }

    def valid_incremental_strategies(self) -> list[str]:
        """Return the strategies that have a macro here."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """Return what a schema holds, each with its kind; nothing if there is no such schema."""
        kinds: dict[str, RelationType] = {}
        try:
            for sql, kind in _LISTS:
                statement = sql.format(schema=self.quote(schema_relation.schema))
                _, rows = self.execute(statement, fetch=True)
                kinds |= {row[1]: kind for row in rows}
        except DbtRuntimeError as error:
            if any(text in str(error.msg) for text in SCHEMA_NOT_FOUND_MESSAGES):
                return []
            raise
        return [
            self.Relation.create(schema=schema_relation.schema, identifier=name, type=kind)
            for name, kind in kinds.items()
        ]

    def parse_describe_extended(
        self, relation: BaseRelation, raw_rows: Iterable[Any]
    ) -> list[TableStoreColumn]:
        """Return the columns that DESCRIBE EXTENDED lists, with comments, owner and statistics."""
        rows = [tuple("" if value is None else str(value) for value in row) for row in raw_rows]
        names = [row[0] for row in rows]
        end = next((i for i, name in enumerate(names) if not name or name[0] == "#"), len(rows))
        told = {row[0]: row[1] for row in rows[end:]}
        return [
            TableStoreColumn(
                table_schema=relation.schema,
                table_name=relation.name,
                table_type=relation.type,
                table_owner=told.get(KEY_TABLE_OWNER, ""),
                table_comment=told.get("Comment", ""),
                table_stats=TableStoreColumn.convert_table_stats(told.get(KEY_TABLE_STATISTICS)),
                column=name,
                column_index=number,
                dtype=kind,
                column_comment=comment,
            )
            for number, (name, kind, comment) in enumerate(rows[:end])
        ]

    @classmethod
    def render_column_constraint(cls, constraint: ColumnLevelConstraint) -> str | None:
        """Return a constraint behind a column; the key and CHECKs stand at the end of the columns.

        Behind a column, Spark takes one CHECK at most.
        """
        if constraint.type in (ConstraintType.primary_key, ConstraintType.check):
            return None
        rendered: str | None = super().render_column_constraint(constraint)
        return rendered

    @classmethod
    def render_model_constraint(cls, constraint: ModelLevelConstraint) -> str | None:
        """Return a constraint at the end of the table's columns."""
        rendered: str | None = super().render_model_constraint(constraint)
        if rendered and constraint.type == ConstraintType.check and not constraint.name:
            return f"constraint {_name_of(constraint)} {rendered}"
        if rendered and constraint.type == ConstraintType.primary_key:
            return f"{rendered} not enforced"
        return rendered

    @available
    def get_column_schema_from_query(self, sql: str) -> list[TableStoreColumn]:
        """Return the columns of a query; what a cursor tells has no precision and no elements."""
        _, rows = self.execute(f"describe query {sql}", fetch=True)
        return self.parse_describe_extended(self.Relation.create(), rows)

    @available
    def described_view(self, relation: BaseRelation) -> DescribedView:
        """Return how a materialized view is defined."""
        _, rows = self.execute(f"describe extended {relation}", fetch=True)
        return DescribedView.of(rows)

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {"adapter_type": "tablestore", "table_format": None}


def _name_of(constraint: ColumnLevelConstraint) -> str:
    """Return the name of a condition, the same at each run; Spark's own names are random."""
    digest = hashlib.sha256((constraint.expression or "").encode()).hexdigest()
    name: str = constraint.name or f"check_{digest[:12]}"
    return name
