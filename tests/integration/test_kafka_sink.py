"""Goal: INSERTs into a topic bring each row into it, by key where rows change, whatever is killed.

Oracle: a plain consumer of the topic, Python's own json and csv, the partitioner of Kafka's
client, and Spark's result of the same query.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.partitioner.default import murmur2
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from servers.kafka_broker import KafkaBroker
from servers.with_clause import with_clause
from tests.documents import examples
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session, unlogged_errors
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("kafka-sink"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session


class Topic:
    """A topic of a test, read by a plain consumer."""

    def __init__(self, broker: KafkaBroker, name: str, partitions: int = 1) -> None:
        self.broker, self.name, self.partitions = broker, name, partitions
        broker.create_topic(name, partitions)

    def options(self, connector: str = "kafka", **more: str) -> str:
        """The clause WITH of a table over it."""
        given = {
            "connector": connector,
            "topic": self.name,
            "properties.bootstrap.servers": self.broker.bootstrap,
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
        return with_clause(given)

    def records(self) -> list[Any]:
        """All committed records, each partition in order."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        try:
            parts = [TopicPartition(self.name, p) for p in range(self.partitions)]
            consumer.assign(parts)
            ends = consumer.end_offsets(parts)
            found: list[Any] = []
            while any(consumer.position(part) < ends[part] for part in parts):
                for records in consumer.poll(timeout_ms=100).values():
                    found += records
            return found
        finally:
            consumer.close()

    def values(self) -> list[Any]:
        return [json.loads(record.value) for record in self.records()]


def test_a_batch_insert_is_in_the_topic(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """And a table over the same topic reads what was written."""
    topic = Topic(kafka_broker, "rows", 2)
    spark.sql(
        "CREATE TABLE written (id BIGINT, name STRING, price DECIMAL(9, 2), at TIMESTAMP, "
        "tags ARRAY<STRING>, place STRUCT<x: DOUBLE, day: DATE>, twice AS id * 2) "
        + topic.options(
            key__format="json",
            key__fields="id;name",
            value__format="json",
            scan__bounded__mode="latest-offset",
        )
    )
    spark.sql(
        "INSERT INTO written VALUES (1, 'a\"\\n', 1.50, TIMESTAMP '2026-01-02 03:04:05.5Z', "
        "array('x', NULL), named_struct('x', 0.5D, 'day', DATE '2026-01-02')), "
        "(2, NULL, NULL, NULL, NULL, NULL)"
    )
    first, second = sorted(topic.records(), key=lambda record: str(record.key))
    assert json.loads(first.value) == {
        "id": 1,
        "name": 'a"\n',
        "price": 1.5,
        "at": "2026-01-02 03:04:05.5Z",
        "tags": ["x", None],
        "place": {"x": 0.5, "day": "2026-01-02"},
    }
    assert b'"price":1.50,' in first.value
    assert json.loads(second.value) == {
        "id": 2,
        "name": None,
        "price": None,
        "at": None,
        "tags": None,
        "place": None,
    }
    assert [json.loads(one.key)["id"] for one in (first, second)] == [1, 2]
    assert [one.partition for one in (first, second)] == [
        (murmur2(one.key) & 0x7FFFFFFF) % 2 for one in (first, second)
    ]
    assert not first.headers
    read = spark.sql("SELECT * FROM written ORDER BY id").collect()
    assert [(row.id, row.name, row.twice) for row in read] == [(1, 'a"\n', 2), (2, None, 4)]
    assert (str(read[0].price), read[0].tags, read[0].place.x) == ("1.50", ["x", None], 0.5)


def test_other_formats(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    lines = Topic(kafka_broker, "lines")
    spark.sql(
        "CREATE TABLE lines (name STRING, at TIMESTAMP_NTZ, n DECIMAL(5, 1)) "
        + lines.options(format="csv", csv__field_delimiter=";", csv__null_literal="-")
    )
    texts = ["plain", "semi;colon", 'quo"te', "two\nlines", "-", ""]
    values = ", ".join(f"('{text}', TIMESTAMP_NTZ '2026-01-02 03:04:05', 1.5)" for text in texts)
    spark.sql(f"INSERT INTO lines VALUES {values}, (NULL, NULL, NULL)")
    found = [record.value.decode() for record in lines.records()]
    rows = [next(csv.reader([line], delimiter=";")) if "\n" not in line else None for line in found]
    at = "2026-01-02 03:04:05"
    expected = {(text, at, "1.5") for text in texts if "\n" not in text} | {("-", "-", "-")}
    assert {tuple(row) for row in rows if row is not None} == expected
    assert f'"two\nlines";{at};1.5' in found
    assert f'"-";{at};1.5' in found
    raw = Topic(kafka_broker, "raw")
    spark.sql(
        "CREATE TABLE raw (k STRING, v BINARY) "
        + raw.options(
            key__format="raw",
            key__fields="k",
            value__format="raw",
            value__fields_include="EXCEPT_KEY",
        )
    )
    spark.sql("INSERT INTO raw VALUES ('a', X'00FF'), (NULL, X'01')")
    assert sorted((str(r.key), r.value) for r in raw.records()) == [
        ("None", b"\x01"),
        ("b'a'", b"\x00\xff"),
    ]
    error = refused(spark, "SELECT * FROM raw")
    assert "[TABLE_STORE_EXTERNAL_TABLE] SELECT does not work on" in error


def test_all_records_are_in_one_partition(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "fixed", 3)
    options = {"format": "json", "sink__partitioner": "fixed"}
    spark.sql(f"CREATE TABLE fixed (id INT) {topic.options(**options)}")
    keyed = topic.options(**options, key__format="json", key__fields="id")
    spark.sql(f"CREATE TABLE fixed_keyed (id INT) {keyed}")
    for number in range(3):
        spark.sql(f"INSERT INTO fixed VALUES ({number})")
    spark.sql("INSERT INTO fixed_keyed SELECT CAST(id AS INT) FROM range(3, 20)")
    records = topic.records()
    assert {record.partition for record in records} == {0}
    assert sorted(json.loads(record.value)["id"] for record in records) == list(range(20))


def test_changes_are_records_by_key(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "changes", 3)
    spark.sql("CREATE TABLE sold (item STRING, amount INT)")
    spark.sql("INSERT INTO sold VALUES ('tea', 1), ('rice', 2), ('salt', 3)")
    spark.sql(
        "CREATE TABLE totals (item STRING, total BIGINT, PRIMARY KEY (item) NOT ENFORCED) "
        + topic.options(
            "upsert-kafka",
            key__format="json",
            value__format="json",
            sink__delivery_guarantee="exactly-once",
            sink__transactional_id_prefix="shop",
        )
    )
    query = "SELECT item, sum(amount) AS total FROM sold GROUP BY item"
    with streaming(spark):
        spark.sql(f"INSERT INTO totals {query}")
    flush(spark)
    assert sorted(value["item"] for value in topic.values()) == ["rice", "salt", "tea"]
    spark.sql("INSERT INTO sold VALUES ('tea', 10)")
    spark.sql("DELETE FROM sold WHERE item = 'rice'")
    flush(spark)
    records = topic.records()
    state: dict[str, int] = {}
    for record in records:
        item = json.loads(record.key)["item"]
        if record.value is None:
            del state[item]
        else:
            assert json.loads(record.value)["item"] == item
            state[item] = json.loads(record.value)["total"]
    assert state == {row.item: row.total for row in spark.sql(query).collect()}
    assert Counter(record.value is None for record in records) == {False: 4, True: 1}
    with kafka_broker.admin() as admin:
        (group,) = [g["group_id"] for g in admin.list_groups() if g["group_id"].startswith("shop-")]
    assert group


def test_examples_of_the_documents(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    spark.sql("CREATE NAMESPACE documents")
    spark.sql("USE documents")
    in_order = sorted((*examples("python"), *examples("sql")), key=lambda example: example.line)
    for example in (e for e in in_order if e.page == "kafka-sink"):
        code = example.with_brokers(kafka_broker.bootstrap)
        if code.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(code.code, {})
            found = tuple(tuple(line.split()) for line in printed.getvalue().splitlines())
            assert found == code.printed, f"kafka-sink, line {code.line}"
        else:
            for statement in code.statements():
                spark.sql(statement).collect()
    spark.sql("USE default")


def test_what_takes_rows_away_is_refused(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "grows")
    spark.sql("CREATE TABLE grows (id INT) " + topic.options(format="json"))
    spark.sql("CREATE TABLE bag (id INT)")
    spark.sql("CREATE TABLE keyed (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO bag VALUES (1), (2)")
    with streaming(spark):
        for query in (
            "SELECT max(id) FROM bag",
            "SELECT id FROM keyed",
            "SELECT b.id FROM bag b LEFT JOIN bag c ON b.id = c.id",
        ):
            error = refused(spark, f"INSERT INTO grows {query}")
            assert "[TABLE_STORE_STREAMING_INSERT]" in error
            assert "'connector' = 'upsert-kafka'" in error
        spark.sql("INSERT INTO grows SELECT b.id FROM bag b JOIN bag c ON b.id = c.id")
        error = refused(spark, "INSERT INTO bag SELECT id FROM grows")
        assert "[TABLE_STORE_STREAMING_INSERT]" in error
    flush(spark)
    spark.sql("DELETE FROM bag WHERE id = 1")
    with unlogged_errors(), pytest.raises(PySparkException) as behind:
        flush(spark)
    assert "[TABLE_STORE_RETRACTED_ROWS]" in str(behind.value)
    assert "{'id': 1}" in str(behind.value)
    assert sorted(value["id"] for value in topic.values()) == [1, 2]


def test_what_is_refused(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "refused")
    for columns, options, expected in (
        ("id INT", {"connector": "upsert-kafka", "key__format": "raw"}, "PRIMARY KEY"),
        ("id INT", {"format": "json", "key__fields": "id"}, "'key.format'"),
        ("id INT", {"format": "json", "key__format": "raw", "key__fields": "x"}, "no column 'x'"),
        ("id INT", {"format": "json", "key__format": "raw", "key__fields": "id"}, "INT"),
        ("id INT", {"format": "json", "value__format": "json"}, "leave one out"),
        (
            "id INT",
            {
                "format": "json",
                "key__format": "json",
                "key__fields": "id",
                "sink__partitioner": "round-robin",
            },
            "it does not go with 'key.fields'",
        ),
        (
            "id INT",
            {"format": "debezium-json", "sink__partitioner": "round-robin"},
            "would lose their order",
        ),
        ("id INT", {"format": "json", "sink__delivery_guarantees": "x"}, "sink.delivery-guarantee"),
        ("id INT", {"format": "json", "sink__delivery_guarantee": "none"}, "exactly-once"),
    ):
        statement = f"CREATE TABLE bad ({columns}) {topic.options(**options)}"
        assert expected in refused(spark, statement), options
    json_options = topic.options(format="json")
    spark.sql(f"CREATE TABLE with_key (id INT, PRIMARY KEY (id) NOT ENFORCED) {json_options}")
    assert "'connector' = 'upsert-kafka'" in refused(spark, "INSERT INTO with_key VALUES (1)")
    spark.sql(f"CREATE TABLE with_offset (id INT, `offset` BIGINT METADATA) {json_options}")
    assert "METADATA columns" in refused(spark, "INSERT INTO with_offset VALUES (1, 2)")
    missing = json_options.replace("'refused'", "'nowhere'")
    spark.sql(f"CREATE TABLE nowhere (id INT) {missing}")
    error = refused(spark, "INSERT INTO nowhere VALUES (1)")
    assert "[TABLE_STORE_SINK_TOPIC_NOT_FOUND]" in error
    assert topic.records() == []


def test_brokers_that_do_not_answer_are_waited_for(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    """Such epochs suspend nobody, DESCRIBE JOB counts them, and the rows go out afterwards."""
    topic = Topic(kafka_broker, "patient")
    spark.sql("CREATE TABLE orders (id INT)")
    spark.sql("INSERT INTO orders VALUES (1)")
    spark.sql(f"CREATE TABLE patient (id INT) {topic.options(format='json')}")
    with streaming(spark, "200 ms"):
        (started,) = spark.sql("INSERT INTO patient SELECT id FROM orders").collect()
    flush(spark)

    def details() -> dict[str, Any]:
        found = spark.sql(f"DESCRIBE JOB '{started.job}'").collect()
        return {row.info_name: row.info_value for row in found}

    end = time.monotonic() + 120
    with kafka_broker.frozen():
        spark.sql("INSERT INTO orders VALUES (2)")
        while int((told := details())["waits"]) == 0:
            assert time.monotonic() < end, told
            time.sleep(0.2)
    assert told["state"] == "RUNNING"
    assert told["waits"] == told["failures"]
    assert "[TABLE_STORE_LOG_UNAVAILABLE]" in told["error"]
    while (told := details())["error"] is not None or len(topic.records()) < 2:
        assert time.monotonic() < end, told
        time.sleep(0.2)
    assert int(told["waits"]) == 0
    assert {value["id"] for value in topic.values()} == {1, 2}


ROWS = 12_000
SCRIPT = """
CREATE TABLE IF NOT EXISTS numbers (id BIGINT) WITH ('connector' = 'datagen',
  'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{last}',
  'rows-per-second' = '1000');
CREATE TABLE IF NOT EXISTS written (id BIGINT) {options};
SET 'execution.checkpointing.interval' = '200 ms';
INSERT INTO written SELECT id FROM numbers;
"""


def test_each_row_is_in_the_topic_once_whatever_is_killed(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    """Planner and driver, while rows are on their way."""
    topic = Topic(kafka_broker, "killed-sink", 2)
    options = topic.options(format="json", sink__delivery_guarantee="exactly-once")
    text = SCRIPT.format(last=ROWS - 1, options=options)
    chance = random.Random(2)
    with JobScript(tmp_path, text, "killed") as script:
        wait_for_more(topic, script)
        time.sleep(chance.random())
        os.kill(script.planner(), signal.SIGKILL)
        wait_for_more(topic, script)
        time.sleep(chance.random())
        os.kill(script.process.pid, signal.SIGKILL)
        script.process.wait(60)
    with JobScript(tmp_path, text, "last") as script:
        assert script.process.wait(240) == 0, script.errors
    assert sorted(value["id"] for value in topic.values()) == list(range(ROWS))


def wait_for_more(topic: Topic, script: JobScript) -> None:
    """Wait until the topic has more records than now."""
    before = len(topic.records())
    end = time.monotonic() + 180
    while len(topic.records()) == before:
        assert script.process.poll() is None, script.errors
        assert time.monotonic() < end, script.errors
        time.sleep(0.1)


def test_windows_that_are_final(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """A sum over windows comes into a topic of new rows, each window once, when it is closed."""
    topic = Topic(kafka_broker, "final-windows")
    spark.sql("CREATE TABLE timed (at TIMESTAMP, n INT, WATERMARK FOR at AS at)")
    spark.sql(f"CREATE TABLE final (start BIGINT, n BIGINT) {topic.options(format='json')}")
    query = (
        "SELECT unix_seconds(window_start), sum(n) FROM TUMBLE(TABLE timed, DESCRIPTOR(at), "
        "INTERVAL '10' SECONDS) GROUP BY window_start, window_end"
    )
    with streaming(spark, "1 h"):
        assert "takes only new rows" in refused(spark, f"INSERT INTO final {query}")
        spark.sql(f"INSERT INTO final WITH ('sink.emit' = 'on-watermark') {query}").collect()
    for number in range(0, 48, 6):
        late = f", (timestamp_seconds({number - 24}), 100)" if number else ""
        spark.sql(f"INSERT INTO timed VALUES (timestamp_seconds({number}), {number + 1}){late}")
        flush(spark)
    sums = [sum(n + 1 for n in range(0, 48, 6) if n // 10 == window) for window in range(4)]
    found = [(row["start"], row["n"]) for row in topic.values()]
    assert found == [(10 * window, total) for window, total in enumerate(sums)]
