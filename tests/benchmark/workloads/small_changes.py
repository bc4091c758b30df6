"""Changes of some rows of a large table: small commits, UPDATE, DELETE and MERGE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, Dataset, sample_rows
from tests.benchmark.measurements import LIMIT
from tests.benchmark.plain_parquet import PlainParquet
from tests.benchmark.source_files import write_files
from tests.benchmark.sql_engine import SqlEngine

_SMALL = "bench_small"
_SMALL_ROWS = 1000
_SMALL_COMMITS = 20


@dataclass(frozen=True, slots=True)
class SmallChanges:
    """Changes the tables of the engines, which have the rows of `data`, engine beside engine."""

    bench: Bench
    data: Dataset
    plain: PlainParquet
    engines: Sequence[SqlEngine]

    def run(self) -> None:
        """All of them; what the small commits leave behind is compacted before the others."""
        self._small_commits()
        for engine in self.engines:
            engine.compact()
        self._row_changes()
        self._merges()

    def _small_commits(self) -> None:
        self.bench.say("small commits")
        work = f"commit of {_SMALL_ROWS:,} rows"
        self.bench.measured.limit(work, "append of the same rows")
        known = len(self.data.newest)
        for number in range(_SMALL_COMMITS):
            view_small_rows(self.bench.spark, _SMALL, known + number * _SMALL_ROWS, _SMALL_ROWS)
            measure = self.bench.measured.measure
            measure(work, LIMIT, lambda: self.plain.write_plain(_SMALL, "small"))
            for engine in self.engines:
                measure(work, engine.name, partial(engine.insert, _SMALL))
        self.bench.check([e.table for e in self.engines], LAYOUT.checksum)

    def _row_changes(self) -> None:
        self.bench.say("UPDATE and DELETE")
        measure = self.bench.measured.measure
        for number in range(self.bench.repeats):
            for engine in self.engines:
                one = f"id = {number * 7919 % len(self.data.newest)}"
                update = partial(engine.update, "qty = qty + 1", one)
                measure("UPDATE of one row", engine.name, update)
        for number in range(self.bench.repeats):
            for engine in self.engines:
                # No statistics answer this.
                delete = partial(engine.delete, f"pmod(qty * 31, 100) = {number}")
                measure("DELETE of 1 %", engine.name, delete)
            for engine in self.engines:
                update = partial(
                    engine.update, "qty = qty + 1", f"pmod(qty * 31, 100) = {50 + number}"
                )
                measure("UPDATE of 1 %", engine.name, update)
        self.bench.check([e.table for e in self.engines], LAYOUT.checksum)

    def _merges(self) -> None:
        """MERGE of whole rows, half of them new."""
        known, count = len(self.data.newest), self.data.rows // 100
        draw, new = np.random.default_rng(29), known + _SMALL_COMMITS * _SMALL_ROWS
        for number in range(self.bench.repeats):
            ids = np.concatenate(
                [draw.choice(known, count - count // 2, replace=False), new + np.arange(count // 2)]
            )
            new += count // 2
            source = self.bench.folder / f"merge-{number}"
            self.bench.view(
                _SMALL, write_files(source, draw.permutation(ids), partial(sample_rows, draw))
            )
            for engine in self.engines:
                merge = partial(engine.change, "merge", _SMALL)
                self.bench.measured.measure("MERGE of 1 %", engine.name, merge)
        self.bench.check([e.table for e in self.engines], LAYOUT.checksum)


def view_small_rows(spark: Any, name: str, first_id: int, count: int, *, step: int = 1) -> None:
    """Name a few rows that Spark has in its memory; `id` counts on from the first in steps."""
    numbers = np.arange(count)
    rows = pa.table(
        {
            "id": first_id + step * numbers,
            "category": pa.array(numbers % 100, pa.int32()),
            "qty": pa.array(numbers, pa.int32()),
            "name": [f"n-{i}" for i in numbers],
        }
    )
    spark.createDataFrame(rows).selectExpr(
        "id", "category", "cast(qty AS DECIMAL(12,2)) AS amount", "qty",
        "timestamp '2026-01-01 00:00:00' AS ts", "name", "'note' AS note",
    ).createOrReplaceTempView(name)  # fmt: skip
