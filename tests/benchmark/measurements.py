"""Times of work by engine, and the table and JSON that they become."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OURS, LIMIT = "table store", "parquet"


class WrongResultError(Exception):
    """Two engines answer the same query differently, or a log tells other rows than its table."""


@dataclass(slots=True)
class Measurements:
    """Seconds of each repetition, by work and engine, in the order of measuring.

    `figures` hold what is no time, such as rates, by what they are about.
    """

    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, float]] = field(default_factory=dict)

    def limit(self, work: str, meaning: str) -> None:
        """Say what the column of plain Parquet is for this work."""
        self.limits[work] = meaning

    def measure(self, work: str, engine: str, run: Callable[[], Any]) -> None:
        """Run once and keep the time; what an engine cannot do is kept as its failure."""
        if engine in self.failures.get(work, {}):
            return
        started = time.perf_counter()
        try:
            run()
        except Exception as error:
            if engine == OURS:
                raise
            self.failures.setdefault(work, {})[engine] = str(error).splitlines()[0][:200]
            return
        self.add(work, engine, time.perf_counter() - started)

    def add(self, work: str, engine: str, seconds: float) -> None:
        """Keep a time that was measured elsewhere."""
        self.seconds.setdefault(work, {}).setdefault(engine, []).append(seconds)

    def median(self, work: str, engine: str) -> float | None:
        """Return the median in seconds, None where nothing was measured."""
        times = self.seconds.get(work, {}).get(engine)
        return statistics.median(times) if times else None

    def lines(self) -> list[str]:
        """Return a table: medians, and how many times a peer's time ours is (lower is better)."""
        header = ["work", "runs", "parquet s", "delta s", "ours s", "worst", "/ parquet", "/ delta"]
        table = [header]
        for work, engines in self.seconds.items():
            ours, limit, delta = (self.median(work, e) for e in (OURS, LIMIT, "delta"))
            times = engines.get(OURS, [])
            table.append(
                [
                    work,
                    str(len(times)),
                    _seconds(limit),
                    "failed" if "delta" in self.failures.get(work, {}) else _seconds(delta),
                    _seconds(ours),
                    _seconds(max(times, default=None)),
                    _ratio(ours, limit),
                    _ratio(ours, delta),
                ]
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        lines.insert(1, "-" * len(lines[0]))
        lines += [f"parquet, {work}: {meaning}" for work, meaning in self.limits.items()]
        lines += [
            f"failed, {work}, {engine}: {reason}"
            for work, engines in self.failures.items()
            for engine, reason in engines.items()
        ]
        lines += [
            f"{about}: " + ", ".join(f"{name} = {value:,.1f}" for name, value in found.items())
            for about, found in self.figures.items()
        ]
        return lines

    def save(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write everything measured as JSON."""
        works = {
            work: {
                engine: {"median_s": statistics.median(times), "runs_s": times}
                for engine, times in engines.items()
            }
            for work, engines in self.seconds.items()
        }
        content = {**about, "work": works, "failed": self.failures, "limits": self.limits}
        content["figures"] = self.figures
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n")


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _ratio(ours: float | None, other: float | None) -> str:
    return "–" if ours is None or not other else f"{ours / other:.2f}"
