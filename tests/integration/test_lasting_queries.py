"""Goal: a job's query is analysed once, and once more whenever it may mean something else.

Oracle: Spark's own run of the query. Each refresh follows one with nothing between both but what
the test changes, so that the analysis of the first one would be at hand for the second one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark

GROUPED = "SELECT k, sum(v) AS v FROM {0} GROUP BY k"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("lasting"), OWN_NAME) as session:
        yield session


@pytest.fixture(autouse=True)
def namespace(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE NAMESPACE lasting")
    spark.sql("USE lasting")
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {name} (id INT, k INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
        spark.sql(f"INSERT INTO {name} SELECT id, id % 3, {len(name)} FROM range(9)")
    yield
    for job in spark.sql("SHOW JOBS").collect():
        if job.state == "RUNNING":
            spark.sql(f"STOP JOB '{job.job}'")
    spark.sql("USE default")
    spark.sql("DROP NAMESPACE lasting CASCADE")


def rows(spark: SparkSession, query: str) -> Counter[str]:
    return Counter(str(tuple(row)) for row in spark.sql(query).collect())


def loads(spark: SparkSession, view: str) -> int:
    """How many names of queries Spark looks up while a view is refreshed."""
    assert spark._jvm is not None
    requests = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess.requests()
    requests.clear()
    spark.sql(f"REFRESH MATERIALIZED VIEW {view}").collect()
    return int(requests["load_relation"] or 0)


def kept_up(spark: SparkSession, view: str, query: str) -> None:
    """Refresh a view after a change of `a`, and once more after another one."""
    for _ in range(2):
        spark.sql("INSERT INTO a SELECT coalesce(max(id), 0) + 1, 1, 100 FROM a")
        spark.sql(f"REFRESH MATERIALIZED VIEW {view}").collect()
        assert rows(spark, f"SELECT * FROM {view}") == rows(spark, query)


def test_an_analysis_is_not_repeated(spark: SparkSession) -> None:
    spark.sql(f"CREATE MATERIALIZED VIEW below AS {GROUPED.format('a')}")
    top = "SELECT count(*) AS n, sum(v) AS v FROM {0}"
    spark.sql(f"CREATE MATERIALIZED VIEW top AS {top.format('below')}")
    spark.sql("CREATE VIEW plain AS SELECT * FROM a")
    spark.sql(f"CREATE MATERIALIZED VIEW over AS {GROUPED.format('plain')}")
    kept_up(spark, "top", top.format(f"({GROUPED.format('a')})"))
    kept_up(spark, "over", GROUPED.format("plain"))
    spark.sql("INSERT INTO a VALUES (100, 1, 1)")
    assert loads(spark, "top") == 0
    # Anybody may give a plain view another query.
    assert loads(spark, "over") > 0


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE TABLE a AS SELECT id, k, v + 1 AS v FROM b",
        "ALTER TABLE a ADD COLUMN more INT",
        "TRUNCATE TABLE a",
    ],
)
def test_a_name_means_something_else(spark: SparkSession, change: str) -> None:
    query = GROUPED.format("a")
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    kept_up(spark, "mv", query)
    for statement in change.split("; "):
        spark.sql(statement)
    spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
    assert rows(spark, "SELECT * FROM mv") == rows(spark, query)


def test_a_name_goes_to_another_table(spark: SparkSession) -> None:
    """A view goes on with the table that it was defined over."""
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS {GROUPED.format('a')}")
    kept_up(spark, "mv", GROUPED.format("a"))
    spark.sql("ALTER TABLE a RENAME TO c")
    spark.sql("ALTER TABLE b RENAME TO a")
    spark.sql("INSERT INTO a VALUES (50, 5, 5)")
    spark.sql("INSERT INTO c VALUES (50, 6, 6)")
    spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
    assert rows(spark, "SELECT * FROM mv") == rows(spark, GROUPED.format("c"))


def test_a_function_means_something_else(spark: SparkSession) -> None:
    query = "SELECT k, sum(spark_catalog.default.twice(v)) AS v FROM a GROUP BY k"
    name, body = "spark_catalog.default.twice(x INT) RETURNS INT", "RETURN x * {0}"
    spark.sql(f"CREATE FUNCTION {name} {body.format(2)}")
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    kept_up(spark, "mv", query)
    spark.sql(f"CREATE OR REPLACE FUNCTION {name} {body.format(3)}")
    kept_up(spark, "mv", query)
    spark.sql("DROP FUNCTION spark_catalog.default.twice")


@pytest.mark.parametrize("moment", ["current_timestamp()", "CAST('now' AS TIMESTAMP)"])
def test_the_time_of_an_epoch(spark: SparkSession, moment: str) -> None:
    spark.sql(f"CREATE MATERIALIZED VIEW mv AS SELECT count(*) AS n, {moment} AS at FROM a")
    found = []
    for number in range(3):
        spark.sql(f"INSERT INTO a VALUES ({100 + number}, 1, 1)")
        before = spark.sql("SELECT now()").collect()[0][0]
        spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
        found.append(spark.sql("SELECT * FROM mv").collect()[0])
        assert found[-1].at >= before
    assert [row.n for row in found] == [10, 11, 12]


def test_the_table_of_an_insert_gets_another_type(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sink (k INT, v INT, PRIMARY KEY (k) NOT ENFORCED)")
    with streaming(spark):
        spark.sql(f"INSERT INTO sink {GROUPED.format('a')}").collect()
    for number in range(2):
        spark.sql(f"INSERT INTO a VALUES ({200 + number}, 1, 7)")
        spark.sql("CALL sys.flush('lasting.sink')")
        assert rows(spark, "SELECT * FROM sink") == rows(spark, GROUPED.format("a"))
    spark.sql("ALTER TABLE sink ALTER COLUMN v TYPE BIGINT")
    spark.sql(f"INSERT INTO a VALUES (300, 1, {2**31 - 1})")
    spark.sql("CALL sys.flush('lasting.sink')")
    assert rows(spark, "SELECT * FROM sink") == rows(spark, GROUPED.format("a"))


def test_a_table_gets_its_first_rows(spark: SparkSession) -> None:
    """Before them the plan of an epoch does not have the table."""
    query = "SELECT k, v FROM a UNION ALL SELECT k, v FROM late"
    spark.sql("CREATE TABLE late (k INT, v INT)")
    spark.sql("CREATE TABLE sink (k INT, v INT)")
    with streaming(spark):
        spark.sql(f"INSERT INTO sink {query}").collect()
    for number, table in enumerate(["a", "a", "late", "a", "late"]):
        spark.sql(
            f"INSERT INTO {table} (k, v) VALUES ({number}, 7)"
            if table == "late"
            else f"INSERT INTO a VALUES ({200 + number}, 1, 7)"
        )
        spark.sql("CALL sys.flush('lasting.sink')")
        assert rows(spark, "SELECT * FROM sink") == rows(spark, query)
