"""Statements about one row or a thousand: what is left of them when there is nothing to do.

A lookup of a row by its key, INSERT … VALUES, and an append of a thousand cached rows. Beside the
lookup stands a query of two literal rows, which is what Spark takes for any query; Spark's own
phases of both are told, too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final

from tests.benchmark.bench import Bench
from tests.benchmark.measurements import LIMIT, OURS
from tests.benchmark.table_layout import TableLayout

NAME = "small_statements"
_LAYOUT = TableLayout((("id", "BIGINT"), ("v", "STRING"), ("w", "DOUBLE")), buckets=1)
_ROWS, _APPENDED = 1_000_000, 1_000
_WARM, _TIMES = 450, 150
"""Spark's planner is three times as fast once the JVM has compiled it."""
_SOURCE, _CACHED = "small_source", "small_cached"
_LITERALS: Final = "SELECT * FROM VALUES ({id}, 'a', 1.0D), (-1, 'b', 2.0D) AS t(id, v, w)"
_PHASES: Final = ("parsing", "analysis", "optimization", "planning")


@dataclass(frozen=True, slots=True)
class SmallStatements:
    """Statements on a table of a million rows, engine beside engine in turns."""

    bench: Bench

    def run(self) -> None:
        """All of it."""
        spark, measured = self.bench.spark, self.bench.measured
        columns = "id", "concat('v-', id) AS v", "id / 7 AS w"
        spark.range(_ROWS).selectExpr(*columns).createOrReplaceTempView(_SOURCE)
        cached = spark.range(_ROWS, _ROWS + _APPENDED).selectExpr(*columns).cache()
        cached.createOrReplaceTempView(_CACHED)
        files = self.bench.folder / "small"
        spark.table(_SOURCE).write.parquet(str(files))
        self.bench.view(f"{NAME}_files", files)
        engines = self.bench.engines(NAME, _LAYOUT)
        for engine in engines:
            engine.create()
            engine.insert(_SOURCE)
        tables = {LIMIT: f"{NAME}_files", **{engine.name: engine.table for engine in engines}}
        lookups = {e: f"SELECT * FROM {table} WHERE id = {{id}}" for e, table in tables.items()}
        self._looked_up({**lookups, "literal rows": _LITERALS})
        appends: dict[str, Callable[[], Any]] = {
            LIMIT: lambda: cached.write.mode("append").parquet(str(files))
        }
        appends |= {e.name: partial(cached.writeTo(e.table).append) for e in engines}
        values = {
            e.name: partial(self._collected, f"INSERT INTO {e.table} VALUES (-1, 'v', 0.0D)")
            for e in engines
        }
        measured.limit(f"append of {_APPENDED:,} cached rows", "their files")
        self._in_turns(f"append of {_APPENDED:,} cached rows", appends, warm=40, times=40)
        self._in_turns("INSERT of one row by VALUES", values, warm=40, times=60)
        for engine in engines:
            engine.drop()

    def _looked_up(self, queries: Mapping[str, str]) -> None:
        self.bench.say(f"{NAME}: lookups")
        ids, phases = count(1), {name: dict[str, list[int]]() for name in queries}

        def look(engine: str) -> None:
            frame = self.bench.spark.sql(queries[engine].format(id=next(ids) * 977 % _ROWS))
            frame.collect()
            tracker = frame._jdf.queryExecution().tracker()
            for phase in _PHASES:
                found = tracker.phases().get(phase)
                if found.isDefined():
                    phases[engine].setdefault(phase, []).append(found.get().durationMs())

        runs = {engine: partial(look, engine) for engine in queries}
        self._in_turns("lookup of a row by its key", runs, warm=_WARM, times=_TIMES)
        for engine in (OURS, "literal rows"):
            last = {phase: taken[-_TIMES:] for phase, taken in phases[engine].items()}
            means = {phase: statistics.mean(taken) for phase, taken in last.items()}
            self.bench.measured.figures[f"milliseconds of Spark's phases: {engine}"] = means

    def _in_turns(
        self, work: str, runs: Mapping[str, Callable[[], Any]], *, warm: int, times: int
    ) -> None:
        for engine, run in runs.items():
            for _ in range(warm):
                run()
            for _ in range(times):
                self.bench.measured.measure(work, engine, run)

    def _collected(self, statement: str) -> None:
        self.bench.spark.sql(statement).collect()
