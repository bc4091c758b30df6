"""Times of work by engine, what writes cost altogether, and the JSON that they become."""

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
class WriteCost:
    """What belongs together about writing: nobody may buy speed there with the others.

    Rows and seconds are those of all writes; the bytes written are those of compaction, too, the
    bytes in those of the source as Parquet files. Reads are the same query each time.
    """

    rows: int = 0
    seconds: float = 0.0
    bytes_in: int = 0
    bytes_written: int = 0
    reads_after_write_s: list[float] = field(default_factory=list)
    reads_compacted_s: list[float] = field(default_factory=list)

    @property
    def rows_per_s(self) -> float | None:
        """Rows written per second."""
        return self.rows / self.seconds if self.seconds else None

    @property
    def read_after_write_s(self) -> float | None:
        """Median of the reads right after the writes."""
        return statistics.median(self.reads_after_write_s) if self.reads_after_write_s else None

    @property
    def read_compacted_s(self) -> float | None:
        """Median of the reads after compaction."""
        return statistics.median(self.reads_compacted_s) if self.reads_compacted_s else None

    @property
    def bytes_per_byte(self) -> float | None:
        """Bytes written for each byte that came in."""
        return self.bytes_written / self.bytes_in if self.bytes_in else None

    def to_json(self) -> dict[str, float | None]:
        """Return the four figures, and what they were computed from."""
        return {
            "rows_per_s": self.rows_per_s,
            "read_after_write_s": self.read_after_write_s,
            "read_compacted_s": self.read_compacted_s,
            "bytes_written_per_byte_in": self.bytes_per_byte,
            "rows": self.rows,
            "write_s": self.seconds,
            "bytes_in": self.bytes_in,
            "bytes_written": self.bytes_written,
        }


@dataclass(slots=True)
class Measurements:
    """Seconds of each repetition, by work and engine, in the order of measuring.

    `costs` are by workload and engine. `figures` hold what is no time, such as rates, by what they
    are about.
    """

    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    costs: dict[str, dict[str, WriteCost]] = field(default_factory=dict)

    @property
    def peers(self) -> list[str]:
        """The engines beside ours and the limit, in the order of measuring."""
        found = [e for works in (self.seconds, self.costs) for by in works.values() for e in by]
        failed = [e for by in self.failures.values() for e in by]
        return [e for e in dict.fromkeys(found + failed) if e not in {OURS, LIMIT}]

    def limit(self, work: str, meaning: str) -> None:
        """Say what the column of plain Parquet is for this work."""
        self.limits[work] = meaning

    def cost(self, workload: str, engine: str) -> WriteCost:
        """Return what the engine's writes in a workload cost, to be added to."""
        return self.costs.setdefault(workload, {}).setdefault(engine, WriteCost())

    def measure(self, work: str, engine: str, run: Callable[[], Any]) -> float | None:
        """Run once, keep the time and return it; what an engine cannot do is kept as its failure.

        None if it failed, now or before: it is not tried again.
        """
        if engine in self.failures.get(work, {}):
            return None
        started = time.perf_counter()
        try:
            run()
        except Exception as error:
            if engine == OURS:
                raise
            self.failures.setdefault(work, {})[engine] = str(error).splitlines()[0][:200]
            return None
        taken = time.perf_counter() - started
        self.add(work, engine, taken)
        return taken

    def add(self, work: str, engine: str, seconds: float) -> None:
        """Keep a time that was measured elsewhere."""
        self.seconds.setdefault(work, {}).setdefault(engine, []).append(seconds)

    def median(self, work: str, engine: str) -> float | None:
        """Return the median in seconds, None where nothing was measured."""
        times = self.seconds.get(work, {}).get(engine)
        return statistics.median(times) if times else None

    def ratio(self, work: str, peer: str) -> float | None:
        """Return how many times the peer's median ours is, None where one of them is missing."""
        ours, other = self.median(work, OURS), self.median(work, peer)
        return None if ours is None or not other else ours / other

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
        content["writes"] = {
            workload: {engine: cost.to_json() for engine, cost in costs.items()}
            for workload, costs in self.costs.items()
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n")
