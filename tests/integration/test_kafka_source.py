"""Goal: a table over a topic has its records as rows, and jobs take each of them exactly once.

Oracle: what a plain producer wrote, by Python's own json, and the offsets that it was told.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from pyspark.sql import Row, SparkSession

from servers.kafka_broker import KafkaBroker, free_port
from servers.schema_registry import SchemaRegistryServer, running_registry
from servers.with_clause import with_clause
from table_store import jobs, open_table
from tests.documents import examples
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("kafka-source"), OWN_NAME) as session:
        yield session


class Topic:
    """A topic of a test, written by a plain producer."""

    def __init__(self, broker: KafkaBroker, name: str, partitions: int = 1) -> None:
        self.broker, self.name = broker, name
        self.create(partitions)

    def create(self, partitions: int = 1) -> None:
        self.broker.create_topic(self.name, partitions)

    def write(self, *records: dict[str, object] | bytes, partition: int = 0) -> None:
        """Write values, or records with more than these as dictionaries of `send`'s arguments."""
        producer = KafkaProducer(bootstrap_servers=self.broker.bootstrap)
        try:
            for record in records:
                given = record if isinstance(record, dict) else {"value": record}
                producer.send(self.name, **{"partition": partition, **given})
        finally:
            producer.close()

    def options(self, **more: str) -> str:
        """The clause WITH of a table over it."""
        given = {
            "connector": "kafka",
            "topic": self.name,
            "properties.bootstrap.servers": self.broker.bootstrap,
            "format": "json",
            **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()},
        }
        return with_clause(given)


BOUNDED = {"scan__bounded__mode": "latest-offset"}


def insert(spark: SparkSession, statement: str, interval: str = "200 ms", **conf: str) -> str:
    with streaming(spark, interval, **conf):
        return str(spark.sql(statement).collect()[0].job)


def rows(spark: SparkSession, query: str) -> list[Row]:
    return sorted(spark.sql(query).collect())


def values(*items: object) -> list[bytes]:
    return [json.dumps(item).encode() for item in items]


def test_columns_are_read_by_name_and_metadata(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    topic = Topic(kafka_broker, "columns", 2)
    topic.write(
        {
            "value": b'{"id": 1, "name": "a\\n", "price": 1.50, "at": "2026-01-02 03:04:05.5", '
            b'"tags": ["x", null], "place": {"x": 0.5, "day": "2026-01-02"}, "other": [{}]}',
            "key": b"k",
            "headers": [("h", b"1"), ("i", b"\xff")],
            "timestamp_ms": 1_700_000_000_123,
        },
        b'{"name": null, "id": 2}',
        {"value": None, "key": b"gone"},
        b'{\n "id": 3,\r\n "ID": 4 }\n',
    )
    topic.write(b'{"id": 5}', partition=1)
    spark.sql(
        "CREATE TABLE columns (id BIGINT NOT NULL, name STRING, price DECIMAL(9, 2), at TIMESTAMP, "
        "tags ARRAY<STRING>, place STRUCT<x: DOUBLE, day: DATE>, "
        "written TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, "
        "`partition` INT METADATA, `offset` BIGINT METADATA VIRTUAL, key STRING METADATA, "
        "headers MAP<STRING, BINARY> METADATA, topic STRING METADATA, double AS id * 2) "
        + topic.options(**BOUNDED)
    )
    found = spark.sql("SELECT * FROM columns ORDER BY id").collect()
    assert [(row.id, row.double, row.partition, row.offset) for row in found] == [
        (1, 2, 0, 0),
        (2, 4, 0, 1),
        (3, 6, 0, 3),
        (5, 10, 1, 0),
    ]
    first = found[0]
    assert (first.name, str(first.price), first.tags) == ("a\n", "1.50", ["x", None])
    assert (first.place.x, str(first.place.day)) == (0.5, "2026-01-02")
    assert first.at.astimezone(UTC) == datetime(2026, 1, 2, 3, 4, 5, 500_000, UTC)
    assert first.written.timestamp() == 1_700_000_000.123
    assert (first.key, first.topic) == ("k", "columns")
    assert {k: bytes(v) for k, v in first.headers.items()} == {"h": b"1", "i": b"\xff"}
    assert (found[1].name, found[1].key, found[1].headers) == (None, None, {})
    assert spark.sql("SELECT count(*) FROM columns").collect()[0][0] == 4
    shown = spark.sql("SHOW CREATE TABLE columns").collect()[0][0]
    assert "written TIMESTAMP METADATA FROM 'timestamp' VIRTUAL" in shown
    spark.sql("DROP TABLE columns")
    spark.sql(shown)
    assert spark.sql("SELECT * FROM columns ORDER BY id").collect() == found


def test_jobs_take_each_record_once(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "once", 3)
    for partition in range(3):
        topic.write(*values(*({"id": 3 * n + partition} for n in range(50))), partition=partition)
    spark.sql(f"CREATE TABLE once (id BIGINT) {topic.options()}")
    spark.sql("CREATE TABLE evens (id BIGINT)")
    spark.sql("CREATE TABLE odds (id BIGINT)")
    insert(spark, "INSERT INTO evens SELECT id FROM once WHERE id % 2 = 0")
    insert(spark, "INSERT INTO odds SELECT id FROM once WHERE id % 2 = 1")
    jobs.flush(spark)
    assert [r.id for r in rows(spark, "SELECT id FROM evens")] == list(range(0, 150, 2))
    topic.write(*values(*({"id": n} for n in range(150, 200))))
    jobs.flush(spark)
    assert [r.id for r in rows(spark, "SELECT id FROM evens")] == list(range(0, 200, 2))
    assert [r.id for r in rows(spark, "SELECT id FROM odds")] == list(range(1, 200, 2))


def test_examples_of_the_documents(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    Topic(kafka_broker, "clicks")
    Topic(kafka_broker, "customers")
    Topic(kafka_broker, "goods")
    Topic(kafka_broker, "payments")
    Topic(kafka_broker, "visits")
    with running_registry() as registry:
        check_examples(spark, kafka_broker, registry)


def check_examples(
    spark: SparkSession, kafka_broker: KafkaBroker, registry: SchemaRegistryServer
) -> None:
    in_order = sorted((*examples("python"), *examples("sql")), key=lambda example: example.line)
    for example in (e for e in in_order if e.page == "kafka-source"):
        code = example.with_brokers(kafka_broker.bootstrap)
        code = code.with_text("http://host:8081", registry.url)
        if code.language == "python":
            exec(code.code, {})
            continue
        found = []
        for statement in code.statements():
            answer = spark.sql(statement).collect()
            if statement.startswith("SELECT"):
                shown = [" ".join(map(_shown, row)) for row in answer]
                found += [tuple(row.split()) for row in shown]
        assert tuple(found) == code.printed, f"kafka-source, line {code.line}"


def _shown(value: object) -> str:
    """A value as the shell prints it."""
    return "NULL" if value is None else str(value).lower() if value is True else str(value)


def test_where_the_rows_begin(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """A job that begins later begins where the first one did; a batch query as its mode says."""
    topic = Topic(kafka_broker, "begin", 2)
    for number in range(4):
        record: dict[str, object] = {
            "value": b'{"id": %d}' % number,
            "timestamp_ms": 1_000_000 + number,
        }
        topic.write(record, partition=number % 2)
    group = KafkaConsumer(bootstrap_servers=kafka_broker.bootstrap, group_id="begun")
    parts = [TopicPartition(topic.name, partition) for partition in range(2)]
    group.assign(parts)
    group.commit({parts[1]: OffsetAndMetadata(1, "", -1)})
    group.close(autocommit=False)
    modes = {
        "earliest": ({}, [0, 1, 2, 3]),
        "latest": ({"scan__startup__mode": "latest-offset"}, []),
        "timestamp": (
            {"scan__startup__mode": "timestamp", "scan__startup__timestamp-millis": "1000002"},
            [2, 3],
        ),
        "specific": (
            {
                "scan__startup__mode": "specific-offsets",
                "scan__startup__specific-offsets": "partition:0,offset:1",
            },
            [1, 2, 3],
        ),
        "group": (
            {
                "scan__startup__mode": "group-offsets",
                "properties__group__id": "begun",
                "properties__auto__offset__reset": "earliest",
            },
            [0, 2, 3],
        ),
    }
    alone = {key: text for key, text in modes["group"][0].items() if "reset" not in key}
    spark.sql(f"CREATE TABLE from_group_alone (id BIGINT) {topic.options(**alone)}")
    error = refused(spark, "SELECT * FROM (SELECT * FROM from_group_alone LIMIT 3)")
    assert "group 'begun' notes no offset of partition 0" in error
    for name, (options, expected) in modes.items():
        spark.sql(f"CREATE TABLE from_{name} (id BIGINT) {topic.options(**options)}")
        bounded = f"SELECT id FROM from_{name} WITH ('scan.bounded.mode' = 'latest')"
        assert [row.id for row in rows(spark, bounded)] == expected, name
        spark.sql(f"CREATE TABLE to_{name} (id BIGINT)")
        insert(spark, f"INSERT INTO to_{name} SELECT id FROM from_{name}")
    jobs.flush(spark)
    with kafka_broker.admin() as admin:
        admin.create_partitions({topic.name: 3})
    topic.write(b'{"id": 4}', partition=2)
    topic.write(b'{"id": 5}', partition=0)
    jobs.flush(spark)
    for name, (_, expected) in modes.items():
        assert [r.id for r in rows(spark, f"SELECT id FROM to_{name}")] == [*expected, 4, 5], name
    spark.sql("CREATE TABLE later (id BIGINT)")
    insert(spark, "INSERT INTO later SELECT id FROM from_latest")
    jobs.flush(spark)
    assert [row.id for row in rows(spark, "SELECT id FROM later")] == [4, 5]
    # What comes behind the statement is read, whenever the first barrier is.
    spark.sql(f"CREATE TABLE next (id BIGINT) {topic.options(**modes['latest'][0])}")
    spark.sql("CREATE TABLE newest (id BIGINT)")
    insert(spark, "INSERT INTO newest SELECT id FROM next")
    topic.write(b'{"id": 6}')
    jobs.flush(spark)
    assert [row.id for row in rows(spark, "SELECT id FROM newest")] == [6]
    unbounded = refused(spark, "SELECT * FROM from_latest")
    assert "[TABLE_STORE_UNBOUNDED_SOURCE]" in unbounded
    assert "'scan.bounded.mode'" in unbounded
    assert len(spark.sql("SELECT * FROM (SELECT * FROM from_earliest LIMIT 3)").collect()) == 3


def test_other_formats_and_bad_records(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "formats")
    topic.write(b"1;a", b'2;"b;c"', b"none", b"4;")
    columns = "(id INT, name STRING, at BIGINT METADATA FROM 'offset')"
    csv = {"format": "csv", "csv__field-delimiter": ";", **BOUNDED}
    spark.sql(f"CREATE TABLE strict {columns} {topic.options(**csv)}")
    error = refused(spark, "SELECT id FROM strict")
    assert "[TABLE_STORE_UNREADABLE_RECORD]" in error
    assert "topic 'formats', partition 0, offset 2 is not a row" in error
    assert "'dead-letter.table' = 'namespace.table'" in error
    skipping = topic.options(**csv, csv__ignore_parse_errors="true")
    spark.sql(f"CREATE TABLE lenient {columns} {skipping}")
    assert rows(spark, "SELECT * FROM lenient") == [
        Row(id=1, name="a", at=0),
        Row(id=2, name="b;c", at=1),
        Row(id=4, name="", at=3),
    ]
    raw = topic.options(format="raw", **BOUNDED)
    spark.sql(f"CREATE TABLE plain (v STRING, at BIGINT METADATA FROM 'offset') {raw}")
    assert [row.v for row in spark.sql("SELECT v FROM plain ORDER BY at").collect()] == [
        "1;a",
        '2;"b;c"',
        "none",
        "4;",
    ]
    job_topic = Topic(kafka_broker, "malformed")
    job_topic.write(b'{"id": 1}')
    spark.sql(f"CREATE TABLE malformed (id BIGINT) {job_topic.options()}")
    spark.sql("CREATE TABLE wellformed (id BIGINT)")
    job = insert(spark, "INSERT INTO wellformed SELECT id FROM malformed")
    jobs.flush(spark)
    job_topic.write(b'{"id": 2}', b'{"id": "three"}')
    with unlogged_errors():
        found = suspended(spark, job)
    assert "topic 'malformed', partition 0, offset 2 is not a row of the table" in found.error
    assert "Column(/id) changed from number to string" in found.error
    assert [row.id for row in rows(spark, "SELECT id FROM wellformed")] == [1]


def test_records_that_are_left_out_are_counted(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    """By DESCRIBE JOB, whether workers have read them, which they do if they are many, or not."""
    topic = Topic(kafka_broker, "counted", 2)
    for partition in range(2):
        topic.write(
            *(
                b"%d" % n if n % 5_000 == 7 else b'{"id": %d}' % n
                for n in range(partition, 24_000, 2)
            ),
            partition=partition,
        )
    options = topic.options(json__ignore_parse_errors="true")
    spark.sql(f"CREATE TABLE counted (id BIGINT) {options}")
    spark.sql("CREATE TABLE counting (id BIGINT)")
    job = insert(spark, "INSERT INTO counting SELECT id FROM counted")

    def skipped() -> str:
        found = spark.sql(f"DESCRIBE JOB '{job}'").collect()
        return str({row.info_name: row.info_value for row in found}["records_skipped"])

    jobs.flush(spark)
    assert skipped() == "5"
    assert spark.table("counting").count() == 24_000 - 5
    topic.write(b"x", b'{"id": 1}', b"[]")
    jobs.flush(spark)
    assert skipped() == "7"
    # Who only looks counts for no job.
    bounded = spark.sql("SELECT count(*) FROM counted WITH ('scan.bounded.mode' = 'latest')")
    assert bounded.collect()[0][0] == 24_000 - 4
    topic.write(b"y")
    jobs.flush(spark)
    assert skipped() == "8"


def test_records_that_are_no_rows_go_to_a_table(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    """Each once, whoever reads them how often; many, by workers, and few."""
    topic, bad = Topic(kafka_broker, "letters", 2), dict[tuple[int, int], bytes]()

    def record(n: int) -> dict[str, object]:
        return {"value": bad.get((n % 2, n // 2), b'{"id": %d}' % n), "key": b"%d" % n}

    def write(numbers: range) -> None:
        for n in numbers:
            partition, place = n % 2, n // 2
            if n % 1_001 == 7 or n == 24_003:  # in both partitions
                bad[partition, place] = b"no %d" % n
        for partition in range(2):
            topic.write(*(record(n) for n in numbers if n % 2 == partition), partition=partition)

    def letters() -> dict[tuple[int, int], bytes]:
        found = spark.sql("SELECT * FROM letters_of_topic").collect()
        assert {row.topic for row in found} <= {"letters"}
        assert all(row.reason and row.timestamp for row in found)
        assert all(bytes(row.key) == b"%d" % int(bytes(row.value)[3:]) for row in found)
        assert len(found) == len({(row.partition, row.offset) for row in found})
        return {(row.partition, row.offset): bytes(row.value) for row in found}

    write(range(24_000))
    options = topic.options(**{"dead-letter.table": "default.letters_of_topic"})
    spark.sql(f"CREATE TABLE of_letters (id BIGINT) {options}")
    assert letters() == {}
    spark.sql("CREATE TABLE letters_read (id BIGINT)")
    insert(spark, "INSERT INTO letters_read SELECT id FROM of_letters")
    jobs.flush(spark)
    assert spark.table("letters_read").count() == 24_000 - len(bad)
    assert letters() == bad
    write(range(24_000, 24_010))
    jobs.flush(spark)
    assert spark.table("letters_read").count() == 24_010 - len(bad)
    assert letters() == bad
    assert len(bad) == 25
    again = spark.sql("SELECT count(*) FROM of_letters WITH ('scan.bounded.mode' = 'latest')")
    assert again.collect()[0][0] == 24_010 - len(bad)
    assert letters() == bad
    spark.sql("CREATE TABLE no_letters (topic STRING, `partition` INT)")
    options = topic.options(**{"dead-letter.table": "default.no_letters"})
    error = refused(spark, f"CREATE TABLE refused (id BIGINT) {options}")
    assert "[TABLE_STORE_DEAD_LETTER_TABLE]" in error
    assert "PRIMARY KEY (topic, partition, offset)" in error
    assert not spark.catalog.tableExists("refused")


def suspended(spark: SparkSession, job: str, timeout_s: float = 90) -> Row:
    """The job once it has failed too often."""
    end = time.monotonic() + timeout_s
    while True:
        (row,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if row.state == "SUSPENDED":
            return row
        assert time.monotonic() < end, row
        time.sleep(0.2)


def test_what_a_topic_has_lost_is_told(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    """And no row that was taken from it goes; another job name goes on behind it."""
    topic = Topic(kafka_broker, "lost")
    topic.write(*values(*({"id": n} for n in range(5))))
    spark.sql(f"CREATE TABLE lost (id BIGINT) {topic.options()}")
    spark.sql("CREATE TABLE kept (id BIGINT)")
    statement = "INSERT INTO kept SELECT id FROM lost"
    job = insert(spark, statement)
    jobs.flush(spark)
    spark.sql(f"STOP JOB '{job}'")
    topic.write(*values(*({"id": n} for n in range(5, 9))))
    with kafka_broker.admin() as admin:
        admin.delete_records({TopicPartition(topic.name, 0): 7})
    with unlogged_errors():
        gone = suspended(spark, insert(spark, statement)).error
    assert "[TABLE_STORE_RECORDS_GONE]" in gone
    assert "partition 0 from offset 5 on" in gone
    # Another name begins with what is there.
    fresh = insert(spark, statement, **{"pipeline.name": "fresh"})
    jobs.flush(spark)
    assert [r.id for r in rows(spark, "SELECT id FROM kept")] == [0, 1, 2, 3, 4, 7, 8]
    with kafka_broker.admin() as admin:
        admin.delete_topics([topic.name])
    await_deleted(kafka_broker, topic.name)
    topic.create()
    topic.write(*values(*({"id": n} for n in range(20, 40))))
    with unlogged_errors():
        anew = suspended(spark, fresh).error
    assert "[TABLE_STORE_SOURCE_TOPIC_CHANGED]" in anew
    assert "it was deleted and created again" in anew
    spark.sql("DROP TABLE lost")
    spark.sql(f"CREATE TABLE lost (id BIGINT) {topic.options()}")
    with unlogged_errors():
        again = insert(spark, statement, **{"pipeline.name": "fresh"})
        lost = suspended(spark, again).error
    assert "[TABLE_STORE_SOURCE_POSITION_LOST]" in lost
    assert len(rows(spark, "SELECT id FROM kept")) == 7
    insert(spark, statement, **{"pipeline.name": "third"})
    jobs.flush(spark)
    assert [r.id for r in rows(spark, "SELECT id FROM kept")][7:] == list(range(20, 40))


def await_deleted(broker: KafkaBroker, topic: str) -> None:
    end = time.monotonic() + 60
    while topic in broker.topics():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_aborted_transactions_have_no_rows(spark: SparkSession, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker, "transactions")
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap, transactional_id="rows")
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        producer.send(topic.name, b'{"id": %d}' % number)
        if number % 2:
            producer.commit_transaction()
        else:
            producer.flush()
            producer.abort_transaction()
    producer.close()
    levels = {"committed": [1, 3, 5], "uncommitted": list(range(6))}
    for level, expected in levels.items():
        isolation = {"properties__isolation__level": f"read_{level}"}
        options = topic.options(**BOUNDED, **isolation)
        spark.sql(f"CREATE TABLE {level} (id BIGINT) {options}")
        assert [row.id for row in rows(spark, f"SELECT id FROM {level}")] == expected


def test_brokers_that_do_not_answer_are_waited_for(
    spark: SparkSession, kafka_broker: KafkaBroker
) -> None:
    """The job says so and runs on; others are not kept from their barriers."""
    topic = Topic(kafka_broker, "answers")
    missing = topic.options().replace("'topic' = 'answers'", "'topic' = 'absent'")
    spark.sql(f"CREATE TABLE missing (id BIGINT) {missing}")
    spark.sql("CREATE TABLE filled (id BIGINT)")
    with streaming(spark):
        error = refused(spark, "INSERT INTO filled SELECT id FROM missing")
    assert "[TABLE_STORE_SOURCE_TOPIC_NOT_FOUND] There is no topic 'absent' at" in error
    topic.write(b'{"id": 1}')
    nobody = topic.options().replace(kafka_broker.bootstrap, f"127.0.0.1:{free_port()}")
    spark.sql(f"CREATE TABLE unreachable (id BIGINT) {nobody}")
    spark.sql(f"CREATE TABLE reachable (id BIGINT) {topic.options()}")
    spark.sql("CREATE TABLE waiting (id BIGINT)")
    spark.sql("CREATE TABLE working (id BIGINT)")
    job = insert(spark, "INSERT INTO waiting SELECT id FROM unreachable")
    insert(spark, "INSERT INTO working SELECT id FROM reachable")
    end = time.monotonic() + 60
    while True:
        (found,) = [row for row in spark.sql("SHOW JOBS").collect() if row.job == job]
        if found.error and spark.table("working").count():
            break
        assert time.monotonic() < end, found
        time.sleep(0.2)
    assert found.state == "RUNNING"
    assert "could not describe topic 'answers'" in found.error
    assert "'properties.bootstrap.servers'" in found.error


RECORDS = 6_000
SCRIPT = """
CREATE TABLE IF NOT EXISTS everything (id BIGINT);
CREATE TABLE IF NOT EXISTS halves (half BIGINT);
CREATE TEMPORARY TABLE clicks (id BIGINT, half AS id div 2) {options};
SET 'execution.checkpointing.interval' = '200 ms';
EXECUTE STATEMENT SET BEGIN
  INSERT INTO everything SELECT id FROM clicks;
  INSERT INTO halves SELECT half FROM clicks WHERE id % 2 = 0;
END;
"""


def test_each_record_comes_in_once_whatever_is_killed(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    """Planner and driver, in the middle of epochs, while records come."""
    topic = Topic(kafka_broker, "killed", 2)
    text = SCRIPT.format(options=topic.options())
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap, linger_ms=5)
    left = deque(range(RECORDS))

    def write(count: int) -> None:
        for _ in range(count):
            number = left.popleft()
            producer.send(topic.name, b'{"id": %d}' % number, partition=number % 2)
        producer.flush()

    with JobScript(tmp_path, text, "killed") as script:
        write(2_000)
        first = script.wait_for_commit("everything")
        write(1_000)
        os.kill(script.planner(), signal.SIGKILL)
        write(1_000)
        script.wait_for_commit("everything", after=first)
        write(1_000)
        os.kill(script.process.pid, signal.SIGKILL)
        script.process.wait(60)
    write(len(left))
    producer.close()
    tables = tmp_path / "spark-warehouse" / "default.db"
    with JobScript(tmp_path, text, "last") as script:
        end = time.monotonic() + 180
        while len(found(tables / "everything")) < RECORDS or len(found(tables / "halves")) < 3_000:
            assert script.process.poll() is None, script.errors
            assert time.monotonic() < end, script.errors
            time.sleep(0.3)
        assert script.end(signal.SIGTERM) == 0, script.errors
    assert found(tables / "everything") == list(range(RECORDS))
    assert found(tables / "halves") == list(range(RECORDS // 2))


def found(path: Path) -> list[int]:
    """The only column of a table, in order, read without Spark."""
    return sorted(open_table(str(path)).scan().to_arrow().column(0).to_pylist())
