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
    """Changes the tables of the engines, which have the rows of `data`, engine beside engine.

    The view `rows` has the same as plain Parquet, sorted. Spark changes none of them: the limit of
    a change is what it takes to find its rows, with all columns that are written again.
    """

    bench: Bench
    data: Dataset
    plain: PlainParquet
    rows: str
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
        measured = self.bench.measured
        for number in range(self.bench.repeats):
            for engine in self.engines:
                one = f"id = {number * 7919 % len(self.data.newest)}"
                update = partial(engine.update, "qty = qty + 1", one)
                measured.measure("UPDATE of one row", engine.name, update)
        deletion, change = "DELETE of 1 %", "UPDATE of 1 %"
        measured.limit(deletion, "a query of the keys to delete")
        measured.limit(change, "a query of the rows to change")
        for number in range(self.bench.repeats):
            # No statistics answer this.
            some = f"pmod(qty * 31, 100) = {number}"
            others = f"pmod(qty * 31, 100) = {50 + number}"
            measured.measure(
                deletion, LIMIT, partial(self._read, f"SELECT id FROM {{}} WHERE {some}")
            )
            for engine in self.engines:
                measured.measure(deletion, engine.name, partial(engine.delete, some))
            measured.measure(
                change, LIMIT, partial(self._read, f"SELECT * FROM {{}} WHERE {others}")
            )
            for engine in self.engines:
                measured.measure(
                    change, engine.name, partial(engine.update, "qty = qty + 1", others)
                )
        self.bench.check([e.table for e in self.engines], LAYOUT.checksum)

    def _merges(self) -> None:
        """MERGE of rows half of which are new: as a whole, and then into one of their columns."""
        measured = self.bench.measured
        known, count = len(self.data.newest), self.data.rows // 100
        draw, new = np.random.default_rng(29), known + _SMALL_COMMITS * _SMALL_ROWS
        whole, column = "MERGE of 1 %", "MERGE of 1 % into a column"
        measured.limit(whole, "its rows hash-partitioned, sorted by key, zstd")
        measured.limit(column, "a join with the columns needed")
        joined = "SELECT s.*, t.qty FROM {} AS t RIGHT JOIN " + _SMALL + " AS s ON t.id = s.id"
        for number in range(self.bench.repeats):
            ids = np.concatenate(
                [draw.choice(known, count - count // 2, replace=False), new + np.arange(count // 2)]
            )
            new += count // 2
            source = self.bench.folder / f"merge-{number}"
            self.bench.view(
                _SMALL, write_files(source, draw.permutation(ids), partial(sample_rows, draw))
            )
            measured.measure(whole, LIMIT, lambda: self.plain.write_sorted(_SMALL, "merge"))
            for engine in self.engines:
                measured.measure(whole, engine.name, partial(engine.change, "merge", _SMALL))
            measured.measure(column, LIMIT, partial(self._read, joined))
            for engine in self.engines:
                measured.measure(
                    column, engine.name, partial(engine.change, "merge column", _SMALL)
                )
        self.bench.check([e.table for e in self.engines], LAYOUT.checksum)

    def _read(self, sql: str) -> None:
        rows = self.bench.spark.sql(sql.format(self.rows))
        rows.write.format("noop").mode("overwrite").save()


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
