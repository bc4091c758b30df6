"""One engine at one size, in a process of its own, so that its memory is its own.

Called by `run.py` with its orders as JSON; the last line that it prints is the result as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

from tests.benchmark.dataset import LAYOUT
from tests.benchmark.growth.process_memory import ProcessMemory
from tests.benchmark.growth.subject import ParquetSubject, Subject, TableSubject
from tests.benchmark.measurements import LIMIT
from tests.benchmark.session import open_session
from tests.benchmark.sql_engine import SqlEngine
from tests.benchmark.table_format import TableFormat
from tests.benchmark.workloads.small_changes import view_small_rows

RESULT = "growth step: "
COMMIT = "commit of 1,000 rows"
_FORMAT = Path(__file__).resolve().parents[1] / "formats" / "table_store.toml"
_SMALL_ROWS = 1000
_SOURCE, _SMALL = "growth_source", "growth_small"
_READS, _LOOKUPS, _SMALL_COMMITS = 5, 9, 10


@dataclass(frozen=True, slots=True)
class Orders:
    """What to do: bulk insert of `base`, upserts of `batches`, or `commits` small ones after it.

    `merged` has the rows that a table with key holds after the batches. `rows` are those of the
    base, `known` those of the merged table. `stops` are the numbers of commits at which it is read.
    """

    engine: str
    kind: Literal["sizes", "commits"]
    folder: str
    base: str
    batches: list[str]
    merged: str
    rows: int
    known: int
    memory: str
    stops: list[int]


@dataclass(slots=True)
class StepResult:
    """Seconds of each run and peak bytes by kind of process, by work; and the final checksum."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    peak_bytes: dict[str, dict[str, int]] = field(default_factory=dict)
    checksums: list[list[int]] = field(default_factory=list)


class Step:
    """Carries out the orders with one subject."""

    def __init__(self, orders: Orders, spark: SparkSession, memory: ProcessMemory) -> None:
        self._orders = orders
        self._spark = spark
        self._memory = memory
        self.result = StepResult()
        folder = Path(orders.folder)
        if orders.engine == LIMIT:
            self._subject: Subject = ParquetSubject(spark, folder, orders.merged)
            self._warm: Subject = ParquetSubject(spark, folder / "warm", "")
        else:
            ours = TableFormat.load(_FORMAT)
            create = "create_write_only" if orders.kind == "sizes" else "create"
            self._subject = TableSubject(SqlEngine(spark, ours, "growth", LAYOUT), create)
            self._warm = TableSubject(SqlEngine(spark, ours, "warm", LAYOUT), create)

    def run(self) -> None:
        """Warm up, then all of it."""
        self._warm.create()
        view_small_rows(self._spark, _SMALL, 0, _SMALL_ROWS, step=3)
        self._warm.insert(_SMALL)
        self._warm.upsert(_SMALL)
        for number in range(1, 3):
            view_small_rows(self._spark, _SMALL, number, _SMALL_ROWS, step=3)
            self._warm.append(_SMALL)
        self._spark.sql(LAYOUT.read.format(self._warm.table)).collect()
        self._subject.create()
        {"sizes": self._sizes, "commits": self._commits}[self._orders.kind]()

    def _sizes(self) -> None:
        orders, subject = self._orders, self._subject
        self._view(orders.base)
        with self._work("bulk insert"):
            self._time(lambda: subject.insert(_SOURCE))
        with self._work("upsert of a tenth"):
            for batch in orders.batches:
                self._view(batch)
                self._time(lambda: subject.upsert(_SOURCE))
        subject.prepare_reads()
        self._reads(f"{1 + len(orders.batches)} runs", orders.known)
        with self._work("COMPACT"):
            self._time(subject.compact)
        self._reads("compacted", orders.known)
        with self._work(COMMIT):
            for number in range(_SMALL_COMMITS):
                first = orders.known + number
                view_small_rows(self._spark, _SMALL, first, _SMALL_ROWS, step=_SMALL_COMMITS)
                self._time(lambda: subject.append(_SMALL))

    def _commits(self) -> None:
        """Each commit spreads over the whole range of new keys; none comes twice."""
        orders, subject = self._orders, self._subject
        self._view(orders.base)
        subject.insert(_SOURCE)
        subject.prepare_reads()
        done, last = 0, orders.stops[-1]
        for stop in orders.stops:
            with self._work(at(COMMIT, stop)):
                for number in range(done, stop):
                    first = orders.known + number
                    view_small_rows(self._spark, _SMALL, first, _SMALL_ROWS, step=last)
                    self._time(lambda: subject.append(_SMALL))
            done = stop
            self._reads("", orders.known, stop)
        with self._work("COMPACT"):
            self._time(subject.compact)
        self._reads("compacted", orders.known)

    def _reads(self, stage: str, known: int, stop: int | None = None) -> None:
        table = self._subject.table
        with self._work(at(f"read, {stage}" if stage else "read", stop)):
            for _ in range(_READS):
                self._time(partial(self._collect, LAYOUT.read.format(table)))
        with self._work(at(f"point lookup, {stage}" if stage else "point lookup", stop)):
            for number in range(_LOOKUPS):
                sql = f"SELECT * FROM {table} WHERE id = {number * 7919 % known}"
                self._time(partial(self._collect, sql))
        answer = self._collect(LAYOUT.checksum.format(table))
        self.result.checksums.append([int(value) for value in answer[0]])
        self._memory.take()

    @contextmanager
    def _work(self, name: str) -> Any:
        self._memory.take()
        self.result.seconds[name] = []
        yield
        self.result.peak_bytes[name] = self._memory.take()

    def _time(self, run: Callable[[], Any]) -> None:
        times = next(reversed(self.result.seconds.values()))
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)

    def _collect(self, sql: str) -> list[Any]:
        return self._spark.sql(sql).collect()

    def _view(self, folder: str) -> None:
        self._spark.read.parquet(folder).createOrReplaceTempView(_SOURCE)


def at(work: str, stop: int | None) -> str:
    """Return the name of work that is done at a number of commits."""
    return work if stop is None else f"{work} @ {stop}"


def main() -> None:
    """Carry out the orders on the command line."""
    orders = Orders(**json.loads(sys.argv[1]))
    # Plain Parquet is measured in plain Spark: nothing of ours runs beside it.
    formats = [] if orders.engine == LIMIT else [TableFormat.load(_FORMAT)]
    spark = open_session(formats, Path(orders.folder) / "warehouse", orders.memory)
    with ProcessMemory().watching() as memory:
        step = Step(orders, spark, memory)
        step.run()
    print(RESULT + json.dumps(asdict(step.result)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
