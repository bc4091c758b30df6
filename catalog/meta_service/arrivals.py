"""How late barriers came to tables: what each job added, as distributions over the last epochs.

A barrier is cut at the time that is its number, comes to a table when the epoch ends that brings
it, and waits before that for the tables below. So a table's delay at a barrier is the sum of what
the jobs on the slowest way to it added. All of it is as far as the kept histories reach; what
storage knows of a barrier that has not come yet is in `delay.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from table_store.catalog.jobs.history import EpochRecord
from table_store.storage.kernel.frozen_map import FrozenMap

WINDOWS_MS: Final[Mapping[str, int]] = FrozenMap({"1m": 60_000, "1h": 3_600_000, "24h": 86_400_000})
"""The times over which distributions are told, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A barrier that has come to the table of a job.

    Attributes:
        barrier: its number.
        arrived_ms: when the epoch ended, ms since 1970.
        waiting_ms: how long the job had all of its sources at the barrier before the epoch began
            that brought it; epochs that failed meanwhile are in it.
        working_ms: how long this epoch took.
    """

    barrier: int
    arrived_ms: int
    waiting_ms: int
    working_ms: int

    @property
    def delay_ms(self) -> int:
        """How long after its cut the table had the barrier."""
        return max(0, self.arrived_ms - self.barrier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Of values: how many there are, the middle one, that of 99 in 100, and the greatest."""

    count: int
    p50: int
    p99: int
    max: int

    @classmethod
    def of(cls, values: Iterable[int]) -> Distribution | None:
        """Return that of values by nearest rank; None if there are none."""
        rising = sorted(values)
        if not rising:
            return None
        count = len(rising)
        return cls(
            count=count,
            p50=rising[(count * 50 + 99) // 100 - 1],
            p99=rising[(count * 99 + 99) // 100 - 1],
            max=rising[-1],
        )


def arrivals(
    epochs: Mapping[str, Sequence[EpochRecord]], sources: Mapping[str, frozenset[str]]
) -> dict[str, tuple[Arrival, ...]]:
    """Return which barriers have come to each table that a job writes, in the order of their ends.

    Args:
        epochs: of each job, by the directory of its table, in the order of their ends.
        sources: the tables that the job of a table reads.
    """
    ended = {sink: {e.barrier: e for e in known if _is_good(e)} for sink, known in epochs.items()}
    found = {}
    for sink, by_barrier in ended.items():
        below = [ended[path] for path in sources.get(sink, ()) if path in ended]
        found[sink] = tuple(_arrival(epoch, below) for epoch in by_barrier.values())
    return found


def within(arrived: Iterable[Arrival], now_ms: int, window_ms: int) -> list[Arrival]:
    """Return those of the last `window_ms` milliseconds."""
    return [one for one in arrived if one.arrived_ms > now_ms - window_ms]


def _is_good(epoch: EpochRecord) -> bool:
    return epoch.error is None and epoch.barrier > 0


def _arrival(epoch: EpochRecord, below: Iterable[Mapping[int, EpochRecord]]) -> Arrival:
    ended = [known[epoch.barrier].ended_ms for known in below if epoch.barrier in known]
    ready = min(max((epoch.barrier, *ended)), epoch.ended_ms)
    begun = max(epoch.ended_ms - epoch.milliseconds, ready)
    return Arrival(
        barrier=epoch.barrier,
        arrived_ms=epoch.ended_ms,
        waiting_ms=begun - ready,
        working_ms=epoch.ended_ms - begun,
    )
