"""A root table that takes rows without a pause, through a join and an aggregate: does it keep up?

The lag of a commit is the time from when it is in the root to when the aggregate has its rows.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store import jobs, open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.benchmark.bench import Bench
from tests.benchmark.held_resources import held_resources
from tests.benchmark.measurements import WrongResultError
from tests.integration.streaming_mode import streaming

_ROWS_PER_S: Final = 20_000
_COMMITS_PER_S: Final = 2
_DIMENSIONS: Final = 10_000
_REGIONS: Final = 100
_UPKEEP_EVERY: Final = 25
_PAUSE_S: Final = 0.05
_WARM_UP_S: Final = 30.0
"""In which queries are compiled; these commits are not counted."""

_KEPT: Final = "WITH ('snapshot.num-retained.max' = '50', 'snapshot.time-retained' = '10 s')"
_JOBS: Final = (
    (
        "INSERT INTO detail SELECT f.id, d.region, f.amount FROM facts AS f JOIN dims AS d "
        "ON f.dim = d.id"
    ),
    "INSERT INTO totals SELECT region, count(*), sum(amount) FROM detail GROUP BY region",
)


@dataclass(slots=True)
class Sustained:
    """20,000 rows a second for some minutes, beside barriers of one second."""

    bench: Bench
    minutes: float
    _rows: int = 0
    _amount: int = 0
    _waiting: deque[tuple[int, float]] = field(default_factory=deque)
    _lags: list[tuple[float, float]] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """All of it, in a namespace of its own."""
        for statement in (
            "CREATE NAMESPACE table_store.sustained",
            "USE table_store.sustained",
            "CREATE TABLE dims (id INT, region INT, PRIMARY KEY (id) NOT ENFORCED)",
            f"INSERT INTO dims SELECT id, id % {_REGIONS} FROM range({_DIMENSIONS})",
            f"CREATE TABLE facts (id BIGINT, dim INT, amount BIGINT) {_KEPT}",
            f"CREATE TABLE detail (id BIGINT, region INT, amount BIGINT) {_KEPT}",
            (
                "CREATE TABLE totals (region INT, n BIGINT, amount BIGINT, "
                f"PRIMARY KEY (region) NOT ENFORCED) {_KEPT}"
            ),
        ):
            self._say(statement)
        facts, totals = (self._table(name) for name in ("facts", "totals"))
        folder = Path(facts.path).parent
        begin = time.monotonic()
        with self._running():
            watcher = threading.Thread(target=self._watch, args=(totals,), daemon=True)
            watcher.start()
            held = list(self._feed(facts, folder, begin))
            seconds = time.monotonic() - begin
            jobs.flush(self.bench.spark, "totals")
            self._is_over.set()
            watcher.join()
        self._check(totals)
        lags = [lag for at, lag in self._lags if at - begin > _WARM_UP_S]
        self.bench.measured.figures[f"{_ROWS_PER_S:,} rows a second, lag"] = {
            "minutes": seconds / 60,
            "rows_per_s": self._rows / seconds,
            "p50_s": statistics.median(lags),
            "p99_s": sorted(lags)[round(0.99 * (len(lags) - 1))],
            "max_s": max(lags),
        }
        for name, value in held[-1].items():
            self.bench.measured.figures[f"{_ROWS_PER_S:,} rows a second, {name}"] = {
                "first": held[0][name],
                "middle": held[len(held) // 2][name],
                "last": value,
            }
        self._say("DROP NAMESPACE table_store.sustained CASCADE")

    @contextmanager
    def _running(self) -> Iterator[None]:
        with streaming(self.bench.spark, "1 s"):
            started = [self.bench.spark.sql(one).collect()[0].job for one in _JOBS]
        yield
        for job in reversed(started):
            jobs.stop_job(self.bench.spark, job)

    def _feed(
        self, facts: FileStoreTable, folder: Path, begin: float
    ) -> Iterator[dict[str, float]]:
        """Commit rows in time, and yield what is held after the warm-up and each half minute."""
        random = np.random.default_rng(37)
        each = _ROWS_PER_S // _COMMITS_PER_S
        looked = begin
        for number in range(round(self.minutes * 60 * _COMMITS_PER_S)):
            amounts = random.integers(-1000, 1000, each)
            facts.append(
                pa.table(
                    {
                        "id": np.arange(self._rows, self._rows + each),
                        "dim": random.integers(0, _DIMENSIONS, each).astype(np.int32),
                        "amount": amounts,
                    }
                )
            )
            self._rows += each
            self._amount += int(amounts.sum())
            now = time.monotonic()
            self._waiting.append((self._rows, now))
            if not (number + 1) % _UPKEEP_EVERY:
                facts.compact()
                facts.expire_snapshots()
            if now - looked >= _WARM_UP_S:
                looked = now
                held = held_resources(folder)
                last = [lag for at, lag in self._lags if at > now - _WARM_UP_S]
                shown = {"rows": self._rows, "lag p50": statistics.median(last or [0.0]), **held}
                self.bench.say(", ".join(f"{name} {value:,.1f}" for name, value in shown.items()))
                yield held
            time.sleep(max(0.0, begin + (number + 1) / _COMMITS_PER_S - time.monotonic()))

    def _watch(self, totals: FileStoreTable) -> None:
        while not self._is_over.wait(_PAUSE_S):
            seen = pc.sum(totals.scan(["n"]).to_arrow()["n"]).as_py() or 0
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= seen:
                _, at = self._waiting.popleft()
                self._lags.append((at, now - at))

    def _check(self, totals: FileStoreTable) -> None:
        rows = totals.scan(["n", "amount"]).to_arrow()
        found = tuple(pc.sum(rows[name]).as_py() for name in ("n", "amount"))
        if found != (self._rows, self._amount):
            raise WrongResultError(f"the totals are {found}, not {(self._rows, self._amount)}")

    def _table(self, name: str) -> FileStoreTable:
        return open_table(self.bench.location(f"table_store.sustained.{name}")).storage

    def _say(self, statement: str) -> None:
        self.bench.spark.sql(statement).collect()
