"""What the log costs a statement, and how quick streams are, beside Delta's change data feed.

Everything that a stream delivers or writes is compared with the tables before its time counts.
"""

from __future__ import annotations

import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.benchmark.dataset import COLUMNS, Dataset
from tests.benchmark.measurements import LIMIT, OURS, Measurements, WrongResultError

_DELTA = "delta"
_CHECKSUM = "SELECT count(*), sum(xxhash64(*) % 1000000007) FROM {}"
_BATCHES_PER_REPEAT = 4
_BATCH_ROWS = 1000
_FIRST_BATCHES = 2
"""Of each query, in which it is planned and compiled: they are not counted."""
_FIRST_COMMITS = 5
"""To a running stream, which meets its first rows: waited for, and not counted."""
_BULK_ROWS_MAX = 1_000_000
_BULK_ROUNDS_MAX = 3
_COMMITS_PAUSE_S = 0.2
_IDLE_S = 0.3
_READ, _WRITTEN = "micro-batch of 1,000 rows, read as changes", "micro-batch of 1,000 rows, written"
_TO_READER, _TO_TOPIC = "commit to a running reader", "commit to the topic"
_PARTS = "id BIGINT, v STRING"


@dataclass(slots=True)
class StreamWorkload:
    """Runs everything once, engine beside engine, and fills `measured`."""

    spark: SparkSession
    folder: Path
    data: Dataset
    repeats: int
    commits: int
    brokers: str
    with_delta: bool
    measured: Measurements
    say: Callable[[str], None]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self) -> None:
        """All work."""
        self._bulk_with_log()
        self._batches()
        self._latency()

    # -- statements with a log ---------------------------------------------------------------------

    def _bulk_with_log(self) -> None:
        self.say("bulk insert with a log")
        logs = {
            "none": "'change-tracking' = 'false'",
            "files": "'log.retention' = '1 d'",
            "Kafka": f"'log.kafka.bootstrap.servers' = '{self.brokers}', 'bucket' = '2'",
        }
        source = self.data.sources[0]
        if self.data.rows > _BULK_ROWS_MAX:
            source /= "part-0.parquet"
        self.spark.read.parquet(str(source)).createOrReplaceTempView("log_source")
        for log in ("files", "Kafka"):
            self.measured.limit(f"bulk insert, log in {log}", "ours without change tracking")
        # One unmeasured round: whoever comes first would pay for the others.
        for number in range(min(self.repeats, _BULK_ROUNDS_MAX) + 1):
            for log, options in logs.items():
                table = f"log_{log}_{number}"
                self.spark.sql(f"CREATE TABLE {table} ({COLUMNS}) TBLPROPERTIES ({options})")
                insert = partial(self.spark.sql, f"INSERT INTO {table} SELECT * FROM log_source")
                if number == 0:
                    insert()
                elif log == "none":
                    started = time.perf_counter()
                    insert()
                    taken = time.perf_counter() - started
                    for other in ("files", "Kafka"):
                        self.measured.add(f"bulk insert, log in {other}", LIMIT, taken)
                else:
                    self.measured.measure(f"bulk insert, log in {log}", OURS, insert)
            self._check("log_source", *(f"log_{log}_{number}" for log in logs))
            for log in logs:
                self.spark.sql(f"DROP TABLE log_{log}_{number}")

    # -- micro-batches -----------------------------------------------------------------------------

    def _batches(self) -> None:
        self.say("micro-batches")
        files = self.folder / "batches"
        for number in range(self._batch_count):
            first = number * _BATCH_ROWS
            rows = self.spark.range(first, first + _BATCH_ROWS, numPartitions=1)
            rows.selectExpr("id", "concat('v', id) AS v").write.mode("append").parquet(str(files))
        expected = self.spark.read.schema(_PARTS).parquet(str(files))
        expected.createOrReplaceTempView("batches")
        self.measured.limit(_WRITTEN, "Spark's own file sink")
        tables = self._write_batches(files)
        self._check("batches", *tables.values())
        for engine in (OURS, _DELTA) if self.with_delta else (OURS,):
            self._read_batches(engine, tables[engine])

    @property
    def _batch_count(self) -> int:
        return _FIRST_BATCHES + _BATCHES_PER_REPEAT * self.repeats

    def _write_batches(self, files: Path) -> dict[str, str]:
        """The file source's batches, written by each engine; the names of what holds them."""
        ours, delta = "batched", "spark_catalog.default.batched"
        plain = str(self.folder / "plain")
        self.spark.sql(f"CREATE TABLE {ours} ({_PARTS})")
        starts: dict[str, Callable[[Any], StreamingQuery]] = {
            LIMIT: lambda writer: writer.format("parquet").start(plain),
            OURS: lambda writer: writer.toTable(ours),
        }
        tables = {LIMIT: f"parquet.`{plain}`", OURS: ours}
        if self.with_delta:
            self.spark.sql(
                f"CREATE TABLE {delta} ({_PARTS}) USING delta "
                "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            )
            starts[_DELTA] = lambda writer: writer.format("delta").toTable(delta)
            tables[_DELTA] = delta
        for engine, start in starts.items():
            source = self.spark.readStream.schema(_PARTS).option("maxFilesPerTrigger", 1)
            writer = self._writer(source.parquet(str(files)))
            query = start(writer.trigger(availableNow=True))
            query.awaitTermination()
            self._add_batches(_WRITTEN, engine, query)
        return tables

    def _read_batches(self, engine: str, table: str) -> None:
        """The same commits, read as changes: first with their rows checked, then timed."""
        reader = self.spark.readStream.option("maxFilesPerTrigger", 1).option("startingVersion", 1)
        frame = reader.changes(table) if engine == OURS else (
            reader.option("readChangeFeed", "true").table(table)
        )  # fmt: skip
        found: list[tuple[Any, ...]] = []
        kept = self._writer(frame.where("_change_type = 'insert'").select("id", "v"))
        kept = kept.foreachBatch(partial(_collect_into, found)).trigger(availableNow=True)
        kept.start().awaitTermination()
        if sorted(found) != sorted(map(tuple, self.spark.table("batches").collect())):
            raise WrongResultError(f"the changes of {table} are not its rows")
        query = self._writer(frame).format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        self._add_batches(_READ, engine, query)

    def _add_batches(self, work: str, engine: str, query: StreamingQuery) -> None:
        filled = [p for p in query.recentProgress if p["numInputRows"]]
        if len(filled) != self._batch_count:
            reason = f"{len(filled)} batches, not {self._batch_count}"
            raise WrongResultError(f"{work}, {engine}: {reason}")
        for progress in filled[_FIRST_BATCHES:]:
            self.measured.add(work, engine, progress["batchDuration"] / 1000)

    # -- latency -----------------------------------------------------------------------------------

    def _latency(self) -> None:
        self.say("latency of streams")
        brokers = f"'log.kafka.bootstrap.servers' = '{self.brokers}'"
        self.spark.sql(f"CREATE TABLE latency ({_PARTS}) WITH ({brokers})")
        topic = _TopicArrivals(self.brokers, "table_store.default.latency")
        self._reader_latency(OURS, "latency", self.spark.readStream.changes("latency"))
        arrived = topic.stop(_FIRST_COMMITS + self.commits)
        for row, time_ms in self._commit_times("latency").items():
            if row >= _FIRST_COMMITS:
                self.measured.add(_TO_TOPIC, OURS, max(0.0, arrived[row] - time_ms) / 1000)
        if self.with_delta:
            delta = "spark_catalog.default.latency"
            self.spark.sql(
                f"CREATE TABLE {delta} ({_PARTS}) USING delta "
                "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            )
            feed = self.spark.readStream.option("readChangeFeed", "true").table(delta)
            self._reader_latency(_DELTA, delta, feed)
        for work in (_TO_READER, _TO_TOPIC):
            for engine, times in self.measured.seconds[work].items():
                self.measured.figures[f"{work}, {engine}"] = {
                    "p50_ms": statistics.median(times) * 1000,
                    "p99_ms": statistics.quantiles(times, n=100, method="inclusive")[98] * 1000,
                }

    def _reader_latency(self, engine: str, table: str, changes: DataFrame) -> None:
        """Time from the commit that the table tells to the moment a program has the row."""
        arrived: dict[int, float] = {}

        def take(batch: DataFrame, _: int) -> None:
            rows = batch.select("id").collect()
            now_ms = time.time() * 1000
            arrived.update((row.id, now_ms) for row in rows)

        query = self._writer(changes).foreachBatch(take).start()
        query.processAllAvailable()
        count = _FIRST_COMMITS + self.commits
        for number in range(count):
            self.spark.sql(f"INSERT INTO {table} VALUES ({number}, 'row')")
            time.sleep(_COMMITS_PAUSE_S)
            if number < _FIRST_COMMITS:
                query.processAllAvailable()
        query.processAllAvailable()
        query.stop()
        if sorted(arrived) != list(range(count)):
            raise WrongResultError(f"{engine}: {len(arrived)} of {count} rows came")
        committed = (
            self._commit_times(table)
            if engine == OURS
            else self._delta_commit_times(table)
        )  # fmt: skip
        for number in range(_FIRST_COMMITS, count):
            self.measured.add(_TO_READER, engine, (arrived[number] - committed[number]) / 1000)

    def _commit_times(self, table: str) -> dict[int, float]:
        changes = f"SELECT id, unix_millis(_commit_timestamp) FROM {table} CHANGES FROM VERSION 1"
        return {row[0]: row[1] for row in self.spark.sql(changes).collect()}

    def _delta_commit_times(self, table: str) -> dict[int, float]:
        reader = self.spark.read.option("readChangeFeed", "true").option("startingVersion", 1)
        changes = reader.table(table).selectExpr("id", "unix_millis(_commit_timestamp)")
        return {row[0]: row[1] for row in changes.collect()}

    # -- details -----------------------------------------------------------------------------------

    def _writer(self, frame: DataFrame) -> Any:
        checkpoint = self.folder / "checkpoints" / str(next(self._numbers))
        return frame.writeStream.option("checkpointLocation", str(checkpoint))

    def _check(self, *tables: str) -> None:
        answers = {t: self.spark.sql(_CHECKSUM.format(t)).collect()[0] for t in tables}
        if len(set(map(tuple, answers.values()))) != 1:
            raise WrongResultError(f"not the same rows: {answers}")


class _TopicArrivals:
    """A plain consumer on a thread of its own, which notes when it got the row of each id."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False
        )
        self._consumer.assign([TopicPartition(topic, 0)])
        self._consumer.seek_to_beginning()
        self._arrived: dict[int, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self, count: int) -> dict[int, float]:
        """Milliseconds since 1970 by id, once `count` rows are there."""
        end = time.monotonic() + 30
        while len(self._arrived) < count and time.monotonic() < end:
            time.sleep(_IDLE_S)
        self._is_over.set()
        self._thread.join()
        if len(self._arrived) != count:
            raise WrongResultError(f"{len(self._arrived)} of {count} rows in the topic")
        return self._arrived

    def _run(self) -> None:
        with closing(self._consumer):
            while not self._is_over.is_set():
                for records in self._consumer.poll(timeout_ms=100).values():
                    now_ms = time.time() * 1000
                    self._arrived.update((_id_of(record.value), now_ms) for record in records)


def _id_of(value: bytes) -> int:
    row: dict[str, int] = json.loads(value)["after"]
    return row["id"]


def _collect_into(found: list[tuple[Any, ...]], batch: DataFrame, _: int) -> None:
    found.extend(map(tuple, batch.collect()))
