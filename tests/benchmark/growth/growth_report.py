"""What grows how fast: the same work at several sizes, ours beside plain Parquet."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.benchmark.measurements import LIMIT, OURS
from tests.benchmark.text_table import TextTable, number

TOLERANCE = 1.25
"""How many times faster than plain Parquet's something may grow before it is said: two runs of the
same differ by as much."""
_EDGE = 100
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Curve:
    """Work at several sizes: seconds or bytes by engine, one for each size."""

    work: str
    values: Mapping[str, Sequence[float]]

    def growth(self, engine: str) -> float | None:
        """Return how many times the value at the smallest size the one at the largest is."""
        values = self.values.get(engine, ())
        return values[-1] / values[0] if len(values) > 1 and values[0] else None

    @property
    def beside_limit(self) -> float | None:
        """How many times plain Parquet's growth ours is; shrinking there counts as none."""
        ours, limit = self.growth(OURS), self.growth(LIMIT)
        return None if ours is None or not limit else ours / max(1.0, limit)


@dataclass(frozen=True, slots=True)
class GrowthTable:
    """Curves over the same sizes; bytes are told in MiB."""

    title: str
    sizes: Sequence[str]
    curves: Sequence[Curve]
    is_bytes: bool = False

    def text(self) -> TextTable:
        """Return a row for each curve and engine."""
        header = [self.title, "engine", *self.sizes, "growth", "/ parquet's"]
        table = TextTable(header, words=2)
        for curve in self.curves:
            for engine, values in curve.values.items():
                told = [number(v / _MIB, 0) if self.is_bytes else number(v, 3) for v in values]
                relative = curve.beside_limit if engine == OURS else None
                grown = [number(curve.growth(engine), 2), number(relative, 2)]
                table.rows.append([curve.work, engine, *told, *grown])
        return table

    def verdicts(self) -> list[str]:
        """Return a sentence for each curve of ours that grows faster than plain Parquet's."""
        return [
            f"{self.title}: {curve.work} grows {curve.beside_limit:.2f} times as fast as parquet's"
            for curve in self.curves
            if curve.beside_limit is not None and curve.beside_limit > TOLERANCE
        ]


def curves_of(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> list[Curve]:
    """Return the curves of values by engine and work, given for each size in turn."""
    works = dict.fromkeys(work for run in runs for values in run.values() for work in values)
    engines = dict.fromkeys(engine for run in runs for engine in run)
    return [
        Curve(
            work,
            {
                engine: [run[engine][work] for run in runs]
                for engine in engines
                if all(work in run.get(engine, {}) for run in runs)
            },
        )
        for work in works
    ]


def latency_table(latencies: Mapping[str, Sequence[float]]) -> TextTable:
    """Return p50 and p99 of a series of commits: the first hundred, the last hundred, all."""
    header = [
        "commits, ms",
        "first p50",
        "last p50",
        "first p99",
        "last p99",
        "p50",
        "p99",
        "worst",
    ]
    table = TextTable(header)
    for engine, times in latencies.items():
        edge = min(_EDGE, max(1, len(times) // 2))
        first, last = times[:edge], times[-edge:]
        found = [_p(first, 50), _p(last, 50), _p(first, 99), _p(last, 99)]
        found += [_p(times, 50), _p(times, 99), max(times)]
        table.rows.append([engine, *(number(1000 * value, 0) for value in found)])
    return table


def _p(times: Sequence[float], percent: int) -> float:
    if len(times) == 1:
        return times[0]
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]
