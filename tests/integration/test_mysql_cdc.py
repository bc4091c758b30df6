"""Goal: a table over a database's table has its rows, and jobs follow each change of them.

Oracle: the database's own rows, by a plain client.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from table_store import jobs
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming
from tests.servers.mariadb_server import MariadbServer

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("mysql-cdc"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbServer]:
    found = MariadbServer(tmp_path_factory.mktemp("mariadb"))
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def no_jobs(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "spark" in request.fixturenames:
        session: SparkSession = request.getfixturevalue("spark")
        for job in session.sql("SHOW JOBS").collect():
            if job.state in ("RUNNING", "SUSPENDED"):
                session.sql(f"STOP JOB '{job.job}'")


def insert(spark: SparkSession, statement: str, interval: str = "200 ms", **conf: str) -> str:
    with streaming(spark, interval, **conf):
        return str(spark.sql(statement).collect()[0].job)


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def refused(spark: SparkSession, statement: str) -> str:
    with unlogged_errors(), pytest.raises(PySparkException) as error:
        spark.sql(statement).collect()
    return str(error.value)


def test_a_job_has_the_rows_and_then_each_change(
    spark: SparkSession, server: MariadbServer
) -> None:
    server.run(
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20), price DECIMAL(9, 2))",
        "INSERT INTO orders SELECT seq, concat('i', seq % 7), seq / 4 FROM seq_1_to_1000",
    )
    columns = "(id BIGINT, item STRING, price DECIMAL(9, 2), PRIMARY KEY (id) NOT ENFORCED)"
    options = server.options("orders", scan__incremental__snapshot__chunk__size="100")
    spark.sql(f"CREATE TEMPORARY TABLE mysql_orders {columns} {options}")
    spark.sql(f"CREATE TABLE orders {columns}")
    spark.sql(f"CREATE TABLE teas {columns}")
    everything = "SELECT * FROM orders ORDER BY id"
    insert(spark, "INSERT INTO orders SELECT * FROM mysql_orders")
    insert(spark, "INSERT INTO teas SELECT * FROM mysql_orders WHERE item = 'i1'")
    jobs.flush(spark)
    assert rows(spark, everything) == list(server.run(everything))
    server.run(
        "INSERT INTO orders VALUES (2001, 'ü', NULL), (2002, NULL, -1.5)",
        "UPDATE orders SET item = 'i1' WHERE id BETWEEN 500 AND 520",
        "UPDATE orders SET item = 'i2' WHERE id IN (8, 15)",
        "DELETE FROM orders WHERE id % 10 = 3",
        "UPDATE orders SET id = id + 5000 WHERE id BETWEEN 10 AND 20",
        "INSERT INTO orders VALUES (3000, 'short', 1)",
        "DELETE FROM orders WHERE id = 3000",
    )
    jobs.flush(spark)
    assert rows(spark, everything) == list(server.run(everything))
    teas = "SELECT * FROM orders WHERE item = 'i1' ORDER BY id"
    assert rows(spark, "SELECT * FROM teas") == list(server.run(teas))
    assert rows(spark, "SELECT * FROM mysql_orders") == list(server.run(everything))
    assert spark.sql("SELECT count(*) FROM mysql_orders").collect()[0][0] == len(
        server.run(everything)
    )
