"""Rows by key from plain Python, without Spark and without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.dataset as ds

import table_store
from table_store.storage.kernel.predicate import Comparison
from tests.benchmark.bench import Bench
from tests.benchmark.measurements import LIMIT, OURS, WrongResultError

_UNTIMED: Final = 200
_TIMED: Final = 50
_COMPARED: Final = 5
_TIMED_PLAIN: Final = 5
_STEP: Final = 7919


@dataclass(frozen=True, slots=True)
class PythonLookups:
    """Looks up ids below `known` in our `table`; `plain` has the same rows as sorted Parquet."""

    bench: Bench
    table: str
    plain: Path

    def run(self, stage: str, known: int) -> None:
        """The files of our table have been met before, as in a process that keeps running."""
        self.bench.say(f"point lookups from plain Python, {stage}")
        work = f"point lookup from plain Python, {stage}"
        measured = self.bench.measured
        measured.limit(work, "the same from the sorted files by pyarrow.dataset")
        table = table_store.open_table(self.bench.location(self.table)).storage
        files = ds.dataset(self.plain, schema=table.scan().arrow_schema, format="parquet")

        def ours(key: int) -> pa.Table:
            return table.scan(predicate=Comparison("id", "=", key)).to_arrow()

        def plain(key: int) -> pa.Table:
            return files.to_table(filter=ds.field("id") == key)

        for number in range(_UNTIMED):
            key = (number * _STEP + 1) % known
            row = ours(key)
            if number < _COMPARED and row.to_pylist() != plain(key).to_pylist():
                raise WrongResultError(f"the row with id {key} is not that of plain Parquet")
        for number in range(_TIMED):
            key = number * _STEP % known
            measured.measure(work, OURS, partial(ours, key))
            if number < _TIMED_PLAIN:
                measured.measure(work, LIMIT, partial(plain, key))
