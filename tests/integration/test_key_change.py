"""Goal: a table gets a primary key, or loses it, with all of its rows and none twice.

Oracle: a dict of the rows by key, and the set of rows whose commits have succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from table_store import connect
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.model.errors import CommitConflictError, TableMovedError
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("keys"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession) -> Warehouse:
    return connect(str(spark.conf.get("spark.sql.warehouse.dir")))


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def refused(spark: SparkSession, sql: str) -> str:
    with unlogged_errors(), pytest.raises(PySparkException) as error:
        spark.sql(sql).collect()
    return str(error.value).partition("JVM stacktrace")[0]


@pytest.mark.parametrize("layout", ["", "PARTITIONED BY (p)"])
def test_a_key_comes_and_goes_with_all_rows(layout: str, spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS t")
    spark.sql(
        "CREATE TABLE t (p INT, `the id` BIGINT, v STRING DEFAULT 'd' COMMENT 'a comment', "
        "twice BIGINT GENERATED ALWAYS AS (`the id` * 2), "
        f"CONSTRAINT positive CHECK (`the id` >= 0)) COMMENT 'a table' {layout} "
        "TBLPROPERTIES ('bucket' = '2')"
    )
    spark.sql("INSERT INTO t (p, `the id`, v) SELECT id % 3, id, concat('v', id) FROM range(3000)")
    spark.sql("ALTER TABLE t ADD COLUMN later INT DEFAULT 7")
    spark.sql("DELETE FROM t WHERE `the id` % 5 = 0")
    model = {(i % 3, i): (f"v{i}", 2 * i, 7) for i in range(3000) if i % 5}
    created = str(spark.sql("SHOW CREATE TABLE t").collect()[0][0])
    before = spark.sql("SELECT current_timestamp()").collect()[0][0]
    spark.sql("ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY (p, `the id`) NOT ENFORCED")
    query = "SELECT p, `the id`, v, twice, later FROM t"
    assert rows(spark, query) == sorted((*key, *value) for key, value in model.items())
    keyed = str(spark.sql("SHOW CREATE TABLE t").collect()[0][0])
    assert "CONSTRAINT `k` PRIMARY KEY (p, `the id`) NOT ENFORCED" in keyed
    for part in ("'a comment'", "'a table'", "positive", "DEFAULT 'd'", "'bucket' = '2'", layout):
        assert part in keyed, part
    spark.sql("INSERT INTO t (p, `the id`) SELECT id % 3, id FROM range(0, 6000, 2)")
    model |= {(i % 3, i): ("d", 2 * i, 7) for i in range(0, 6000, 2)}
    assert rows(spark, query) == sorted((*key, *value) for key, value in model.items())
    assert rows(spark, "SELECT count(*) FROM t VERSION AS OF 1") == [(2400,)]
    assert rows(spark, f"SELECT count(*) FROM t TIMESTAMP AS OF '{before}'") == [(2400,)]
    changes = "SELECT _change_type, count(*) FROM t CHANGES FROM VERSION 2 GROUP BY 1"
    assert rows(spark, changes) == [("delete", 1200), ("insert", 3000)]
    spark.sql("ALTER TABLE t DROP PRIMARY KEY")
    spark.sql("INSERT INTO t (p, `the id`) VALUES (1, 1)")
    again = [*((*key, *value) for key, value in model.items()), (1, 1, "d", 2, 7)]
    assert rows(spark, query) == sorted(again)
    keyless = str(spark.sql("SHOW CREATE TABLE t").collect()[0][0])
    assert keyless.replace(" NOT NULL", "") == created.replace(" NOT NULL", "")


def test_rows_without_a_key_of_their_own_are_named(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE twice (a INT, b STRING, m MAP<INT, INT>)")
    spark.sql("INSERT INTO twice VALUES (1, 'x', NULL), (1, 'y', NULL), (2, 'x', NULL)")
    said = refused(spark, "ALTER TABLE twice ADD PRIMARY KEY (a) NOT ENFORCED")
    assert "[TABLE_STORE_EXISTING_KEY_VIOLATION]" in said
    assert "2 rows have a = 1" in said
    assert "SQLSTATE: 23505" in said
    spark.sql("INSERT INTO twice VALUES (NULL, 'z', NULL)")
    said = refused(spark, "ALTER TABLE twice ADD PRIMARY KEY (b, a) NOT ENFORCED")
    assert "a row has b = z, a = NULL" in said
    refusals = {
        "ADD PRIMARY KEY (absent) NOT ENFORCED": "no such column",
        "ADD PRIMARY KEY (m) NOT ENFORCED": "must have an order",
        "ADD PRIMARY KEY (a, a) NOT ENFORCED": "",
        "DROP PRIMARY KEY": "TABLE_STORE_NOT_FOUND",
    }
    for change, expected in refusals.items():
        said = refused(spark, f"ALTER TABLE twice {change}")
        assert expected in said, change
        assert "org.apache" not in said
    assert len(rows(spark, "SELECT a, b FROM twice WHERE a > 0")) == 3
    spark.sql("DELETE FROM twice WHERE a IS NULL OR b = 'y'")
    spark.sql("ALTER TABLE twice ADD PRIMARY KEY (a) NOT ENFORCED")
    said = refused(spark, "ALTER TABLE twice ADD PRIMARY KEY (b) NOT ENFORCED")
    assert "has the primary key (a) already" in said
    spark.sql(
        "CREATE TABLE upserted (a INT, PRIMARY KEY (a) NOT ENFORCED) "
        "TBLPROPERTIES ('log.changelog-mode' = 'upsert')"
    )
    assert "needs a primary key" in refused(spark, "ALTER TABLE upserted DROP PRIMARY KEY")
    spark.sql("CREATE TEMPORARY TABLE own AS SELECT 1 AS a")
    spark.sql("ALTER TABLE own ADD PRIMARY KEY (a) NOT ENFORCED")
    spark.sql("INSERT INTO own VALUES (1)")
    assert rows(spark, "SELECT * FROM own") == [(1,)]


def altered(spark: SparkSession, sql: str) -> bool:
    """Whether the statement has not lost against others again and again."""
    try:
        spark.sql(sql)
    except PySparkException as error:
        if "TABLE_STORE_COMMIT_CONFLICT" not in str(error):
            raise
        return False
    return True


def test_rows_that_others_write_meanwhile_are_there(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """Each write that has succeeded counts, and each one that has not can be run again."""
    spark.sql("CREATE TABLE racing (k INT)")
    stale = warehouse.open("racing")
    written: set[int] = set()

    def write(first: int) -> None:
        k = first
        while k < 20:
            table = warehouse.open("racing")
            try:
                table.append(pa.table({"k": pa.array([k], pa.int32())}))
            except (CommitConflictError, TableMovedError):
                continue
            written.add(k)
            k += 2

    threads = [Thread(target=write, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for change in ("ADD PRIMARY KEY (k) NOT ENFORCED", "DROP PRIMARY KEY"):
        while not altered(spark, f"ALTER TABLE racing {change}"):
            continue
    for thread in threads:
        thread.join()
    assert written == set(range(20))
    assert rows(spark, "SELECT k FROM racing") == [(k,) for k in range(20)]
    with pytest.raises(TableMovedError, match="by its name again"):
        stale.append(pa.table({"k": pa.array([-1], pa.int32())}))
    assert rows(spark, "SELECT k FROM racing WHERE k < 0") == []


def test_jobs_and_streams_are_told(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE stood_on (k INT)")
    spark.sql("INSERT INTO stood_on VALUES (1), (2)")
    spark.sql("CREATE MATERIALIZED VIEW standing AS SELECT sum(k) AS s FROM stood_on")
    add = "ALTER TABLE stood_on ADD PRIMARY KEY (k) NOT ENFORCED"
    said = refused(spark, add)
    assert "[TABLE_STORE_DEPENDENTS]" in said
    assert "materialized view table_store.default.standing" in said
    said = refused(spark, "ALTER TABLE standing ADD PRIMARY KEY (s) NOT ENFORCED")
    assert "[TABLE_STORE_MATERIALIZED_VIEW]" in said
    stream = spark.readStream.table("stood_on").writeStream.queryName("running")
    running = stream.format("memory").option("checkpointLocation", str(tmp_path / "c")).start()
    running.processAllAvailable()
    spark.sql(f"{add} SUSPEND")
    with unlogged_errors(), pytest.raises(StreamingQueryException, match="another primary key"):
        running.awaitTermination(60)
    spark.sql("INSERT INTO stood_on VALUES (2), (3)")
    spark.sql("ALTER MATERIALIZED VIEW standing RESUME")
    spark.sql("REFRESH MATERIALIZED VIEW standing")
    assert rows(spark, "SELECT s FROM standing") == [(6,)]
    spark.sql("CREATE TABLE fed (k INT)")
    with streaming(spark):
        job = spark.sql("INSERT INTO fed SELECT k FROM stood_on").collect()[0].job
    said = refused(spark, "ALTER TABLE fed ADD PRIMARY KEY (k) NOT ENFORCED SUSPEND")
    assert "[TABLE_STORE_DEPENDENTS]" in said
    spark.sql(f"STOP JOB '{job}' WITH DRAIN")
    spark.sql("ALTER TABLE fed ADD PRIMARY KEY (k) NOT ENFORCED")
    assert rows(spark, "SELECT k FROM fed") == [(1,), (2,), (3,)]
