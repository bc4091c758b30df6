"""The life of one large table: bulk insert, upserts, queries over many runs, compaction, queries.

Then point lookups and small changes. Nothing is compacted before COMPACT says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, Dataset
from tests.benchmark.measurements import LIMIT
from tests.benchmark.plain_parquet import PlainParquet
from tests.benchmark.sql_engine import SqlEngine
from tests.benchmark.table_layout import TableLayout
from tests.benchmark.workloads.python_lookups import PythonLookups
from tests.benchmark.workloads.small_changes import SmallChanges
from tests.benchmark.written_files import size_bytes

NAME = "upserts"
_FILTER, _GROUP = "filter + sum", "group by"
_QUERIES = {
    _FILTER: "SELECT sum(amount), count(*) FROM {} WHERE category < 10",
    _GROUP: "SELECT category, sum(amount), max(qty) FROM {} GROUP BY category",
}
_ALL_COLUMNS = "all columns"
_SOURCE, _ROW, _PLAIN = "bench_source", "bench_row", "bench_plain"
_FIRST_STOP = 4
_COMPACTED = "compacted"
_KEYED, _KEYLESS = "create_write_only", "create_keyless"


@dataclass(slots=True)
class TableLife:
    """Runs everything once, engine beside engine. `data` is empty still."""

    bench: Bench
    data: Dataset
    upserts: int
    buckets: int
    _layout: TableLayout = field(init=False)
    _plain: PlainParquet = field(init=False)
    _engines: list[SqlEngine] = field(init=False)
    _sorted: Path = field(init=False)

    def __post_init__(self) -> None:
        self._layout = TableLayout(LAYOUT.columns, self.buckets)
        self._plain = PlainParquet(self.bench.spark, self.bench.folder / "parquet", self.buckets)
        self._engines = self.bench.engines("bench_keyed", self._layout)

    def run(self) -> None:
        """All work, in the order of a table's life."""
        self._bulk()
        for number in range(1, self.upserts + 1):
            self._upsert(number)
            if number in {_FIRST_STOP, self.upserts}:
                self._read_stage(f"{number + 1} runs", is_last=number == self.upserts)
        self._compact()
        self._read_stage(_COMPACTED, is_last=True)
        self._point_lookups(_COMPACTED)
        SmallChanges(self.bench, self.data, self._plain, _PLAIN, self._engines).run()
        for engine in self._engines:
            engine.drop()

    def _bulk(self) -> None:
        self.bench.say("bulk insert")
        self.bench.view(_SOURCE, self.data.write_base())
        measured = self.bench.measured
        keyed, free = "bulk insert, key", "bulk insert, no key"
        measured.limit(keyed, "hash-partitioned, sorted by key, zstd")
        measured.limit(free, "plain write with Spark's defaults")
        bags = self.bench.engines("bench_bag", self._layout)
        bags = [bag for bag in bags if bag.can(_KEYLESS)]
        # The last table with key stays, and what it cost counts among the writes of its life.
        rounds = self.bench.repeats
        for number in range(rounds - 1):
            self._bulk_round(keyed, number, self._engines, self._plain.write_sorted)
        for engine in self._engines:
            engine.create(_KEYED)
        self._write(keyed, self.data.rows)
        for number in range(rounds):
            self._bulk_round(free, number, bags, self._plain.write_plain)
        for work in (keyed, free):
            for name, seconds in measured.seconds[work].items():
                measured.add(f"{work}, the first of {rounds}", name, seconds[0])
        tables = [_SOURCE, *(engine.table for engine in [*bags, *self._engines])]
        self.bench.check(tables, LAYOUT.checksum)
        for bag in bags:
            bag.drop()

    def _bulk_round(
        self,
        work: str,
        number: int,
        engines: Sequence[SqlEngine],
        write_plain: Callable[[str, str], Path],
    ) -> None:
        """Write all rows with each engine to a new table; every other round goes backwards.

        So nobody always comes first, or always after the one that leaves the most to be flushed.
        """
        runs: dict[str, Callable[[], object]] = {LIMIT: partial(write_plain, _SOURCE, "bulk")}
        for engine in engines:
            engine.create(_KEYED if engine in self._engines else _KEYLESS)
            runs[engine.name] = partial(engine.insert, _SOURCE)
        for name in list(runs) if number % 2 == 0 else reversed(runs):
            self.bench.measured.measure(work, name, runs[name])

    def _upsert(self, number: int) -> None:
        self.bench.say(f"upsert {number} of {self.upserts}")
        self.bench.view(_SOURCE, self.data.write_batch())
        work = f"upsert of {self.data.rows // 10:,}"
        self.bench.measured.limit(work, "the same rows hash-partitioned, sorted by key, zstd")
        self._write(work, self.data.rows // 10)

    def _write(self, work: str, rows: int) -> None:
        """Write the newest source, as an upsert where there are rows already."""
        measured, bytes_in = self.bench.measured, size_bytes(self.data.sources[-1])
        is_upsert = len(self.data.sources) > 1
        taken = measured.measure(work, LIMIT, lambda: self._plain.write_sorted(_SOURCE, "bulk"))
        limit = measured.cost(NAME, LIMIT)
        limit.rows += rows
        limit.seconds += taken or 0.0
        limit.bytes_in += bytes_in
        limit.bytes_written += size_bytes(self.bench.folder / "parquet" / "bulk")
        for engine in self._engines:
            write = partial(engine.upsert if is_upsert else engine.insert, _SOURCE)
            self.bench.measure_write(NAME, work, engine.name, rows, write)
            measured.cost(NAME, engine.name).bytes_in += bytes_in

    def _read_stage(self, stage: str, *, is_last: bool) -> None:
        self.bench.say(f"queries, {stage}")
        if stage != _COMPACTED:
            self.bench.view(_SOURCE, self.data.write_merged(self._merged))
            self._sorted = self._plain.write_sorted(_SOURCE, "merged")
            self.bench.view(_PLAIN, self._sorted)
        tables = {LIMIT: _PLAIN, **{e.name: e.table for e in self._engines}}
        self.bench.check(tables.values(), LAYOUT.checksum)
        if stage != _COMPACTED:
            self._point_lookups(stage)
        for query, sql in _QUERIES.items():
            self.bench.check(tables.values(), sql)
            found = self.bench.repeat(
                f"{query}, {stage}",
                {e: partial(self.bench.collect, sql, table) for e, table in tables.items()},
            )
            if query == _GROUP and is_last:
                for engine, seconds in found.items():
                    cost = self.bench.measured.cost(NAME, engine)
                    is_compacted = stage == _COMPACTED
                    kept = cost.reads_compacted_s if is_compacted else cost.reads_after_write_s
                    kept += seconds
        self.bench.repeat(
            f"{_ALL_COLUMNS}, {stage}",
            {e: partial(self._to_noop, table) for e, table in tables.items()},
        )
        if is_last and stage != _COMPACTED:
            self._first_queries(stage, tables)

    def _first_queries(self, stage: str, tables: Mapping[str, str]) -> None:
        """Query right after a commit, of a row that stays what it was: nothing is known yet."""
        self.bench.say(f"first queries of snapshots, {stage}")
        works: dict[str, Callable[[str], object]] = {
            query: partial(self.bench.collect, sql) for query, sql in _QUERIES.items()
        }
        works[_ALL_COLUMNS] = self._to_noop
        for query, run in works.items():
            work = f"{query}, {stage}, first of a snapshot"
            for number in range(self.bench.repeats):
                row = self.bench.spark.table(_PLAIN).where(f"id = {number}")
                row.createOrReplaceTempView(_ROW)
                for engine in self._engines:
                    engine.upsert(_ROW)
                for name, table in tables.items():
                    self.bench.measured.measure(work, name, partial(run, table))
        self.bench.check(tables.values(), LAYOUT.checksum)

    def _compact(self) -> None:
        self.bench.say("compaction")
        measured = self.bench.measured
        measured.limit("COMPACT", "the merged rows hash-partitioned, sorted by key, zstd")
        self.bench.view(_SOURCE, self._merged)
        measured.measure("COMPACT", LIMIT, lambda: self._plain.write_sorted(_SOURCE, "compacted"))
        for engine in self._engines:
            self.bench.written.new_bytes()
            measured.measure("COMPACT", engine.name, engine.compact)
            measured.cost(NAME, engine.name).bytes_written += self.bench.written.new_bytes()

    def _point_lookups(self, stage: str) -> None:
        tables = {LIMIT: _PLAIN, **{e.name: e.table for e in self._engines}}
        known = len(self.data.newest)
        for number in range(3 * self.bench.repeats):
            sql = "SELECT * FROM {} WHERE id = " + str(number * 7919 % known)
            if number % self.bench.repeats == 0:
                self.bench.check(tables.values(), sql)
            for engine, table in tables.items():
                look = partial(self.bench.collect, sql, table)
                self.bench.measured.measure(f"point lookup, {stage}", engine, look)
        PythonLookups(self.bench, self._engines[0].table, self._sorted).run(stage, known)

    @property
    def _merged(self) -> Path:
        return self.bench.folder / f"merged-{len(self.data.sources)}"

    def _to_noop(self, table: str) -> None:
        self.bench.spark.table(table).write.format("noop").mode("overwrite").save()
