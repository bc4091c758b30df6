"""All that the steps of a growth report found, and the tables that it becomes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from tests.benchmark.growth.growth_report import GrowthTable, curves_of
from tests.benchmark.growth.process_memory import ALL
from tests.benchmark.growth.step import COMMIT, StepResult, at

Results = Mapping[str, StepResult]


@dataclass(frozen=True, slots=True)
class Growth:
    """The results of all steps: by size and engine, and by engine for the commits."""

    sizes: Mapping[int, Results]
    stops: list[int]
    commits: Results

    @property
    def latencies(self) -> dict[str, list[float]]:
        """Seconds of all commits in their order, by engine."""
        works = [at(COMMIT, stop) for stop in self.stops]
        return {e: [s for w in works for s in r.seconds[w]] for e, r in self.commits.items()}

    def tables(self) -> list[tuple[GrowthTable, list[int]]]:
        """Return the tables, each with the sizes as numbers."""
        sizes = list(self.sizes)
        named = [f"{size:,} rows" for size in sizes]
        stops = [f"{stop:,} commits" for stop in self.stops]
        by_size = list(self.sizes.values())
        seconds = curves_of([{e: _medians(r) for e, r in run.items()} for run in by_size])
        peaks = curves_of([{e: _peaks(r) for e, r in run.items()} for run in by_size])
        kinds = curves_of([{e: _largest(r) for e, r in run.items()} for run in by_size])
        by_stop = [{e: _at(_medians(r), n) for e, r in self.commits.items()} for n in self.stops]
        memory = [{e: _at(_peaks(r), n) for e, r in self.commits.items()} for n in self.stops]
        return [
            (GrowthTable("seconds by rows", named, seconds), sizes),
            (GrowthTable("MiB of all processes by rows", named, peaks, is_bytes=True), sizes),
            (GrowthTable("MiB at most by rows", named, kinds, is_bytes=True), sizes),
            (GrowthTable("seconds by commits", stops, curves_of(by_stop)), self.stops),
            (
                GrowthTable("MiB of all processes by commits", stops, curves_of(memory), True),
                self.stops,
            ),
        ]


def _medians(result: StepResult) -> dict[str, float]:
    return {work: statistics.median(times) for work, times in result.seconds.items()}


def _peaks(result: StepResult) -> dict[str, float]:
    return {work: peaks[ALL] for work, peaks in result.peak_bytes.items()}


def _largest(result: StepResult) -> dict[str, float]:
    """The peaks of each kind of process over all work, without kinds that there are none of."""
    kinds = dict.fromkeys(kind for peaks in result.peak_bytes.values() for kind in peaks)
    found = {k: max(p.get(k, 0) for p in result.peak_bytes.values()) for k in kinds}
    return {kind: size_bytes for kind, size_bytes in found.items() if size_bytes}


def _at(values: Mapping[str, float], stop: int) -> dict[str, float]:
    ends = at("", stop)
    return {work.removesuffix(ends): v for work, v in values.items() if work.endswith(ends)}
