"""Statements of many threads that all change the same rows of one small table, at the same time.

A statement that is refused because another one was faster is given again, as its user would, until
it counts. What is measured is the time until all count, and how often one was refused.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.benchmark.bench import Bench
from tests.benchmark.sql_engine import SqlEngine
from tests.benchmark.table_layout import TableLayout

NAME = "contended"
_LAYOUT = TableLayout((("id", "BIGINT"), ("qty", "BIGINT")), buckets=1)
_WRITERS, _ROWS = 24, 1000
_SOURCE, _BASE = "contended_source", "contended_base"


@dataclass(frozen=True, slots=True)
class Contended:
    """MERGEs and UPDATEs in turns, each of which adds one to every row."""

    bench: Bench

    def run(self) -> None:
        """All of it."""
        spark = self.bench.spark
        spark.range(_ROWS).selectExpr("id", "0L AS qty").createOrReplaceTempView(_BASE)
        spark.range(_ROWS).selectExpr("id", "1L AS qty").createOrReplaceTempView(_SOURCE)
        work = f"{NAME}: {_WRITERS} MERGEs and UPDATEs of the same rows at once"
        engines = self.bench.engines(NAME, _LAYOUT)
        for engine in engines:
            engine.create()
            engine.insert(_BASE)
            refused = _Refused()
            self.bench.say(f"{NAME}: {engine.name}")
            self.bench.measured.measure(work, engine.name, partial(_all, engine, refused))
            self.bench.measured.figures.setdefault(f"{NAME}: refused", {})[engine.name] = (
                refused.count
            )
        self.bench.check([e.table for e in engines], "SELECT count(*), min(qty), max(qty) FROM {}")
        for engine in engines:
            engine.drop()


class _Refused:
    """How many statements were refused; threads may count at once."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self.count += 1


def _all(engine: SqlEngine, refused: _Refused) -> None:
    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(lambda number: _until_done(engine, number, refused), range(_WRITERS)))


def _until_done(engine: SqlEngine, number: int, refused: _Refused) -> None:
    while True:
        try:
            if number % 2:
                engine.change("merge column", _SOURCE)
            else:
                engine.update("qty = qty + 1", f"id < {_ROWS}")
            return
        except (PySparkException, Py4JError):
            refused.add()
