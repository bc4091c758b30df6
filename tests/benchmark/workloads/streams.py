"""How quick streams are, beside Delta's change data feed.

Everything that a stream delivers or writes is compared with the tables before its time counts.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tests.benchmark.bench import Bench
from tests.benchmark.measurements import LIMIT, OURS, WrongResultError
from tests.benchmark.workloads.topic_arrivals import TopicArrivals

_DELTA = "delta"
_CHECKSUM = "SELECT count(*), sum(xxhash64(*) % 1000000007) FROM {}"
_BATCHES_PER_REPEAT = 4
_BATCH_ROWS = 1000
_FIRST_BATCHES = 2
"""Of each query, in which it is planned and compiled: they are not counted."""
_FIRST_COMMITS = 5
"""To a running stream, which meets its first rows: waited for, and not counted."""
_COMMITS_PAUSE_S = 0.2
_READ, _WRITTEN = "micro-batch of 1,000 rows, read as changes", "micro-batch of 1,000 rows, written"
_TO_READER, _TO_TOPIC = "commit to a running reader", "commit to the topic"
_PARTS = "id BIGINT, v STRING"


@dataclass(slots=True)
class Streams:
    """Micro-batches, then `commits` to a running stream, engine beside engine."""

    bench: Bench
    commits: int
    brokers: str
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self) -> None:
        """All work."""
        self._batches()
        self._latency()

    # -- micro-batches -----------------------------------------------------------------------------

    def _batches(self) -> None:
        self.bench.say("micro-batches")
        files = self._folder / "batches"
        for number in range(self._batch_count):
            first = number * _BATCH_ROWS
            rows = self.bench.spark.range(first, first + _BATCH_ROWS, numPartitions=1)
            rows.selectExpr("id", "concat('v', id) AS v").write.mode("append").parquet(str(files))
        expected = self.bench.spark.read.schema(_PARTS).parquet(str(files))
        expected.createOrReplaceTempView("batches")
        self.bench.measured.limit(_WRITTEN, "Spark's own file sink")
        tables = self._write_batches(files)
        self._check("batches", *tables.values())
        for engine in (OURS, _DELTA) if self._with_delta else (OURS,):
            self._read_batches(engine, tables[engine])

    @property
    def _batch_count(self) -> int:
        return _FIRST_BATCHES + _BATCHES_PER_REPEAT * self.bench.repeats

    def _write_batches(self, files: Path) -> dict[str, str]:
        """The file source's batches, written by each engine; the names of what holds them."""
        ours, delta = "batched", "spark_catalog.default.batched"
        plain = str(self._folder / "plain")
        self.bench.spark.sql(f"CREATE TABLE {ours} ({_PARTS})")
        starts: dict[str, Callable[[Any], StreamingQuery]] = {
            LIMIT: lambda writer: writer.format("parquet").start(plain),
            OURS: lambda writer: writer.toTable(ours),
        }
        tables = {LIMIT: f"parquet.`{plain}`", OURS: ours}
        if self._with_delta:
            self.bench.spark.sql(
                f"CREATE TABLE {delta} ({_PARTS}) USING delta "
                "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            )
            starts[_DELTA] = lambda writer: writer.format("delta").toTable(delta)
            tables[_DELTA] = delta
        for engine, start in starts.items():
            source = self.bench.spark.readStream.schema(_PARTS).option("maxFilesPerTrigger", 1)
            writer = self._writer(source.parquet(str(files)))
            query = start(writer.trigger(availableNow=True))
            query.awaitTermination()
            self._add_batches(_WRITTEN, engine, query)
        return tables

    def _read_batches(self, engine: str, table: str) -> None:
        """The same commits, read as changes: first with their rows checked, then timed."""
        reader = self.bench.spark.readStream.option("maxFilesPerTrigger", 1).option(
            "startingVersion", 1
        )
        frame = reader.changes(table) if engine == OURS else (
            reader.option("readChangeFeed", "true").table(table)
        )  # fmt: skip
        found: list[tuple[Any, ...]] = []
        kept = self._writer(frame.where("_change_type = 'insert'").select("id", "v"))
        kept = kept.foreachBatch(partial(_collect_into, found)).trigger(availableNow=True)
        kept.start().awaitTermination()
        if sorted(found) != sorted(map(tuple, self.bench.spark.table("batches").collect())):
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
            self.bench.measured.add(work, engine, progress["batchDuration"] / 1000)

    # -- latency -----------------------------------------------------------------------------------

    def _latency(self) -> None:
        self.bench.say("latency of streams")
        brokers = f"'log.kafka.bootstrap.servers' = '{self.brokers}'"
        self.bench.spark.sql(f"CREATE TABLE latency ({_PARTS}) WITH ({brokers})")
        topic = TopicArrivals(self.brokers, "table_store.default.latency")
        self._reader_latency(OURS, "latency", self.bench.spark.readStream.changes("latency"))
        arrived = topic.stop(_FIRST_COMMITS + self.commits)
        for row, time_ms in self._commit_times("latency").items():
            if row >= _FIRST_COMMITS:
                self.bench.measured.add(_TO_TOPIC, OURS, max(0.0, arrived[row] - time_ms) / 1000)
        if self._with_delta:
            delta = "spark_catalog.default.latency"
            self.bench.spark.sql(
                f"CREATE TABLE {delta} ({_PARTS}) USING delta "
                "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            )
            feed = self.bench.spark.readStream.option("readChangeFeed", "true").table(delta)
            self._reader_latency(_DELTA, delta, feed)
        for work in (_TO_READER, _TO_TOPIC):
            for engine, times in self.bench.measured.seconds[work].items():
                self.bench.measured.figures[f"{work}, {engine}"] = {
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
            self.bench.spark.sql(f"INSERT INTO {table} VALUES ({number}, 'row')")
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
            self.bench.measured.add(
                _TO_READER, engine, (arrived[number] - committed[number]) / 1000
            )

    def _commit_times(self, table: str) -> dict[int, float]:
        changes = f"SELECT id, unix_millis(_commit_timestamp) FROM {table} CHANGES FROM VERSION 1"
        return {row[0]: row[1] for row in self.bench.spark.sql(changes).collect()}

    def _delta_commit_times(self, table: str) -> dict[int, float]:
        reader = self.bench.spark.read.option("readChangeFeed", "true").option("startingVersion", 1)
        changes = reader.table(table).selectExpr("id", "unix_millis(_commit_timestamp)")
        return {row[0]: row[1] for row in changes.collect()}

    # -- details -----------------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        return self.bench.folder / "streams"

    @property
    def _with_delta(self) -> bool:
        return any(one.name == _DELTA for one in self.bench.formats)

    def _writer(self, frame: DataFrame) -> Any:
        checkpoint = self._folder / "checkpoints" / str(next(self._numbers))
        return frame.writeStream.option("checkpointLocation", str(checkpoint))

    def _check(self, *tables: str) -> None:
        answers = {t: self.bench.spark.sql(_CHECKSUM.format(t)).collect()[0] for t in tables}
        if len(set(map(tuple, answers.values()))) != 1:
            raise WrongResultError(f"not the same rows: {answers}")


def _collect_into(found: list[tuple[Any, ...]], batch: DataFrame, _: int) -> None:
    found.extend(map(tuple, batch.collect()))
