"""Goal: tables with the connector `jdbc` or `spark` have what Spark reads there; no secret shows.

Oracle: `spark.read` of the same database and the same files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark

URL = "jdbc:derby:memory:shop"
SECRET = "swordfish"
JDBC = (
    f"'connector' = 'jdbc', 'url' = '{URL}', 'driver' = 'org.apache.derby.jdbc.EmbeddedDriver', "
    f"'username' = 'app', 'password' = '{SECRET}'"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("sources"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        run(session, f"{URL};create=true", *ITEMS)
        yield session


ITEMS = (
    "CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(9, 2), day DATE)",
    *(
        f"INSERT INTO items VALUES ({n}, {'NULL' if n % 5 == 0 else repr(f'item {n}')}, {n}.25, "
        f"DATE('2026-01-{n % 28 + 1:02}'))"
        for n in range(40)
    ),
)


def run(spark: SparkSession, url: str, *statements: str) -> None:
    """Run statements in the database."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "it is no session of Connect"
    connection = jvm.java.sql.DriverManager.getConnection(url, "app", SECRET)
    try:
        for statement in statements:
            connection.createStatement().execute(statement)
    finally:
        connection.close()


def read(spark: SparkSession) -> DataFrame:
    properties = {"user": "app", "password": SECRET}
    return spark.read.jdbc(URL, "items", properties=properties)


def same(found: DataFrame, expected: DataFrame) -> None:
    """Both have the same rows, each as often."""
    assert Counter(map(tuple, found.collect())) == Counter(map(tuple, expected.collect()))


def test_a_databases_table_in_batch_queries(spark: SparkSession) -> None:
    """Alone, in a join, an INSERT, a view and a materialized view; as tasks by ranges of a key."""
    spark.sql(
        "CREATE TABLE items (id BIGINT NOT NULL, price DECIMAL(9, 2), name STRING, day DATE, "
        f"twice AS price * 2, PRIMARY KEY (id) NOT ENFORCED) WITH ({JDBC}, 'table-name' = 'items', "
        "'scan.partition.column' = 'id', 'scan.partition.num' = '3', 'scan.fetch-size' = '7', "
        "'scan.partition.lower-bound' = '0', 'scan.partition.upper-bound' = '30')"
    )
    expected = read(spark)
    same(
        spark.sql("SELECT * FROM items"),
        expected.selectExpr("CAST(id AS BIGINT)", "price", "name", "day", "price * 2"),
    )
    assert spark.table("items").rdd.getNumPartitions() == 3
    filtered = spark.sql("SELECT name FROM items WHERE day = DATE'2026-01-03' AND name IS NOT NULL")
    same(filtered, expected.where("day = DATE'2026-01-03' AND name IS NOT NULL").select("name"))
    plan = filtered._jdf.queryExecution().executedPlan().toString()
    assert "EqualTo(DAY," in plan, "the database filters"
    spark.sql("CREATE TABLE sold (item BIGINT, amount INT)")
    spark.sql("INSERT INTO sold SELECT id % 50, id FROM range(200)")
    joined = (
        "SELECT i.name, sum(s.amount * i.price) FROM sold s JOIN {} i ON s.item = i.id GROUP BY 1"
    )
    expected.createOrReplaceTempView("read_items")
    same(spark.sql(joined.format("items")), spark.sql(joined.format("read_items")))
    twice = "SELECT count(*) FROM {0} a JOIN {0} b ON a.id = b.id + 1"
    same(spark.sql(twice.format("items")), spark.sql(twice.format("read_items")))
    spark.sql("CREATE TABLE copied (id BIGINT, name STRING)")
    spark.sql("INSERT INTO copied SELECT id, name FROM items")
    same(spark.table("copied"), expected.selectExpr("CAST(id AS BIGINT)", "name"))
    spark.sql("CREATE VIEW cheap AS SELECT id FROM items WHERE price < 5")
    same(spark.table("cheap"), expected.where("price < 5").select("id"))
    spark.sql("CREATE MATERIALIZED VIEW dear AS SELECT id FROM items WHERE price > 30")
    same(spark.table("dear"), expected.where("price > 30").select("id"))
    run(spark, URL, "INSERT INTO items VALUES (100, 'new', 99, NULL)")
    spark.sql("REFRESH MATERIALIZED VIEW dear")
    same(spark.table("dear"), read(spark).where("price > 30").select("id"))


def test_secrets_do_not_show(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE hidden (id INT) WITH ({JDBC}, 'table-name' = 'items')")
    spark.sql(
        "CREATE TEMPORARY TABLE passing (name STRING) WITH ('connector' = 'spark', "
        f"'format' = 'jdbc', 'source.options.url' = '{URL}', 'source.options.user' = 'app', "
        f"'source.options.password' = '{SECRET}', 'source.options.dbtable' = 'items')"
    )
    assert spark.table("passing").count() == spark.table("hidden").count() >= 40
    shown = [
        str(spark.sql(statement).collect())
        for statement in (
            "SHOW CREATE TABLE hidden",
            "DESCRIBE EXTENDED hidden",
            "SHOW TBLPROPERTIES hidden",
            "EXPLAIN EXTENDED SELECT * FROM hidden",
            "EXPLAIN EXTENDED SELECT * FROM passing",
        )
    ]
    shown.append(refused(spark, "SELECT nothing FROM hidden"))
    spark.sql(f"CREATE TABLE absent (id INT) WITH ({JDBC}, 'table-name' = 'nowhere')")
    shown.append(refused(spark, "SELECT * FROM absent"))
    assert "NOWHERE" in shown[-1]
    assert not [text for text in shown if SECRET in text]
    named = JDBC.replace(SECRET, "${secret:env:SHOP_PASSWORD}")
    spark.sql(f"CREATE TABLE named (id INT) WITH ({named}, 'table-name' = 'items')")
    error = refused(spark, "SELECT * FROM named")
    assert "the environment variable SHOP_PASSWORD is not set" in error


@pytest.mark.parametrize("form", ["csv", "text", "delta"])
def test_what_spark_reads_by_a_format(spark: SparkSession, tmp_path: Path, form: str) -> None:
    rows = spark.sql("SELECT concat('word ', id) AS value FROM range(9)")
    rows.write.format(form).option("header", "true").save(str(tmp_path / "in"))
    header = "'source.options.header' = 'true'," if form == "csv" else ""
    spark.sql(
        f"CREATE TABLE of_{form} (Value STRING, size AS length(Value)) WITH ({header} "
        f"'connector' = 'spark', 'format' = '{form}', 'path' = '{tmp_path}/in')"
    )
    same(spark.table(f"of_{form}"), rows.selectExpr("value", "length(value)"))


def test_what_is_refused(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE refusing (id INT, more INT) WITH ({JDBC}, 'table-name' = 'items')")
    assert "has no such column, but ID, NAME, PRICE, DAY" in refused(
        spark, "SELECT * FROM refusing"
    )
    spark.sql(f"CREATE TABLE read_only (id INT) WITH ({JDBC}, 'table-name' = 'items')")
    for statement, operation in (
        ("INSERT INTO read_only VALUES (1)", "INSERT"),
        ("DELETE FROM read_only", "DELETE"),
        ("TRUNCATE TABLE read_only", "TRUNCATE"),
    ):
        error = refused(spark, statement)
        assert f"[TABLE_STORE_EXTERNAL_TABLE] {operation} does not work on" in error
    for clause in ("VERSION AS OF 1", "TIMESTAMP AS OF '2026-01-01'"):
        error = refused(spark, f"SELECT * FROM read_only {clause}")
        assert "[TABLE_STORE_TIME_TRAVEL_NOT_SUPPORTED]" in error
    for options, reason in (
        ("'connector' = 'jdbc', 'url' = 'jdbc:x'", "Option 'table-name'"),
        ("'connector' = 'spark', 'path' = '/x'", "Option 'format'"),
        (f"{JDBC}, 'table-name' = 'x', 'scan.partition.num' = '2'", "are given all, or none"),
        (f"{JDBC}, 'tabel-name' = 'x'", "Did you mean 'table-name'?"),
    ):
        assert reason in refused(spark, f"CREATE TABLE bad (id INT) WITH ({options})")
    spark.sql("CREATE TABLE target (id INT)")
    with streaming(spark):
        error = refused(spark, "INSERT INTO target SELECT id FROM read_only")
    assert "no changes are known of" in error
    assert SECRET not in error
