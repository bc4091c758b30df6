"""Goal: a stream reads a table's rows, then every change once, also over restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from demo import changes as demo_of_changes
from servers.kafka_broker import KafkaBroker
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = [
    pytest.mark.spark,
    # pyspark's own sockets and its pandas warning.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("streams"), OWN_NAME) as session:
        yield session


class Sink:
    """Runs a stream until nothing is new, and keeps what each batch delivered."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = str(folder / "checkpoint")
        self.batches: list[list[tuple[Any, ...]]] = []

    def run(self, frame: DataFrame) -> list[tuple[Any, ...]]:
        """The rows that this run delivered."""
        found: list[tuple[Any, ...]] = []

        def take(batch: DataFrame, _: int) -> None:
            rows = [tuple(row) for row in batch.collect()]
            self.batches.append(rows)
            found.extend(rows)

        writer = frame.writeStream.foreachBatch(take).trigger(availableNow=True)
        query = writer.option("checkpointLocation", self.checkpoint).start()
        query.awaitTermination()
        return sorted(found, key=repr)

    def forget_commit(self, batch: int) -> None:
        """As if the query had been killed between the batch's last write and its commit."""
        for name in (f"{batch}", f".{batch}.crc"):
            (Path(self.checkpoint) / "commits" / name).unlink(missing_ok=True)


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


def test_rows_then_new_rows(spark: SparkSession, sink: Sink) -> None:
    """A whole snapshot first; each restart goes on exactly where the last run ended."""
    spark.sql("CREATE TABLE a (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    stream = spark.readStream.table("a")
    assert sink.run(stream) == []
    spark.sql("INSERT INTO a VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO a VALUES (1, 'A')")
    assert sink.run(stream) == [(1, "A"), (2, "b")]
    assert sink.run(stream) == []
    spark.sql("INSERT INTO a VALUES (3, 'c')")
    spark.sql("ALTER TABLE a COMPACT")
    assert sink.run(spark.readStream.table("a").where("id > 2").selectExpr("id + 1")) == [(4,)]


def test_kinds_of_changes_without_key(spark: SparkSession, sink: Sink) -> None:
    """Overwrites, deletes and a rollback, of which every row is told; also with columns twice."""
    spark.sql("CREATE TABLE kb (a INT, b STRUCT<p: INT>, p INT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO kb VALUES (1, struct(1), 1), (2, struct(2), 2)")
    rows = spark.readStream.table("kb").selectExpr("_change_type", "a", "b.p", "p AS q")
    assert sink.run(rows) == [("insert", 1, 1, 1), ("insert", 2, 2, 2)]
    spark.sql("INSERT OVERWRITE kb PARTITION (p = 1) VALUES (9, struct(9))")
    assert sink.run(rows) == [("delete", 1, 1, 1), ("insert", 9, 9, 1)]
    spark.sql("TRUNCATE TABLE kb")
    assert sink.run(rows) == [("delete", 2, 2, 2), ("delete", 9, 9, 1)]
    spark.sql("CALL sys.rollback(table => 'kb', version => 1)")
    assert sink.run(rows) == [("insert", 1, 1, 1), ("insert", 2, 2, 2)]


def test_retractions(spark: SparkSession, sink: Sink) -> None:
    """A query that looks at the kind of a change gets all; another fails, or ignores them."""
    spark.sql("CREATE TABLE r (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO r VALUES (1, 1), (2, 2)")
    plain = spark.readStream.table("r")
    assert sink.run(plain) == [(1, 1), (2, 2)]
    spark.sql("INSERT INTO r VALUES (1, 10), (3, 3)")
    spark.sql("DELETE FROM r WHERE id = 2")
    with pytest.raises(StreamingQueryException, match="TABLE_STORE_RETRACTION_IN_STREAM"):
        sink.run(plain)
    kinds = plain.select("id", "v", "_change_type", "_commit_version")
    assert sink.run(kinds) == [
        (1, 1, "update_preimage", 2),
        (1, 10, "update_postimage", 2),
        (2, 2, "delete", 3),
        (3, 3, "insert", 2),
    ]
    spark.sql("INSERT INTO r VALUES (3, 30), (4, 4)")
    ignoring = spark.readStream.option("stream.retractions", "ignore").table("r")
    assert sink.run(ignoring) == [(3, 30), (4, 4)]


def test_changes(spark: SparkSession, sink: Sink) -> None:
    """`readStream.changes` begins where it is told to."""
    spark.sql("CREATE TABLE c (a INT)")
    for i in range(3):
        spark.sql(f"INSERT INTO c VALUES ({i})")
    stream = spark.readStream.option("startingVersion", 2).changes("c").drop("_commit_timestamp")
    assert sink.run(stream) == [(1, "insert", 2), (2, "insert", 3)]
    spark.sql("DELETE FROM c WHERE a = 0")
    assert sink.run(stream) == [(0, "delete", 4)]
    # The first versions are gone; the stream is beyond them.
    spark.sql(
        "CALL sys.expire_snapshots(table => 'c', retain_max => 1, retain_min => 1, "
        "older_than => '2999-01-01 00:00:00')"
    )
    spark.sql("INSERT INTO c VALUES (7)")
    again = spark.readStream.option("startingVersion", 2).changes("c").drop("_commit_timestamp")
    assert sink.run(again) == [(7, "insert", 5)]
    with pytest.raises(StreamingQueryException, match=r"'startingTimestamp'.*'log\.scan'"):
        sink.run(spark.readStream.option("startingTimestamp", "2024-01-01").table("c"))


def test_a_batch_that_runs_again(spark: SparkSession, sink: Sink) -> None:
    """It delivers the same rows, also the first one and whatever was committed meanwhile."""
    spark.sql("CREATE TABLE ag (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO ag VALUES (1, 1)")
    stream = spark.readStream.table("ag").select("id", "v", "_change_type")
    sink.run(stream)
    sink.forget_commit(0)
    spark.sql("INSERT INTO ag VALUES (1, 2)")
    assert sink.run(stream) == [
        (1, 1, "insert"),
        (1, 1, "update_preimage"),
        (1, 2, "update_postimage"),
    ]
    sink.forget_commit(1)
    sink.run(stream)
    assert [len(rows) for rows in sink.batches] == [1, 1, 2, 2]
    assert sink.batches[1] == sink.batches[0]
    assert sink.batches[3] == sink.batches[2]


def test_where_a_stream_begins(spark: SparkSession, tmp_path: Path) -> None:
    """`log.scan` = latest sees what comes after its first start; from-timestamp what came since."""
    spark.sql("CREATE TABLE s (a INT)")
    spark.sql("INSERT INTO s VALUES (1)")
    latest = spark.readStream.option("log.scan", "latest").table("s")
    sink = Sink(tmp_path / "latest")
    assert sink.run(latest) == []
    spark.sql("INSERT INTO s VALUES (2)")
    assert sink.run(latest) == [(2,)]
    first = spark.sql("SELECT max(commit_time) FROM s.snapshots").first()
    assert first is not None
    millis = int(first[0].timestamp() * 1000)
    since = spark.readStream.option("log.scan", "from-timestamp")
    stream = since.option("log.scan.timestamp-mills", millis).table("s")
    assert Sink(tmp_path / "since").run(stream) == [(2,)]


def test_options_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    """They count for every stream that does not say otherwise, and so for change queries."""
    spark.sql("CREATE TABLE op (a INT) WITH ('log.scan' = 'latest')")
    spark.sql("INSERT INTO op VALUES (1), (2)")
    assert Sink(tmp_path / "own").run(spark.readStream.table("op")) == []
    full = spark.readStream.option("log.scan", "full").table("op")
    assert Sink(tmp_path / "full").run(full) == [(1,), (2,)]
    spark.sql("INSERT INTO op WITH ('change-tracking' = 'false') VALUES (3)")
    spark.sql("DELETE FROM op WHERE a = 1")
    skipping = "'untracked-changes' = 'skip', 'stream.retractions' = 'ignore'"
    spark.sql(f"ALTER TABLE op SET TBLPROPERTIES ({skipping})")
    changes = spark.sql("SELECT a, _change_type FROM op CHANGES FROM VERSION 2")
    assert [tuple(row) for row in changes.collect()] == [(1, "delete")]
    assert Sink(tmp_path / "full").run(spark.readStream.table("op")) == []


def test_since_a_quiet_time(spark: SparkSession, sink: Sink, tmp_path: Path) -> None:
    """From a time after the last commit on there is nothing to read yet."""
    spark.sql("CREATE TABLE q (a INT)")

    def since_now() -> DataFrame:
        first = spark.sql("SELECT unix_millis(current_timestamp())").first()
        assert first is not None
        since = spark.readStream.option("log.scan", "from-timestamp")
        return since.option("log.scan.timestamp-mills", first[0]).table("q")

    of_empty = since_now()
    assert sink.run(of_empty) == []
    spark.sql("INSERT INTO q VALUES (1)")
    time.sleep(0.002)
    quiet, other = since_now(), Sink(tmp_path / "other")
    assert other.run(quiet) == []
    spark.sql("INSERT INTO q VALUES (2)")
    assert other.run(quiet) == [(2,)]
    assert sink.run(of_empty) == [(1,), (2,)]


def test_what_ends_a_stream(spark: SparkSession, sink: Sink) -> None:
    """Another table of the name, and snapshots that expired before they were read."""
    spark.sql("CREATE TABLE e (a INT)")
    spark.sql("INSERT INTO e VALUES (1)")
    assert sink.run(spark.readStream.table("e")) == [(1,)]
    spark.sql("INSERT INTO e VALUES (2)")
    spark.sql("INSERT INTO e VALUES (3)")
    spark.sql(
        "CALL sys.expire_snapshots(table => 'e', retain_max => 1, retain_min => 1, "
        "older_than => '2999-01-01 00:00:00')"
    )
    with pytest.raises(StreamingQueryException, match="behind version 1, up to which the stream"):
        sink.run(spark.readStream.table("e"))
    spark.sql("CREATE OR REPLACE TABLE e (a INT)")
    # Before its history has reached where the stream was, too.
    with pytest.raises(StreamingQueryException, match="was replaced, or dropped and made again"):
        sink.run(spark.readStream.table("e"))
    spark.sql("INSERT INTO e VALUES (9)")
    with pytest.raises(StreamingQueryException, match="was replaced, or dropped and made again"):
        sink.run(spark.readStream.table("e"))


def test_a_table_is_replaced_under_a_running_stream(spark: SparkSession, sink: Sink) -> None:
    """Its rows stay where they were, and yet the stream ends."""
    spark.sql("CREATE TABLE ru (a INT)")
    spark.sql("INSERT INTO ru VALUES (1)")
    writer = spark.readStream.table("ru").writeStream.format("noop")
    query = writer.option("checkpointLocation", sink.checkpoint).start()
    query.processAllAvailable()
    spark.sql("CREATE OR REPLACE TABLE ru (a INT)")
    spark.sql("INSERT INTO ru VALUES (2)")
    with pytest.raises(StreamingQueryException, match="TABLE_STORE_STREAM_SOURCE_CHANGED"):
        query.awaitTermination(60)
    assert not query.isActive


def test_a_log_outlives_the_snapshots(spark: SparkSession, sink: Sink) -> None:
    """A stream that was away reads what has expired meanwhile, commit by commit if it likes."""
    spark.sql("CREATE TABLE lo (a INT) WITH ('log.retention' = '1 h')")
    for number in range(1, 6):
        spark.sql(f"INSERT INTO lo VALUES ({number})")
        if number == 1:
            stream = spark.readStream.option("stream.max-files-per-trigger", 1).table("lo")
            assert sink.run(stream) == [(1,)]
    spark.sql(
        "CALL sys.expire_snapshots(table => 'lo', retain_max => 1, retain_min => 1, "
        "older_than => '2999-01-01 00:00:00')"
    )
    assert sink.run(stream) == [(2,), (3,), (4,), (5,)]


def test_altered_table(spark: SparkSession, sink: Sink) -> None:
    """After a restart the rows have the columns of now."""
    spark.sql("CREATE TABLE al (a INT)")
    spark.sql("INSERT INTO al VALUES (1)")
    before = spark.readStream.table("al")
    assert sink.run(before) == [(1,)]
    spark.sql("ALTER TABLE al ADD COLUMN b INT DEFAULT 5")
    spark.sql("INSERT INTO al VALUES (2, 6)")
    with pytest.raises(StreamingQueryException, match="columns were altered"):
        sink.run(before)
    commented = spark.readStream.table("al")
    spark.sql("ALTER TABLE al ALTER COLUMN a COMMENT 'what it is'")
    assert sink.run(commented) == [(2, 6)]


def test_labels_are_of_streams(spark: SparkSession) -> None:
    """A batch query of the table has no changes to tell."""
    spark.sql("CREATE TABLE lb (a INT)")
    spark.sql("INSERT INTO lb VALUES (1)")
    with pytest.raises(Exception, match="read it in a stream"):
        spark.sql("SELECT a, _change_type FROM lb").collect()


@pytest.mark.parametrize("option", ["stream.max-rows-per-trigger", "maxRowsPerTrigger"])
def test_rate_limits(spark: SparkSession, sink: Sink, option: str) -> None:
    """A whole snapshot comes in parts, commits one by one where two are too many; all comes."""
    name = f"rate_{len(option)}"
    spark.sql(f"CREATE TABLE {name} (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    for number in range(4):
        spark.sql(f"INSERT INTO {name} SELECT id + {number * 50}, {number} FROM range(100)")
    stream = spark.readStream.option(option, 120).table(name)
    before = spark.table(name)
    assert sink.run(stream) == sorted((tuple(row) for row in before.collect()), key=repr)
    parts = len(sink.batches)
    assert parts > 1
    for number in range(3):
        spark.sql(f"INSERT INTO {name} SELECT 1000 + id + {number * 60}, 7 FROM range(60)")
        spark.sql(f"ALTER TABLE {name} COMPACT")
    assert len(sink.run(stream)) == 180
    assert [len(rows) for rows in sink.batches[parts:]] == [120, 60]


def test_rate_limits_over_restarts(spark: SparkSession, sink: Sink) -> None:
    """The parts of the first snapshot stay what they are, whatever is committed meanwhile."""
    spark.sql("CREATE TABLE ro (id INT)")
    for number in range(3):
        spark.sql(f"INSERT INTO ro VALUES ({number})")
    limited = spark.readStream.option("maxFilesPerTrigger", 1).table("ro")

    class StoppedError(Exception):
        pass

    def stop(batch: DataFrame, number: int) -> None:
        sink.batches.append([tuple(row) for row in batch.collect()])
        if number == 1:
            raise StoppedError

    writer = limited.writeStream.foreachBatch(stop).trigger(availableNow=True)
    query = writer.option("checkpointLocation", sink.checkpoint).start()
    with pytest.raises(StreamingQueryException, match="StoppedError"):
        query.awaitTermination()
    spark.sql("INSERT INTO ro VALUES (3)")
    spark.sql("ALTER TABLE ro COMPACT")
    assert len(sink.batches) == 2
    sink.run(spark.readStream.table("ro"))
    first, tried, *rest = sink.batches
    assert rest[0] == tried
    assert sorted([*first, *(row for rows in rest for row in rows)]) == [(0,), (1,), (2,), (3,)]


def test_lag(spark: SparkSession, sink: Sink) -> None:
    """The progress of a query tells how far it is behind."""
    spark.sql("CREATE TABLE lag (id INT)")
    for number in range(3):
        spark.sql(f"INSERT INTO lag SELECT id FROM range({number + 1})")
    limited = spark.readStream.option("log.scan", "latest").option("maxFilesPerTrigger", 1)
    assert sink.run(limited.table("lag")) == []
    for number in range(3):
        spark.sql(f"INSERT INTO lag SELECT id FROM range({number + 1})")
    writer = limited.table("lag").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", sink.checkpoint).start()
    query.awaitTermination()
    lags = [progress["sources"][0]["metrics"] for progress in query.recentProgress]
    assert [lag["snapshotsBehindLatest"] for lag in lags][:3] == ["2", "1", "0"]
    assert [lag["rowsBehindLatest"] for lag in lags][:3] == ["5", "3", "0"]
    assert int(lags[0]["millisecondsBehindLatest"]) > 0
    assert lags[2]["millisecondsBehindLatest"] == "0"


def test_times_outside_of_the_history(spark: SparkSession, sink: Sink) -> None:
    spark.sql("CREATE TABLE ti (a INT)")
    spark.sql("INSERT INTO ti VALUES (1)")
    since = spark.readStream.option("log.scan", "from-timestamp")
    for millis in (1000, 99_999_999_999_999):
        stream = since.option("log.scan.timestamp-mills", millis).table("ti")
        with pytest.raises(StreamingQueryException, match="available are the versions 1 to 1"):
            sink.run(stream)
    with pytest.raises(Exception, match=r"it needs .log\.scan\.timestamp-mills"):
        sink.run(spark.readStream.option("log.scan", "from-timestamp").table("ti"))


def test_from_stream(spark: SparkSession, sink: Sink) -> None:
    """SQL has streams, too, with options."""
    spark.sql("CREATE TABLE fs (a INT)")
    spark.sql("INSERT INTO fs VALUES (1), (2)")
    assert sink.run(spark.sql("SELECT a + 1 AS b FROM STREAM fs WHERE a > 1")) == [(3,)]
    latest = spark.sql("SELECT * FROM STREAM fs WITH ('log.scan' = 'latest')")
    assert Sink(Path(sink.checkpoint + "2")).run(latest) == []


def test_consumer(spark: SparkSession, sink: Sink) -> None:
    """A stream with a name finds after any absence what it has not read."""
    spark.sql("CREATE TABLE co (a INT)")
    spark.sql("INSERT INTO co VALUES (1)")
    named = spark.readStream.option("consumer-id", "mine").table("co")
    assert sink.run(named) == [(1,)]
    for number in range(2, 5):
        spark.sql(f"INSERT INTO co VALUES ({number})")
    expire = (
        "CALL sys.expire_snapshots(table => 'co', retain_max => 1, retain_min => 1, "
        "older_than => '2999-01-01 00:00:00')"
    )
    assert spark.sql(expire).collect()[0][0] == 0
    consumers = spark.sql("SELECT consumer_id, next_snapshot_id FROM `co$consumers`")
    assert [tuple(row) for row in consumers.collect()] == [("mine", 2)]
    assert sink.run(named) == [(2,), (3,), (4,)]
    assert spark.sql(expire).collect()[0][0] == 3
    reset = "CALL sys.reset_consumer(table => 'co', consumer_id => 'mine')"
    assert [spark.sql(reset).collect()[0][0] for _ in range(2)] == [True, False]
    assert consumers.count() == 0


def test_demo_of_changes(
    spark: SparkSession,
    kafka_broker: KafkaBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What `make demo-kafka` shows: stream, topic, changes and table agree, or it ends there."""
    try:
        demo_of_changes.run(spark, kafka_broker.bootstrap, tmp_path)
    finally:
        spark.sql("RESET table-storage.log.kafka.bootstrap.servers")
    assert capsys.readouterr().out.count(": agree\n") == 5
