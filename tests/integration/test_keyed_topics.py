"""Goal: a topic whose records are changes by key is a table that has their result, for good.

Oracle: what a plain producer wrote, replayed into a dictionary, the last record of a key last.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from pyspark.sql import SparkSession

from servers.kafka_broker import KafkaBroker
from servers.with_clause import with_clause
from table_store import open_table
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

State = dict[int, tuple[str | None, int | None]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("keyed-topics"), OWN_NAME) as session:
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session


class KeyedTopic:
    """A topic of a test whose records have the key `id`, and what they come to."""

    def __init__(self, broker: KafkaBroker, name: str, partitions: int = 1) -> None:
        self.broker, self.name, self.partitions = broker, name, partitions
        self.state: State = {}
        broker.create_topic(name, partitions)

    def write(self, *records: tuple[int, str | None, int | None] | int) -> None:
        """Write rows, or keys whose rows go."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap, linger_ms=5)
        try:
            for record in records:
                number = record if isinstance(record, int) else record[0]
                value = None
                if isinstance(record, int):
                    self.state.pop(number, None)
                else:
                    value = json.dumps(dict(zip(("id", "name", "n"), record, strict=True))).encode()
                    self.state[number] = record[1:]
                producer.send(self.name, key=b'{"id": %d}' % number, value=value)
        finally:
            producer.close()

    def options(self, **more: str) -> str:
        """The clause WITH of a table over it."""
        given = {
            "connector": "upsert-kafka",
            "topic": self.name,
            "properties.bootstrap.servers": self.broker.bootstrap,
            "key.format": "json",
            "value.format": "json",
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
        return with_clause(given)

    def table(self, **more: str) -> str:
        """The columns and the clause WITH of a table over it."""
        columns = "id BIGINT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED"
        return f"({columns}) {self.options(**more)}"

    def records(self) -> list[Any]:
        """All committed records, each partition in order, by a plain consumer."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.broker.bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        found: list[Any] = []
        try:
            parts = [TopicPartition(self.name, p) for p in range(self.partitions)]
            consumer.assign(parts)
            ends = consumer.end_offsets(parts)
            while any(consumer.position(part) < ends[part] for part in parts):
                for records in consumer.poll(timeout_ms=100).values():
                    found += records
        finally:
            consumer.close()
        return found

    def replayed(self) -> dict[bytes, bytes]:
        """The last values of its keys."""
        found: dict[bytes, bytes] = {}
        for record in self.records():
            found.pop(record.key, None)
            if record.value is not None:
                found[record.key] = record.value
        return found


def state(spark: SparkSession, query: str) -> State:
    found = spark.sql(query).collect()
    assert len({row.id for row in found}) == len(found)
    return {row.id: (row.name, row.n) for row in found}


def test_a_keyed_topic_is_a_table(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """For a SELECT, for a table that a job keeps, and for another topic that a job keeps."""
    topic = KeyedTopic(kafka_broker, "keyed", 3)
    out = KeyedTopic(kafka_broker, "keyed-out", 2)
    topic.write((1, "a", 1), (2, "b", None), (3, None, 3), (1, "c", 10), 2, (4, "d", 4), 9)
    spark.sql(f"CREATE TABLE keyed {topic.table()}")
    spark.sql(f"CREATE TABLE keyed_out {out.table()}")
    spark.sql("CREATE TABLE kept (id BIGINT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    assert state(spark, "SELECT * FROM keyed") == topic.state
    assert spark.sql("SELECT count(*) FROM keyed").collect()[0][0] == len(topic.state)
    with streaming(spark, "200 ms"):
        spark.sql("INSERT INTO kept SELECT * FROM keyed")
        spark.sql("INSERT INTO keyed_out SELECT id, upper(name), n + 1 FROM keyed WHERE id <> 4")
    flush(spark)
    assert state(spark, "SELECT * FROM kept") == topic.state
    topic.write(1, (5, "e", 5), (3, "new", 7), (2, "back", 2), (2, "again", 3), (6, "f", 6), 6)
    flush(spark)
    assert state(spark, "SELECT * FROM kept") == topic.state
    assert state(spark, "SELECT * FROM keyed") == topic.state
    expected = {
        number: {"id": number, "name": name and name.upper(), "n": None if n is None else n + 1}
        for number, (name, n) in topic.state.items()
        if number != 4
    }
    replayed = {json.loads(k)["id"]: json.loads(v) for k, v in out.replayed().items()}
    assert replayed == expected
    assert state(spark, "SELECT * FROM keyed_out").keys() == expected.keys()


def test_a_topic_of_debezium_is_a_table(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """Conditions read any column, for the row from before a change is known."""
    topic = KeyedTopic(kafka_broker, "envelopes", 2)
    out = KeyedTopic(kafka_broker, "envelopes-out", 2)

    def write(
        *changes: tuple[str, tuple[int, str, int] | None, tuple[int, str, int] | None],
    ) -> None:
        producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)
        for op, before, after in changes:
            rows = [
                row and dict(zip(("id", "name", "n"), row, strict=True)) for row in (before, after)
            ]
            number = (after or before or (0,))[0]
            value = json.dumps({"before": rows[0], "after": rows[1], "op": op, "ts_ms": 1}).encode()
            producer.send(topic.name, key=b"%d" % number, value=value)
            if op == "d":
                producer.send(topic.name, key=b"%d" % number, value=None)
                del topic.state[number]
            elif after is not None:
                topic.state[number] = after[1:]
        producer.close()

    of_kafka = {"connector": "kafka", "format": "debezium-json"}
    clause = topic.options(**of_kafka).replace(
        "'key.format' = 'json', 'value.format' = 'json', ", ""
    )
    spark.sql(f"CREATE TABLE no_key (id BIGINT, name STRING, n INT) {clause}")
    columns = "id BIGINT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED"
    spark.sql(f"CREATE TABLE envelopes ({columns}) {clause}")
    to = out.options(**of_kafka, key__fields="id").replace("'value.format' = 'json', ", "")
    spark.sql(f"CREATE TABLE envelopes_out ({columns}) {to}")
    spark.sql(f"CREATE TABLE large ({columns})")
    assert "PRIMARY KEY" in refused(spark, "SELECT * FROM no_key")
    write(
        ("r", None, (1, "a", 1)),
        ("c", None, (2, "b", 20)),
        ("c", None, (3, "c", 30)),
        ("u", (1, "a", 1), (1, "a", 10)),
        ("d", (3, "c", 30), None),
    )
    assert state(spark, "SELECT * FROM envelopes") == topic.state
    with streaming(spark, "200 ms"):
        spark.sql("INSERT INTO large SELECT * FROM no_key WHERE n >= 10")
        spark.sql("INSERT INTO envelopes_out SELECT * FROM large")
    flush(spark)
    large = {number: row for number, row in topic.state.items() if (row[1] or 0) >= 10}
    assert state(spark, "SELECT * FROM large") == large == {1: ("a", 10), 2: ("b", 20)}
    write(
        ("u", (1, "a", 10), (1, "a", 2)),
        ("u", (2, "b", 20), (2, "z", 21)),
        ("c", None, (4, "d", 40)),
        ("c", None, (5, "e", 5)),
    )
    flush(spark)
    assert state(spark, "SELECT * FROM envelopes") == topic.state
    large = {number: row for number, row in topic.state.items() if (row[1] or 0) >= 10}
    assert state(spark, "SELECT * FROM large") == large == {2: ("z", 21), 4: ("d", 40)}
    written: dict[int, dict[str, object]] = {}
    operations = []
    for record in out.records():
        item = json.loads(record.value)
        row = item["before"] if item["op"] == "d" else item["after"]
        assert item[{"d": "after", "c": "before"}[item["op"]]] is None
        assert json.loads(record.key) == {"id": row["id"]}
        operations.append(item["op"])
        if item["op"] == "d":
            assert written.pop(row["id"]) == row
        else:
            written[row["id"]] = row
    assert written == {
        number: {"id": number, "name": name, "n": n} for number, (name, n) in large.items()
    }
    assert sorted(operations) == ["c"] * 4 + ["d"] * 2
    assert state(spark, "SELECT * FROM envelopes_out") == large


def test_other_formats_and_metadata(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """And changes of a table without key, which `debezium-json` takes, too."""
    topic = KeyedTopic(kafka_broker, "raw-keys")
    options = topic.options(
        key__format="raw", value__format="csv", value__fields_include="EXCEPT_KEY"
    )
    spark.sql(
        "CREATE TABLE raw_keys (name STRING, n INT, `offset` BIGINT METADATA, id STRING, "
        f"double AS n * 2, PRIMARY KEY (id) NOT ENFORCED) {options}"
    )
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)
    for key, value in ((b"x", b"a,1"), (b"y", b"b,2"), (b"x", b"c,"), (b"y", None), (b"z", b",3")):
        producer.send(topic.name, key=key, value=value)
    producer.close()
    found = spark.sql("SELECT id, name, n, double, `offset` FROM raw_keys ORDER BY id").collect()
    assert list(map(tuple, found)) == [("x", "c", None, None, 2), ("z", "", 3, 6, 4)]
    error = refused(spark, "INSERT INTO raw_keys (name, n, id) VALUES ('a', 1, 'v')")
    assert "[TABLE_STORE_EXTERNAL_TABLE]" in error
    assert "METADATA" in error

    out = KeyedTopic(kafka_broker, "bag-out", 2)
    spark.sql("CREATE TABLE bag_of_rows (id INT, price DECIMAL(4, 2), at TIMESTAMP_NTZ)")
    debezium = {"connector": "kafka", "value__format": "debezium-json"}
    clause = out.options(
        **debezium, **{"debezium-json__timestamp-format__standard": "ISO-8601"}
    ).replace("'key.format' = 'json', ", "")
    spark.sql(f"CREATE TABLE bag_out (id INT, price DECIMAL(4, 2), at TIMESTAMP_NTZ) {clause}")
    at = "TIMESTAMP_NTZ '2026-01-02 03:04:05'"
    spark.sql(f"INSERT INTO bag_of_rows VALUES (1, 1.50, {at}), (2, NULL, NULL), (2, NULL, NULL)")
    with streaming(spark, "200 ms"):
        spark.sql("INSERT INTO bag_out SELECT * FROM bag_of_rows")
    flush(spark)
    spark.sql("DELETE FROM bag_of_rows WHERE id = 1")
    flush(spark)
    one = {"id": 1, "price": 1.5, "at": "2026-01-02T03:04:05"}
    two = {"id": 2, "price": None, "at": None}
    written = [json.loads(record.value) for record in out.records()]
    assert {record.partition for record in out.records()} == {0}
    assert written[-1] == {"before": one, "after": None, "op": "d"}
    assert sorted((change["after"]["id"], change["op"]) for change in written[:-1]) == [
        (1, "c"),
        (2, "c"),
        (2, "c"),
    ]
    assert [c["after"] for c in written[:-1] if c["after"]["id"] == 2] == [two, two]


def test_what_keys_alone_do_not_tell_is_refused(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    topic = KeyedTopic(kafka_broker, "told")
    spark.sql(f"CREATE TABLE told {topic.table()}")
    spark.sql("CREATE TABLE by_id (id BIGINT, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE by_n (id BIGINT, n INT, PRIMARY KEY (id, n) NOT ENFORCED)")
    spark.sql("CREATE TABLE bag (id BIGINT, n INT)")
    rows_of = "[TABLE_STORE_STREAMING_INSERT]"
    with streaming(spark):
        for statement, expected in (
            ("INSERT INTO by_id SELECT id, n FROM told WHERE n > 1", "reads column 'n'"),
            ("INSERT INTO by_n SELECT id, n FROM told", "column 'n' of the table's key needs more"),
            ("INSERT INTO by_id SELECT 1, n FROM told", "has nothing of column 'id' of it"),
            ("INSERT INTO bag SELECT id, n FROM told", "the table has no primary key"),
            ("INSERT INTO by_id SELECT id, max(n) FROM told GROUP BY id", "an external source"),
        ):
            error = refused(spark, statement)
            assert rows_of in error, statement
            assert expected in error, statement
    strict = topic.table().replace("n INT", "n INT NOT NULL")
    spark.sql(f"CREATE TABLE strict {strict}")
    assert "column 'n' is NOT NULL" in refused(spark, "SELECT * FROM strict")
    for options, expected in (
        ({"scan__startup__mode": "earliest-offset"}, "scan.startup.mode"),
        ({"value__format": "debezium-json"}, "'value.format' = 'debezium-json' is not valid"),
        ({"value__fromat": "json"}, "'value.format'"),
    ):
        assert expected in refused(spark, f"CREATE TABLE wrong {topic.table(**options)}"), options
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)
    producer.send(topic.name, value=b'{"id": 1}')
    producer.close()
    error = refused(spark, "SELECT * FROM told")
    assert "[TABLE_STORE_UNREADABLE_RECORD]" in error
    assert "it has no key" in error
    lenient = topic.table(key__json__ignore_parse_errors="true")
    spark.sql(f"CREATE TABLE lenient {lenient}")
    assert state(spark, "SELECT * FROM lenient") == {}


SCRIPT = """
CREATE TABLE IF NOT EXISTS kept (id BIGINT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED);
CREATE TEMPORARY TABLE changes {changes};
CREATE TABLE IF NOT EXISTS passed {passed};
SET 'execution.checkpointing.interval' = '200 ms';
EXECUTE STATEMENT SET BEGIN
  INSERT INTO kept SELECT * FROM changes;
  INSERT INTO passed SELECT id, name, n FROM changes;
END;
"""


def test_it_has_the_topics_state_whatever_is_killed(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    """Planner and driver, in the middle of epochs, while changes come."""
    topic = KeyedTopic(kafka_broker, "killed-keys", 2)
    out = KeyedTopic(kafka_broker, "killed-keys-out", 2)
    chance = random.Random(5)
    passed = out.table(sink__delivery_guarantee="exactly-once")
    text = SCRIPT.format(changes=topic.table(), passed=passed)

    def write(count: int) -> None:
        keys = [chance.randrange(200) for _ in range(count)]
        topic.write(
            *(k if chance.random() < 0.3 else (k, f"{k}", chance.randrange(9)) for k in keys)
        )

    with JobScript(tmp_path, text, "killed") as script:
        write(1_000)
        first = script.wait_for_commit("kept")
        write(500)
        os.kill(script.planner(), signal.SIGKILL)
        write(500)
        script.wait_for_commit("kept", after=first)
        write(500)
        os.kill(script.process.pid, signal.SIGKILL)
        script.process.wait(60)
    write(1_000)
    kept = tmp_path / "spark-warehouse" / "default.db" / "kept"
    expected = {
        number: {"id": number, "name": name, "n": n} for number, (name, n) in topic.state.items()
    }
    with JobScript(tmp_path, text, "last") as script:
        end = time.monotonic() + 180
        while True:
            found = open_table(str(kept)).scan().to_arrow().to_pylist()
            replayed = {json.loads(k)["id"]: json.loads(v) for k, v in out.replayed().items()}
            if {row["id"]: row for row in found} == replayed == expected:
                break
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, script.errors
            time.sleep(0.3)
        assert script.end(signal.SIGTERM) == 0, script.errors
    assert len(found) == len(expected)
