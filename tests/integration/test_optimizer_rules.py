"""Goal: each Catalyst rule of the bridge changes the plans that it is for, and leaves others alone.

Rules are applied to plans that no statement runs. The plans of MergeUpserts are looked at by
test_merge_upserts.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

Plan: TypeAlias = Any
SECRET = "log.kafka.sasl.plain.password"
MERGE = (
    "MERGE INTO {} t USING (SELECT * FROM VALUES (7L, 1) AS q(id, v)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v + t.v WHEN NOT MATCHED THEN INSERT *"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("rules"), OWN_NAME) as session:
        session.sql("CREATE TABLE keyed (id BIGINT PRIMARY KEY, v INT)")
        session.sql("INSERT INTO keyed SELECT id, int(id) FROM range(1000)")
        session.sql("CREATE TABLE bag (id BIGINT, v INT, twice AS v * 2)")
        yield session


@pytest.fixture(scope="module")
def in_place(spark: SparkSession) -> SparkSession:
    """A session of the same Spark, in which our catalog stands in place of `spark_catalog`."""
    other = spark.newSession()
    for key, value in SESSION_CATALOG.items():
        other.conf.set(key, value)
    return other


def rule(spark: SparkSession, name: str) -> Any:
    assert spark._jvm is not None
    of_session = getattr(spark._jvm.org.apache.spark.sql.tablestore, name)
    return of_session(spark._jsparkSession)


def parsed(spark: SparkSession, sql: str) -> Plan:
    """What the parser makes of a statement, for a rule that asks for the active session, too."""
    SparkSession._get_j_spark_session_module(spark._jvm).setActiveSession(spark._jsparkSession)
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)


def execution(spark: SparkSession, sql: str) -> Any:
    """Analysis and optimisation of a statement that is not run."""
    assert spark._jvm is not None
    skipped = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    return spark._jsparkSession.sessionState().executePlan(parsed(spark, sql), skipped)


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("CatalogListing", "SHOW TABLES IN spark_catalog.default"),
        ("CatalogListing", "SHOW TABLES"),
        ("DefaultSourceElsewhere", "CREATE TABLE x (a INT)"),
        ("DefaultSourceElsewhere", "CREATE TABLE spark_catalog.default.x (a INT) USING orc"),
        ("DefaultSourceElsewhere", "SELECT * FROM keyed"),
        ("SessionViews", "CREATE VIEW x AS SELECT 1"),
        ("SessionViews", "SHOW VIEWS"),
        ("StreamWriters", "INSERT INTO keyed VALUES (1, 1)"),
        ("TemporaryTables", "CREATE TABLE x (a INT)"),
        ("TemporaryTables", "CREATE TABLE x LIKE keyed"),
        ("WriteTargets", "INSERT INTO bag VALUES (1, 1)"),
        ("WriteTargets", "UPDATE bag SET v = 1"),
        ("WriteTargets", "SELECT * FROM bag"),
    ],
)
def test_other_plans_stay(spark: SparkSession, name: str, sql: str) -> None:
    plan = parsed(spark, sql)
    assert rule(spark, name).apply(plan).equals(plan)


def test_a_call_lists_the_current_catalog(spark: SparkSession) -> None:
    """What `spark.catalog.listTables` asks is a plan without a text."""

    def listed(namespace: str) -> str:
        show = parsed(spark, f"SHOW TABLES IN spark_catalog.{namespace}")
        call = show.copy(show.namespace(), show.pattern(), show.output())
        changed = rule(spark, "CatalogListing").apply(call).namespace()
        return str(changed.multipartIdentifier().mkString("."))

    assert listed("default") == "table_store.default"
    assert listed("nowhere_else") == "spark_catalog.nowhere_else"


def test_elsewhere_the_default_format_is_parquet(spark: SparkSession) -> None:
    plan = parsed(spark, "CREATE TABLE spark_catalog.default.x (a INT)")
    changed = rule(spark, "DefaultSourceElsewhere").apply(plan)
    assert changed.tableSpec().provider().toString() == "Some(parquet)"


@pytest.mark.parametrize("sql", ["CREATE VIEW x AS SELECT 1", "DROP VIEW x", "SHOW VIEWS"])
def test_views_of_the_session_catalog_are_resolved(in_place: SparkSession, sql: str) -> None:
    """Spark would give the statements to commands that know nothing of our views."""
    changed = rule(in_place, "SessionViews").apply(parsed(in_place, sql))
    assert "Unresolved" not in changed.toString().partition("Project")[0]
    assert "Resolved" in changed.toString()


@pytest.mark.parametrize("sql", ["TABLE x (a INT)", "TABLE x LIKE keyed", "TABLE x AS SELECT 1"])
def test_a_temporary_table_is_made_where_those_of_its_session_are(
    spark: SparkSession, sql: str
) -> None:
    changed = rule(spark, "TemporaryTables").apply(parsed(spark, f"CREATE TEMPORARY {sql}"))
    assert changed.name().getClass().getSimpleName() == "ResolvedIdentifier"


def test_an_insert_of_changes_names_their_column(spark: SparkSession) -> None:
    insert = "INSERT INTO bag WITH ('change-type-column' = 'op') SELECT 1L, 'delete' AS op, 2"
    changed = rule(spark, "WriteTargets").apply(parsed(spark, insert))
    name = str(changed.table().multipartIdentifier().last())
    assert name.startswith("bag$change_type$")
    assert '"at":1' in name


def test_stars_leave_computed_columns_out(spark: SparkSession) -> None:
    """A source that has none is given one that does not count; one that has it stays."""
    for columns, is_changed in (
        ("1L AS id, 2 AS v", True),
        ("1L AS id, 2 AS v, 3 AS twice", False),
    ):
        merge = parsed(
            spark,
            f"MERGE INTO bag USING (SELECT {columns}) s ON bag.id = s.id "
            "WHEN MATCHED THEN UPDATE SET *",
        )
        changed = rule(spark, "WriteTargets").apply(merge)
        assert changed.sourceTable().equals(merge.sourceTable()) != is_changed


def test_secrets_are_sealed_in_plans(spark: SparkSession) -> None:
    create = f"CREATE TABLE x (a INT) WITH ('{SECRET}' = 'pl4nted', 'log.kafka.topic' = 'shown')"
    properties = execution(spark, create).analyzed().tableSpec().properties()
    assert properties.apply(SECRET).startswith("*********(sealed)")
    assert properties.apply("log.kafka.topic") == "shown"


def test_the_target_of_a_merge_is_narrowed_to_what_a_small_source_meets(
    spark: SparkSession,
) -> None:
    assert spark._jvm is not None
    rules = spark._jvm.org.apache.spark.sql.tablestore.MergeTargets
    plan = execution(spark, MERGE.format("keyed")).optimizedPlan()
    assert "Join LeftSemi" not in plan.toString()
    assert rules.narrowed(plan, 500).toString().count("Join LeftSemi") == 1
    assert rules.narrowed(plan, 1).equals(plan), "the source is too large"
    assert rules.narrowed(plan, 1 << 40).equals(plan), "the target is small enough"
    spark.range(1000).createOrReplaceTempView("numbers")
    join = "SELECT * FROM numbers n RIGHT JOIN (SELECT 7L AS id) s ON n.id = s.id"
    other = execution(spark, join).optimizedPlan()
    assert rules.narrowed(other, 500).equals(other)


def test_only_streams_to_managed_tables_ask_for_their_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A stream to anything else needs no checkpoint, and the planner hears of none."""
    assert spark._jvm is not None
    asked = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess.requests()
    before = asked.getOrDefault("start_stream_write", 0)
    source = spark.readStream.table("keyed").writeStream.trigger(availableNow=True)
    source.format("noop").start().awaitTermination()
    assert asked.getOrDefault("start_stream_write", 0) == before
    spark.sql("CREATE TABLE streamed (id BIGINT, v INT)")
    sink = source.option("checkpointLocation", str(tmp_path)).toTable("streamed")
    sink.awaitTermination()
    assert asked.getOrDefault("start_stream_write", 0) == before + 1


@pytest.mark.parametrize(
    ("mode", "columns"),
    [
        ("EVOLUTION", "struct<a:bigint,b:int>"),
        ("TYPE EVOLUTION", "struct<a:bigint>"),
        ("COMPENSATION", "struct<a:int>"),
    ],
)
def test_a_view_has_the_columns_that_its_mode_allows(
    spark: SparkSession, mode: str, columns: str
) -> None:
    spark.sql("CREATE OR REPLACE TABLE grown (a INT)")
    star = "*" if mode == "EVOLUTION" else "a"
    spark.sql(f"CREATE OR REPLACE VIEW seen WITH SCHEMA {mode} AS SELECT {star} FROM grown")
    spark.sql("CREATE OR REPLACE TABLE grown (a BIGINT, b INT)")
    plan = execution(spark, "SELECT * FROM seen").analyzed()
    while plan.getClass().getSimpleName() != "View":
        plan = plan.children().head()
    assert plan.desc().schema().simpleString() == columns


def test_a_join_broadcasts_the_rows_that_were_looked_up(spark: SparkSession) -> None:
    sql = "SELECT a.v FROM keyed a JOIN keyed b ON a.v = b.v WHERE b.id IN (3, 4)"
    plan = execution(spark, sql)
    assert "BuildRight" in plan.executedPlan().toString()
    assert sorted(row[0] for row in spark.sql(sql).collect()) == [3, 4]
