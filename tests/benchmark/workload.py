"""The work that is measured, and the check that all engines answer the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.benchmark.dataset import Dataset
from tests.benchmark.engines import Delta, Engine, PlainParquet, TableStore
from tests.benchmark.measurements import LIMIT, OURS, Measurements, WrongResultError

_QUERIES = {
    "filter + sum": "SELECT sum(amount), count(*) FROM {} WHERE category < 10",
    "group by": "SELECT category, sum(amount), max(qty) FROM {} GROUP BY category",
}
_ALL_COLUMNS = "all columns"
_CHECKSUM = (
    "SELECT count(*), sum(cast(xxhash64(id, category, amount, qty, ts, name, note) AS DECIMAL"
    "(38, 0))) FROM {}"
)
_SOURCE, _SMALL = "bench_source", "bench_small"
_SMALL_ROWS = 1000
_SMALL_COMMITS = 20
_FIRST_STOP = 4


@dataclass(slots=True)
class Workload:
    """Runs everything once, engine beside engine, and fills `measured`."""

    spark: SparkSession
    folder: Path
    data: Dataset
    upserts: int
    repeats: int
    buckets: int
    with_delta: bool
    measured: Measurements
    say: Callable[[str], None]

    def run(self) -> None:
        """All work, in the order of a table's life."""
        options = f"'bucket' = '{self.buckets}', 'write-only' = 'true'"
        ours = TableStore(self.spark, "bench_keyed", options, with_key=True)
        bag = TableStore(self.spark, "bench_bag", "'write-only' = 'true'", with_key=False)
        plain = PlainParquet(self.spark, self.folder / "parquet", self.buckets)
        engines: list[Engine] = [ours]
        if self.with_delta:
            engines.append(Delta(self.spark, "bench_delta"))
        for table in [bag, *engines]:
            table.create()
        self._warm_up(plain)
        self._bulk(plain, bag, engines)
        for number in range(1, self.upserts + 1):
            self._upsert(number, plain, engines)
            if number in {_FIRST_STOP, self.upserts}:
                self._read_stage(f"{number + 1} runs", plain, engines)
        self._compact(plain, engines)
        self._read_stage("compacted", plain, engines)
        self._point_lookups("compacted", plain, engines)
        self._small_commits(plain, engines)
        self._row_changes(engines)

    def _warm_up(self, plain: PlainParquet) -> None:
        """Both JVM paths and the workers are compiled and started once, unmeasured."""
        self.say("warming up")
        warm = Dataset(self.folder / "warm", min(100_000, self.data.rows), seed=1)
        self._view(_SOURCE, warm.write_base())
        plain.write_sorted(_SOURCE, "warm")
        table = TableStore(self.spark, "bench_warm", "'bucket' = '2'", with_key=True)
        table.create()
        for source in (warm.sources[0], warm.write_batch()):
            self._view(_SOURCE, source)
            table.insert(_SOURCE)
        for sql in _QUERIES.values():
            self.spark.sql(sql.format("bench_warm")).collect()
        self.spark.sql("DROP TABLE bench_warm")

    def _bulk(self, plain: PlainParquet, bag: TableStore, engines: Sequence[Engine]) -> None:
        self.say("bulk insert")
        self._view(_SOURCE, self.data.write_base())
        keyed, free = "bulk insert, key", "bulk insert, no key"
        self.measured.limit(keyed, "hash-partitioned, sorted by key, zstd")
        self.measured.limit(free, "plain write with Spark's defaults")
        self.measured.measure(keyed, LIMIT, lambda: plain.write_sorted(_SOURCE, "bulk"))
        for engine in engines:
            self.measured.measure(keyed, engine.name, partial(engine.insert, _SOURCE))
        self.measured.measure(free, LIMIT, lambda: plain.write_plain(_SOURCE, "bulk"))
        self.measured.measure(free, OURS, lambda: bag.insert(_SOURCE))
        self._check([_SOURCE, bag.table, *(e.table for e in engines)], _CHECKSUM)
        bag.create()

    def _upsert(self, number: int, plain: PlainParquet, engines: Sequence[Engine]) -> None:
        self.say(f"upsert {number} of {self.upserts}")
        self._view(_SOURCE, self.data.write_batch())
        work = f"upsert of {self.data.rows // 10:,}"
        self.measured.limit(work, "the same rows hash-partitioned, sorted by key, zstd")
        self.measured.measure(work, LIMIT, lambda: plain.write_sorted(_SOURCE, "upsert"))
        for engine in engines:
            self.measured.measure(work, engine.name, partial(engine.upsert, _SOURCE))

    def _read_stage(self, stage: str, plain: PlainParquet, engines: Sequence[Engine]) -> None:
        self.say(f"queries, {stage}")
        if stage != "compacted":
            merged = self.data.write_merged(self.folder / f"merged-{len(self.data.sources)}")
            self._view(_SOURCE, merged)
            path = plain.write_sorted(_SOURCE, "merged")
            self._view("bench_plain", path)
        tables = {LIMIT: "bench_plain", **{e.name: e.table for e in engines}}
        self._check(tables.values(), _CHECKSUM)
        if stage != "compacted":
            self._point_lookups(stage, plain, engines)
        for query, sql in _QUERIES.items():
            self._check(tables.values(), sql)
            self._repeat(
                f"{query}, {stage}",
                {e: partial(self._collect, sql, table) for e, table in tables.items()},
            )
        self._repeat(
            f"{_ALL_COLUMNS}, {stage}",
            {e: partial(self._to_noop, table) for e, table in tables.items()},
        )

    def _compact(self, plain: PlainParquet, engines: Sequence[Engine]) -> None:
        self.say("compaction")
        self.measured.limit("COMPACT", "the merged rows hash-partitioned, sorted by key, zstd")
        merged = self.folder / f"merged-{len(self.data.sources)}"
        self._view(_SOURCE, merged)
        self.measured.measure("COMPACT", LIMIT, lambda: plain.write_sorted(_SOURCE, "compacted"))
        for engine in engines:
            self.measured.measure("COMPACT", engine.name, engine.compact)

    def _point_lookups(self, stage: str, plain: PlainParquet, engines: Sequence[Engine]) -> None:
        tables = {LIMIT: "bench_plain", **{e.name: e.table for e in engines}}
        known = len(self.data.newest)
        for number in range(3 * self.repeats):
            sql = "SELECT * FROM {} WHERE id = " + str(number * 7919 % known)
            if number % self.repeats == 0:
                self._check(tables.values(), sql)
            for engine, table in tables.items():
                self.measured.measure(
                    f"point lookup, {stage}", engine, partial(self._collect, sql, table)
                )

    def _small_commits(self, plain: PlainParquet, engines: Sequence[Engine]) -> None:
        self.say("small commits")
        work = f"commit of {_SMALL_ROWS:,} rows"
        self.measured.limit(work, "append of the same rows")
        known = len(self.data.newest)
        for number in range(_SMALL_COMMITS):
            first = known + number * _SMALL_ROWS
            rows = self.spark.createDataFrame(
                [(first + i, i % 100, i, f"n-{i}") for i in range(_SMALL_ROWS)],
                "id BIGINT NOT NULL, category INT, qty INT, name STRING",
            )
            local = self.spark.createDataFrame(rows.toArrow())
            local.selectExpr(
                "id", "category", "cast(qty AS DECIMAL(12,2)) AS amount", "qty",
                "timestamp '2026-01-01 00:00:00' AS ts", "name", "'note' AS note",
            ).createOrReplaceTempView(_SMALL)  # fmt: skip
            self.measured.measure(work, LIMIT, lambda: plain.write_plain(_SMALL, "small"))
            for engine in engines:
                self.measured.measure(work, engine.name, partial(engine.insert, _SMALL))
        self._check([e.table for e in engines], _CHECKSUM)

    def _row_changes(self, engines: Sequence[Engine]) -> None:
        self.say("UPDATE and DELETE")
        for number in range(self.repeats):
            for engine in engines:
                key = number * 7919 % len(self.data.newest)
                self.measured.measure(
                    "UPDATE of one row", engine.name, partial(engine.update_one, key)
                )
        for number in range(self.repeats):
            for engine in engines:
                self.measured.measure(
                    "DELETE of 1 %", engine.name, partial(engine.delete_some, number)
                )
        self._check([e.table for e in engines], _CHECKSUM)

    def _repeat(self, work: str, runs: Mapping[str, Callable[[], Any]]) -> None:
        """Engine after engine in each round, so that what disturbs the machine hits all."""
        for _ in range(self.repeats):
            for engine, run in runs.items():
                self.measured.measure(work, engine, run)

    def _check(self, tables: Any, sql: str) -> None:
        answers = {table: sorted(map(tuple, self._collect(sql, table))) for table in tables}
        first, *others = answers
        for other in others:
            if answers[other] != answers[first]:
                raise WrongResultError(
                    f"{sql}: {first} says {answers[first][:3]}, {other} {answers[other][:3]}"
                )

    def _collect(self, sql: str, table: str) -> list[Any]:
        return self.spark.sql(sql.format(table)).collect()

    def _to_noop(self, table: str) -> None:
        self.spark.table(table).write.format("noop").mode("overwrite").save()

    def _view(self, name: str, path: Path) -> None:
        self.spark.read.parquet(str(path)).createOrReplaceTempView(name)
