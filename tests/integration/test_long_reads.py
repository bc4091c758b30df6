"""Goal: a query that runs for long reads to its end what expiry would have removed meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from table_store import open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark

FILES = 8
# Seconds for each file, two of which are read at a time: statements of a busy machine go beside it.
SLOW = """
    SELECT sum(id) AS total FROM t WITH ('source.split.target-size' = '64 kb')
    WHERE reflect('java.lang.Thread', 'sleep', 2500L) IS NOT NULL
"""
TOTAL = sum(range(FILES))


@pytest.fixture(params=["200ms", "1h"])
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    settings = {**OWN_NAME, "spark.tablestore.read.lease.after": request.param}
    with spark_session(tmp_path_factory.mktemp("long"), settings) as session:
        yield session


def test_a_long_query_has_a_lease(spark: SparkSession) -> None:
    """Without one it fails, else this proved nothing."""
    has_lease = spark.conf.get("spark.tablestore.read.lease.after") == "200ms"
    spark.sql("CREATE TABLE t (id INT)")
    table = open_table(f"{spark.conf.get('spark.sql.warehouse.dir')}/default.db/t").storage
    for number in range(FILES):
        spark.sql(f"INSERT INTO t VALUES ({number})")
    assert spark.sql("SELECT sum(id) FROM t").collect()[0][0] == TOTAL
    wait_until_forgotten(table)  # on a busy machine that was a long read, too
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: spark.sql(SLOW).collect())
        read = wait_for_reader(table, answer) if has_lease else None
        if not has_lease:
            time.sleep(1)
        spark.sql("INSERT OVERWRITE t VALUES (1000)")
        spark.sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
        assert not answer.done(), "it reads on"
        if has_lease:
            assert answer.result()[0].total == TOTAL
        else:
            with unlogged_errors(), pytest.raises((PySparkException, Py4JJavaError)):
                answer.result()
    if read is not None:
        assert read.startswith("reader:")
        wait_until_forgotten(table)
        spark.sql("INSERT INTO t VALUES (1)")
        spark.sql("CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)")
        assert table.snapshot_store.earliest_id() == FILES + 2


def wait_for_reader(table: FileStoreTable, answer: Future[list[Row]]) -> str:
    while not answer.done():
        for consumer in table.consumers.all():
            return consumer.id
        time.sleep(0.05)
    raise AssertionError(f"the query had no lease: {answer.exception()}")


def wait_until_forgotten(table: FileStoreTable) -> None:
    end = time.monotonic() + 20
    while table.consumers.known():
        assert time.monotonic() < end
        time.sleep(0.05)
