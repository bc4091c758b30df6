"""Goal: slow jobs that hang together have common barriers again and again.

Method: a simulation of two jobs over one source that changes all the time. Their epochs last as
long as hypothesis says; the statuses and the schedule are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.jobs.schedule import Schedule, Turn
from table_store.catalog.meta_service.slow_jobs import PacedJob, doublings

INTERVAL = 10
SOURCE = "/root"
SINKS = ("/one", "/two")
LONG = 8
Lengths = Callable[[str], int]


def barriers(lengths: Lengths, steps: int, *, is_aligned: bool) -> dict[str, list[int]]:
    """The barriers that each of the jobs takes, as numbers of the looks; one for each interval."""
    status = {sink: JobStatus(started_ms=0) for sink in SINKS}
    ends = dict.fromkeys(SINKS, 0)
    found: dict[str, list[int]] = {sink: [] for sink in SINKS}
    for now in range(1, steps):
        now_ms = now * INTERVAL
        paced = {
            s: PacedJob(sources={SOURCE}, pace=one.pace if is_aligned else 0)
            for s, one in status.items()
        }
        doubled = doublings(paced)
        turns = [
            Turn(
                job=sink,
                sink=sink,
                sources=frozenset({SOURCE}),
                taken=one.taken_ms,
                is_due=one.is_due(now_ms, INTERVAL, doubled[sink]),
                is_busy=ends[sink] > now_ms,
            )
            for sink, one in status.items()
        ]
        for turn in Schedule(turns).takers():
            took_ms = lengths(turn.sink)
            ends[turn.sink] = now_ms + took_ms
            found[turn.sink].append(now)
            status[turn.sink] = JobStatus(
                started_ms=0, taken_ms=now_ms, pace=status[turn.sink].pace
            ).paced(took_ms, INTERVAL)
    return found


def common(found: dict[str, list[int]]) -> list[int]:
    return sorted(set(found[SINKS[0]]) & set(found[SINKS[1]]))


def longest_gap(found: dict[str, list[int]]) -> int:
    """The longest time without a common barrier, in looks."""
    return max(later - at for at, later in pairwise([0, *common(found), 120]))


@settings(max_examples=25)
@given(data=st.data(), longest=st.tuples(st.integers(1, LONG), st.integers(1, LONG)))
def test_common_barriers_come_as_often_as_the_slower_one(
    data: st.DataObject, longest: tuple[int, int]
) -> None:
    bounds = dict(zip(SINKS, longest, strict=True))

    def lengths(sink: str) -> int:
        return data.draw(st.integers(bounds[sink] * INTERVAL // 2, bounds[sink] * INTERVAL))

    found = barriers(lengths, 120, is_aligned=True)
    gaps = [later - at for at, later in pairwise(found[SINKS[0]])]
    assert max(gaps) <= 2 * LONG
    # Each may have to learn its pace first, and may become faster and slower again.
    assert longest_gap(found) <= 6 * LONG


@pytest.mark.parametrize("one", range(1, LONG + 1))
@pytest.mark.parametrize("two", range(1, LONG + 1))
def test_jobs_that_always_take_as_long_come_together(one: int, two: int) -> None:
    """Though each is busy for all of its doubled interval, and begins at another time at first."""
    every = dict(zip(SINKS, (one * INTERVAL, two * INTERVAL), strict=True))
    assert longest_gap(barriers(lambda sink: every[sink], 120, is_aligned=True)) <= 2 * LONG


def test_without_it_common_barriers_are_a_chance() -> None:
    """Two jobs of three and five intervals, which begin one after the other."""
    every = {"/one": 3 * INTERVAL, "/two": 5 * INTERVAL}
    aligned, free = (
        common(barriers(lambda sink: every[sink], 120, is_aligned=way)) for way in (True, False)
    )
    assert len(aligned) > len(free)
    assert max(later - at for at, later in pairwise(aligned)) == 8


def test_one_slow_job_alone_comes_as_soon_as_it_can() -> None:
    jobs = {
        "/slow": PacedJob(sources={SOURCE}, pace=3),
        "/quick": PacedJob(sources={SOURCE}, pace=0),
        "/apart": PacedJob(sources={"/other"}, pace=2),
    }
    assert set(doublings(jobs).values()) == {0}
    both = {**jobs, "/too": PacedJob(sources={"/quick"}, pace=1)}
    assert doublings(both) == {"/slow": 3, "/quick": 0, "/apart": 0, "/too": 1}
