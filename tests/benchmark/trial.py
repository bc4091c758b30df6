"""A workload that is one table's life: writes, reads, compaction, reads, by every engine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmark.bench import Bench
from tests.benchmark.measurements import LIMIT
from tests.benchmark.plain_parquet import PlainParquet
from tests.benchmark.sql_engine import SqlEngine
from tests.benchmark.table_layout import TableLayout
from tests.benchmark.truth import ChangeKind, Truth
from tests.benchmark.written_files import size_bytes

_SOURCE, _TRUTH, _PLAIN = "trial_source", "trial_truth", "trial_plain"


@dataclass(frozen=True, slots=True)
class Change:
    """Rows of files that a table takes. `query` is timed after it, with `{}` for the table."""

    work: str
    kind: ChangeKind
    source: Path
    rows: int
    files: int = 0
    """Into how many ranges of the key the source is cut before it is written; 0: as it comes."""
    query: str = ""


class Trial:
    """Runs one workload; an engine that fails in it takes part no more."""

    def __init__(self, bench: Bench, name: str, layout: TableLayout) -> None:
        self._bench = bench
        self._name = name
        self._layout = layout
        self._folder = bench.folder / name.replace(" ", "-")
        self._plain = PlainParquet(bench.spark, self._folder, layout.buckets, layout.key)
        self._engines = bench.engines("trial_" + name.replace(" ", "_"), layout)

    def run(self, changes: Sequence[Change]) -> None:
        """Write, compare with the truth, read, compact, compare and read again."""
        limit = "the rows of the source (COMPACT: the merged rows) hash-partitioned, sorted, zstd"
        self._bench.measured.limit(self._name, limit)
        truth = Truth(self._folder, self._layout.key)
        for engine in self._engines:
            engine.create()
        for change in changes:
            self._bench.say(change.work)
            self._write(change)
            truth.apply(change.kind, change.source)
            if change.query:
                self._query(change)
        self._bench.view(_TRUTH, truth.save(self._folder / "merged"))
        self._bench.view(_PLAIN, self._plain.write_sorted(_TRUTH, "limit"))
        self._read("after the writes")
        self._compact()
        self._read("compacted")
        for engine in self._engines:
            engine.drop()
        shutil.rmtree(self._folder)

    def _write(self, change: Change) -> None:
        rows = self._bench.spark.read.parquet(str(change.source))
        if change.files:
            rows = rows.repartitionByRange(change.files, self._layout.key)
        rows.createOrReplaceTempView(_SOURCE)
        bytes_in = size_bytes(change.source)
        measured = self._bench.measured
        taken = measured.measure(
            change.work, LIMIT, lambda: self._plain.write_sorted(_SOURCE, "limit")
        )
        limit = measured.cost(self._name, LIMIT)
        limit.rows += change.rows
        limit.seconds += taken or 0.0
        limit.bytes_in += bytes_in
        limit.bytes_written += size_bytes(self._folder / "limit")
        for engine in list(self._engines):
            write = partial(engine.change, change.kind, _SOURCE)
            name = engine.name
            if self._bench.measure_write(self._name, change.work, name, change.rows, write):
                measured.cost(self._name, name).bytes_in += bytes_in
            else:
                self._leave(engine)

    def _query(self, change: Change) -> None:
        tables = {engine.name: engine.table for engine in self._engines}
        self._bench.check(tables.values(), change.query)
        collect = self._bench.collect
        self._bench.repeat(
            f"{change.work}, then a query",
            {engine: partial(collect, change.query, table) for engine, table in tables.items()},
        )

    def _read(self, stage: str) -> None:
        tables = {LIMIT: _PLAIN, **{engine.name: engine.table for engine in self._engines}}
        self._bench.check([_TRUTH, *tables.values()], self._layout.checksum)
        self._bench.check(tables.values(), self._layout.read)
        collect = self._bench.collect
        found = self._bench.repeat(
            f"{self._name}: read, {stage}",
            {name: partial(collect, self._layout.read, table) for name, table in tables.items()},
        )
        for name, seconds in found.items():
            cost = self._bench.measured.cost(self._name, name)
            is_compacted = stage == "compacted"
            kept = cost.reads_compacted_s if is_compacted else cost.reads_after_write_s
            kept += seconds

    def _compact(self) -> None:
        measured, work = self._bench.measured, f"{self._name}: COMPACT"
        measured.measure(work, LIMIT, lambda: self._plain.write_sorted(_TRUTH, "compacted"))
        for engine in list(self._engines):
            self._bench.written.new_bytes()
            if measured.measure(work, engine.name, engine.compact) is None:
                self._leave(engine)
            new_bytes = self._bench.written.new_bytes()
            measured.cost(self._name, engine.name).bytes_written += new_bytes

    def _leave(self, engine: SqlEngine) -> None:
        self._bench.say(f"{engine.name} failed and leaves {self._name}")
        self._engines.remove(engine)
