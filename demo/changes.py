"""The demo of changes: the retail warehouse with its log in Kafka, a consumer and a stream.

Started by `make demo-kafka`; works in the folder `.demo-kafka`, or the one given, which it empties
first. The broker is a real one, fetched once (43 MB). Ends with an error where results differ.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, col, lit, when
from pyspark.sql.functions import sum as sum_of

from demo.sql_file import statements
from servers.kafka_broker import KafkaBroker
from servers.topic_reader import committed_messages, committed_records, replayed

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[1]).resolve() if sys.argv[1:] else HERE.parent / ".demo-kafka"
TOPIC = "table_store.default.orders"
_RECORDS_SHOWN = 3
_STATEMENTS = (
    "UPDATE orders SET trans_amount = trans_amount + 100 WHERE dt = '2021-12-05'",
    "DELETE FROM orders WHERE dt = '2021-12-08'",
    (
        "INSERT INTO orders (order_id, cate_id, trans_amount, gmt_create) VALUES "
        "('new-1', '1', 500, '2021-12-09 10:00:00')"
    ),
)


def title(text: str) -> None:
    """Say what comes next."""
    print(f"\n-- {text}")


def add_changes(changes: DataFrame, batch: int) -> None:
    """Add a batch's changes of orders to the sums in `sales`; a repeated batch adds nothing."""
    is_new = col("_change_type").isin("insert", "update_postimage")
    sign = when(is_new, 1).otherwise(-1)
    delta = changes.groupBy("dt").agg(
        sum_of(sign * col("trans_amount")).alias("more"), sum_of(sign).alias("count")
    )
    sums = delta.join(changes.sparkSession.table("sales"), "dt", "left").select(
        "dt",
        (coalesce("amount", lit(0)) + col("more")).alias("amount"),
        (coalesce("orders", lit(0)) + col("count")).alias("orders"),
    )
    named = {"commit-user": "sales-of-orders", "commit-identifier": str(batch)}
    sums.writeTo("sales").options(**named).append()


def check(what: str, left: object, right: object) -> None:
    """Say that two things agree.

    Raises:
        SystemExit: they do not.
    """
    if left != right:
        raise SystemExit(f"{what}: {left} and {right} differ")
    print(f"{what}: agree")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a query."""
    return sorted(tuple(row) for row in spark.sql(query).collect())


def run(spark: SparkSession, brokers: str, folder: Path) -> None:
    """Show everything, and check it; the stream's checkpoint goes to `folder`.

    Raises:
        SystemExit: two results that must agree do not.
    """
    title("The retail warehouse, every table with a topic")
    spark.sql(f"SET table-storage.log.kafka.bootstrap.servers = {brokers}")
    script = (HERE / "retail.sql").read_text(encoding="utf-8")
    for statement in statements(script.replace("path 'data/", f"path '{HERE}/data/")):
        spark.sql(statement)
    spark.sql("SHOW TABLES").show()

    title(f"Records of {TOPIC}, read by a plain consumer")
    for record in committed_records(brokers, TOPIC)[:_RECORDS_SHOWN]:
        print(record.key.decode(), record.value.decode(), dict(record.headers))

    title("A stream keeps sums of the orders up to date while statements change them")
    spark.sql(
        "CREATE TABLE sales (dt STRING, amount BIGINT, orders BIGINT, "
        "PRIMARY KEY (dt) NOT ENFORCED)"
    )
    source = spark.readStream.table("orders").select("dt", "trans_amount", "_change_type")
    query = (
        source.writeStream.foreachBatch(add_changes)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    before = committed_messages(brokers, TOPIC)[-1].snapshot_id
    for statement in _STATEMENTS:
        print(f"\n{statement}")
        spark.sql(statement)
        query.processAllAvailable()
        check(
            "the stream's sums and those of the table",
            rows(spark, "SELECT dt, amount, orders FROM sales WHERE orders > 0"),
            rows(spark, "SELECT dt, sum(trans_amount), count(*) FROM orders GROUP BY dt"),
        )
    query.stop()
    spark.sql("SELECT * FROM sales ORDER BY dt").show()

    found = committed_messages(brokers, TOPIC)
    last = found[-1].snapshot_id
    title(f"CHANGES of the same interval, versions {before + 1} to {last}")
    changes = spark.sql(
        f"SELECT * FROM orders CHANGES FROM VERSION {before} EXCLUSIVE TO VERSION {last} "
        "WITH (computeUpdates = 'true')"
    )
    changes.show(10, truncate=False)
    told = changes.where("_change_type <> 'update_preimage'").count()
    check("its rows and the topic's records", told, sum(m.snapshot_id > before for m in found))
    check(
        "the table and the replayed topic",
        rows(spark, "SELECT order_id, trans_amount FROM orders"),
        sorted((row["order_id"], row["trans_amount"]) for row in map(json.loads, replayed(found))),
    )


def main() -> None:
    """Start broker and Spark, and run."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    os.chdir(FOLDER)
    broker = KafkaBroker(FOLDER / "broker")
    broker.start()
    try:
        spark = SparkSession.builder.master("local[2]").appName("changes").getOrCreate()
        run(spark, broker.bootstrap, FOLDER)
        spark.stop()
    finally:
        broker.kill()


if __name__ == "__main__":
    main()
