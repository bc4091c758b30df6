"""Goal: how late a barrier came to a table is what the jobs on the way added, and nothing else."""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.history import EpochRecord
from table_store.catalog.meta_service.arrivals import Arrival, Distribution, arrivals, within


def epoch(barrier: int, ended: int, took: int, error: str | None = None) -> EpochRecord:
    return EpochRecord(ended_ms=ended, job="", barrier=barrier, milliseconds=took, error=error)


def arrival(barrier: int, arrived: int, waiting: int, working: int) -> Arrival:
    return Arrival(barrier=barrier, arrived_ms=arrived, waiting_ms=waiting, working_ms=working)


def test_a_chain() -> None:
    found = arrivals(
        {"a": [epoch(1000, 1150, 100)], "b": [epoch(1000, 1400, 200)]},
        {"a": frozenset({"root"}), "b": frozenset({"a", "root"})},
    )
    assert found == {"a": (arrival(1000, 1150, 50, 100),), "b": (arrival(1000, 1400, 50, 200),)}
    shares = sum(one.waiting_ms + one.working_ms for (one,) in found.values())
    assert shares == found["b"][0].delay_ms == 400


def test_the_slowest_source_counts_and_quiet_ones_do_not() -> None:
    found = arrivals(
        {
            "slow": [epoch(1000, 1500, 500)],
            "quiet": [epoch(500, 900, 10)],
            "c": [epoch(1000, 1510, 10)],
        },
        {"c": frozenset({"slow", "quiet"})},
    )
    assert found["c"] == (arrival(1000, 1510, 0, 10),)


def test_failed_epochs_are_waited_for() -> None:
    epochs = [
        epoch(1000, 1200, 200, error="no"),
        epoch(0, 1300, 5, error="no"),
        epoch(1000, 1400, 50),
    ]
    assert arrivals({"a": epochs}, {}) == {"a": (arrival(1000, 1400, 350, 50),)}


def test_clocks_that_differ_give_no_negative_times() -> None:
    found = arrivals(
        {"a": [epoch(1000, 2000, 10)], "b": [epoch(1000, 990, 100), epoch(1100, 1150, 100)]},
        {"b": frozenset({"a"})},
    )
    assert found["b"] == (arrival(1000, 990, 0, 0), arrival(1100, 1150, 0, 50))
    assert found["b"][0].delay_ms == 0


def test_windows() -> None:
    known = [arrival(1, at, 0, 1) for at in (100, 200, 300)]
    assert [one.arrived_ms for one in within(known, 300, 100)] == [300]
    assert [one.arrived_ms for one in within(known, 300, 101)] == [200, 300]


@pytest.mark.parametrize(
    ("values", "p50", "p99", "greatest"),
    [
        ([7], 7, 7, 7),
        ([3, 1, 2], 2, 3, 3),
        (range(1, 101), 50, 99, 100),
        (range(1, 201), 100, 198, 200),
    ],
)
def test_distributions(values: list[int], p50: int, p99: int, greatest: int) -> None:
    found = Distribution.of(values)
    assert found == Distribution(count=len(values), p50=p50, p99=p99, max=greatest)


def test_of_nothing_there_is_none() -> None:
    assert Distribution.of([]) is None
