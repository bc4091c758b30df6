"""Goal: dbt's own suite holds where the adapter's macros stand in place of dbt-spark's.

What is not here, and what is skipped, is named in docs/dbt.md.
"""

from __future__ import annotations

import re

import pytest
import sqlglot
from dbt.tests.adapter.aliases.fixtures import MACROS__EXPECT_VALUE_SQL
from dbt.tests.adapter.aliases.test_aliases import BaseAliases, BaseSameAliasDifferentSchemas
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintsRollback as BaseTableConstraintsRollback,
)
from dbt.tests.adapter.constraints.test_constraints import (
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneNotPossible
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowLimit
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.persist_docs.test_persist_docs import (
    BasePersistDocs,
    BasePersistDocsColumnMissing,
)
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.simple_seed.test_seed import BaseBasicSeedTests, BaseTestEmptySeed
from dbt.tests.adapter.simple_snapshot.fixtures import snapshot_actual_sql
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import (
    BaseSnapshotNewRecordTimestampMode,
)
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotMultiUniqueKey,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
)
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt
from sqlglot import exp


class _PostgresStatements:
    """What the suite sends by itself is Postgres' SQL, several statements at once.

    Postgres takes text for a time; with Spark it has to be one.
    """

    @pytest.fixture(scope="class")
    def project(self, project: TestProjInfo) -> TestProjInfo:
        run_one = project.run_sql

        def run_sql(sql: str, fetch: str | None = None) -> object:
            names = {"{database}.": "", "{schema}": project.test_schema}
            for name, text in names.items():
                sql = sql.replace(name, text)
            rows = None
            for statement in sqlglot.parse(sql, read="postgres"):
                if statement is not None:
                    rows = run_one(statement.transform(_in_spark).sql("spark"), fetch=fetch)
            return rows

        project.run_sql = run_sql
        return project


def _in_spark(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.is_type("timestamp"):
        return exp.DataType.build("timestamptz")  # Spark's TIMESTAMP, which dbt's seeds have
    if isinstance(node, exp.Literal) and node.is_string:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", node.name):
            return exp.cast(node.copy(), "date")
        if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", node.name):
            return exp.cast(node.copy(), "timestamptz")
    return node


class _SnapshotOfOneDatabase(_PostgresStatements):
    """There is no database above the schema."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.sql": snapshot_actual_sql.replace("{{target.database}}.", "")}


class _SparkLiterals:
    """The suite's macro casts to `text`, which is no type of Spark's."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {
            "cast.sql": "{% macro string_literal(s) %}'{{ s }}'{% endmacro %}",
            "expect_value.sql": MACROS__EXPECT_VALUE_SQL,
        }


class TestAliases(_SparkLiterals, BaseAliases):
    pass


class TestSameAliasDifferentSchemas(_SparkLiterals, BaseSameAliasDifferentSchemas):
    pass


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    pass


class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    pass


class TestTableMaterialization(BaseTableMaterialization):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


def _contracted(**models: str) -> dict[str, str]:
    """Models, and the suite's contract for them with Spark's name of its type `text`."""
    contract = fixtures.model_schema_yml.replace("text", "string")
    files = {f"{name}.sql": text for name, text in models.items()}
    return {**files, "constraints_schema.yml": contract}


class _SparkTypes:
    """Names of types, and literals of each, in Spark's words."""

    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def schema_string_type(self, string_type: str) -> str:
        return string_type

    @pytest.fixture
    def schema_int_type(self, int_type: str) -> str:
        return int_type

    @pytest.fixture
    def data_types(self, int_type: str, string_type: str) -> list[list[str]]:
        return [
            ["1", int_type, int_type],
            ["'1'", string_type, string_type],
            ["true", "boolean", "boolean"],
            ["array('1','2')", "array<string>", "array<string>"],
            ["cast('2019-01-01' as date)", "date", "date"],
            ["cast('2013-11-03 00:00:00' as timestamp)", "timestamp", "timestamp"],
            ["cast('1.0' as decimal(4,2))", "decimal(4,2)", "decimal(4,2)"],
        ]


class TestTableConstraintsColumnsEqual(_SparkTypes, BaseTableConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _contracted(
            my_model_wrong_order=fixtures.my_model_wrong_order_sql,
            my_model_wrong_name=fixtures.my_model_wrong_name_sql,
        )


class TestViewConstraintsColumnsEqual(_SparkTypes, BaseViewConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _contracted(
            my_model_wrong_order=fixtures.my_model_view_wrong_order_sql,
            my_model_wrong_name=fixtures.my_model_view_wrong_name_sql,
        )


class TestIncrementalConstraintsColumnsEqual(_SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _contracted(
            my_model_wrong_order=fixtures.my_model_incremental_wrong_order_sql,
            my_model_wrong_name=fixtures.my_model_incremental_wrong_name_sql,
        )


class TestTableConstraintsRollback(BaseTableConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _contracted(
            my_model=fixtures.my_model_sql,
        )

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["NOT_NULL_ASSERT_VIOLATION"]


class TestIncrementalConstraintsRollback(BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _contracted(
            my_model=fixtures.my_incremental_model_sql,
        )

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["NOT_NULL_ASSERT_VIOLATION"]


class TestCloneNotPossible(BaseCloneNotPossible):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestEmpty(BaseTestEmpty):
    pass


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


class TestIncrementalPredicates(BaseIncrementalPredicates):
    pass


class TestIncrementalUniqueKey(_PostgresStatements, BaseIncrementalUniqueKey):
    pass


class TestPersistDocs(BasePersistDocs):
    pass


class TestPersistDocsColumnMissing(BasePersistDocsColumnMissing):
    pass


class TestChangeRelationTypes(BaseChangeRelationTypeValidator):
    pass


class TestBasicSeeds(_PostgresStatements, BaseBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project: TestProjInfo) -> None:
        """A seed is replaced, so that what reads it stays; Postgres drops it, and that with it."""
        self._build_relations_for_test(project)
        self._check_relation_end_state(
            run_result=run_dbt(["seed", "--full-refresh"]), project=project, exists=True
        )


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSnapshotNewRecordCheckMode(_SnapshotOfOneDatabase, BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordTimestampMode(
    _SnapshotOfOneDatabase, BaseSnapshotNewRecordTimestampMode
):
    pass


class TestSnapshotColumnNames(_SnapshotOfOneDatabase, BaseSnapshotColumnNames):
    pass


class TestSnapshotMultiUniqueKey(_PostgresStatements, BaseSnapshotMultiUniqueKey):
    pass


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "1"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["cast(1.5 as decimal(4,2))", "1.5"],
        ]
