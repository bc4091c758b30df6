"""Goal: no barrier cuts the transaction of a producer in two, whatever jobs and views do meanwhile.

The case is one that Gunnar Morling has shown of Flink: transactions change an order and its lines,
which are two tables, and a join of both must never show an order with lines of another time. The
oracle is what was written: each transaction gives order and lines the same number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from table_store import connect, jobs
from table_store.topology import transaction
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.integration.streaming_mode import streaming

pytestmark = pytest.mark.spark

BOTH = "SELECT o.id, o.n AS po, l.n AS ol FROM orders o JOIN lines l USING (id)"
ORDERS = 3
ROW = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("n", pa.int32())])


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("transactions"), OWN_NAME) as session:
        for table in ("orders", "lines"):
            session.sql(f"CREATE TABLE {table} (id INT NOT NULL, n INT, PRIMARY KEY (id))")
        session.sql("CREATE TABLE both (id INT NOT NULL, po INT, ol INT, PRIMARY KEY (id))")
        session.sql("CREATE TABLE alone (id INT NOT NULL, n INT, PRIMARY KEY (id))")
        yield session


class Producer(threading.Thread):
    """Gives orders and their lines the next number again and again, in transactions of its own."""

    def __init__(self, warehouse: str) -> None:
        super().__init__()
        self.warehouse = warehouse
        self.number = 0
        self.is_told_to_end = threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        opened = connect(self.warehouse)
        orders, lines = opened.open("orders"), opened.open("lines")
        try:
            while not self.is_told_to_end.wait(0.2):
                self.number += 1
                rows = [pa.table({"id": [one], "n": [self.number]}, ROW) for one in range(ORDERS)]
                with transaction(self.warehouse, "of the producer", ["orders", "lines"]):
                    lines.append(pa.concat_tables(rows))
                    for row in rows:
                        orders.append(row)
        except Exception as error:  # noqa: BLE001  the test tells it
            self.failure = error


@contextmanager
def producing(spark: SparkSession) -> Iterator[Producer]:
    producer = Producer(str(spark.conf.get("spark.sql.warehouse.dir")))
    producer.start()
    try:
        yield producer
    finally:
        producer.is_told_to_end.set()
        producer.join()
    assert producer.failure is None, producer.failure


def mixed(rows: list[Row]) -> list[Row]:
    """Those of a read that no transaction has left: all orders and lines have one number."""
    return rows if len({number for row in rows for number in (row.po, row.ol)}) > 1 else []


def test_readers_see_whole_transactions(spark: SparkSession) -> None:
    with streaming(spark, "20 ms"):
        (started,) = spark.sql(f"INSERT INTO both {BOTH}").collect()
    spark.sql("SET 'table-store.consistency' = 'RepeatableRead'")
    with producing(spark) as producer:
        seen: list[Row] = []
        end = time.monotonic() + 240
        while producer.failure is None and len({row.po for row in seen}) < 2:
            assert time.monotonic() < end, "barriers go on"
            for query in ("SELECT * FROM both", BOTH):
                rows = spark.sql(query).collect()
                assert mixed(rows) == []
                seen += rows
        spark.sql("SET 'table-store.consistency' = 'ReadUncommitted'")
        while not mixed(spark.sql(BOTH).collect()):
            assert time.monotonic() < end, "else nothing is proved"
    assert jobs.stop_job(spark, started.job, drain=True).state == "FINISHED"
    last = [Row(id=one, po=producer.number, ol=producer.number) for one in range(ORDERS)]
    assert spark.sql("SELECT * FROM both ORDER BY id").collect() == last


def test_what_waits_while_one_is_open(spark: SparkSession) -> None:
    """Jobs and views of its tables, and nobody else; who begins it again goes on with it."""
    spark.sql("INSERT INTO orders VALUES (100, 1)")
    spark.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders WHERE id > 99")
    spark.sql("CREATE TABLE apart (id INT)")
    spark.sql("CREATE MATERIALIZED VIEW of_apart AS SELECT count(*) AS n FROM apart")
    with streaming(spark, "20 ms"):
        (started,) = spark.sql("INSERT INTO alone SELECT id, n FROM orders WHERE id > 99").collect()
    jobs.flush(spark, "alone")
    spark.sql("CALL sys.begin_transaction('t', 'orders, default.lines')").collect()
    spark.sql("INSERT INTO orders VALUES (101, 2)")
    spark.sql("CALL sys.begin_transaction(transaction => 't', tables => 'lines')").collect()
    spark.sql("INSERT INTO apart VALUES (1)")
    assert spark.sql("SELECT transaction, table_name FROM sys.transactions").collect() == [
        Row(transaction="t", table_name=name) for name in ("lines", "orders")
    ]
    assert spark.sql("REFRESH MATERIALIZED VIEW of_apart").first() is not None
    with pytest.raises(PySparkException, match=r"TABLE_STORE_JOB_BEHIND.*transaction 't'"):
        jobs.flush(spark, "alone")
    with pytest.raises(PySparkException, match=r"TABLE_STORE_TRANSACTION_OPEN.*transaction 't'"):
        spark.sql("REFRESH MATERIALIZED VIEW counted")
    with pytest.raises(PySparkException, match="TABLE_STORE_TRANSACTION_OPEN"):
        spark.sql("CALL sys.revise(table => 'orders', mode => 'full')")
    assert spark.table("alone").count() == 1
    assert spark.sql("CALL sys.end_transaction('t')").collect() == [Row(was_open=True)]
    jobs.flush(spark, "alone")
    spark.sql("REFRESH MATERIALIZED VIEW counted")
    assert spark.table("alone").count() == 2
    assert spark.table("counted").collect() == [Row(n=2)]
    assert spark.sql("CALL sys.end_transaction('t')").collect() == [Row(was_open=False)]
    assert jobs.stop_job(spark, started.job).state == "STOPPED"
