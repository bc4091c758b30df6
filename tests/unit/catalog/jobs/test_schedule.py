"""Goal: a job never takes a barrier without those below it, and none waits for ever.

Method: hypothesis makes jobs that read each other's tables, intervals and durations of epochs; a
simulation runs them.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.jobs.schedule import Schedule, Turn

JOBS = 5
STEPS = 120


@st.composite
def graphs(draw: st.DrawFn) -> list[frozenset[int]]:
    """For each job those below it, all of lower numbers."""
    return [
        draw(st.frozensets(st.integers(0, job - 1), max_size=3)) if job else frozenset()
        for job in range(JOBS)
    ]


def turns(below: list[frozenset[int]], **marks: set[int]) -> list[Turn]:
    return [
        Turn(
            job=str(job),
            sink=f"/{job}",
            sources=frozenset({"/root", *(f"/{other}" for other in below[job])}),
            **{mark: job in jobs for mark, jobs in marks.items()},
        )
        for job in reversed(range(JOBS))
    ]


@given(
    below=graphs(),
    intervals=st.lists(st.integers(1, 7), min_size=JOBS, max_size=JOBS),
    lengths=st.lists(st.integers(0, 9), min_size=JOBS, max_size=JOBS),
)
def test_jobs_are_aligned_and_none_starves(
    below: list[frozenset[int]], intervals: list[int], lengths: list[int]
) -> None:
    barrier = dict.fromkeys(range(JOBS), -1)
    busy_until = dict.fromkeys(range(JOBS), 0)
    longest = 0
    for now in range(STEPS):
        busy = {job for job, end in busy_until.items() if end > now}
        due = {
            job
            for job, interval in enumerate(intervals)
            if barrier[job] < 0 or now // interval > barrier[job] // interval
        }
        taken: list[int] = []
        for turn in Schedule(turns(below, is_due=due, is_busy=busy)).takers():
            job = int(turn.job)
            assert job in due - busy
            assert below[job] <= set(taken), "those below have their epochs first"
            begin = max([now, *(busy_until[other] for other in below[job])])
            taken.append(job)
            barrier[job], busy_until[job] = now, begin + lengths[job]
        assert all(barrier[other] >= barrier[job] for job in barrier for other in below[job])
        longest = max(longest, *(now - at for at in barrier.values()))
    # Every job below may make it wait for an interval, and for an epoch of all.
    assert longest <= (max(intervals) + sum(lengths)) * 2 + 2


@given(below=graphs(), asked=st.sets(st.integers(0, JOBS - 1), min_size=1))
def test_who_is_asked_takes_the_barrier_with_all_below(
    below: list[frozenset[int]], asked: set[int]
) -> None:
    wanted = set(asked)
    while more := {other for job in wanted for other in below[job]} - wanted:
        wanted |= more
    assert {int(t.job) for t in Schedule(turns(below, is_asked=asked)).takers()} == wanted


@given(below=graphs(), halted=st.integers(0, JOBS - 1))
def test_nothing_above_a_halted_job_goes_on(below: list[frozenset[int]], halted: int) -> None:
    above = {halted}
    for job in range(JOBS):
        if below[job] & above:
            above.add(job)
    due = set(range(JOBS))
    found = Schedule(turns(below, is_due=due, is_halted={halted})).takers()
    assert {int(turn.job) for turn in found} == due - above


def test_the_last_of_several_jobs_with_one_sink_counts() -> None:
    """A job that was halted, and another INSERT that took over its table."""
    old = Turn(job="old", sink="/a", sources=frozenset(), is_halted=True)
    new = Turn(job="new", sink="/a", sources=frozenset(), is_due=True)
    reader = Turn(job="reader", sink="/b", sources=frozenset(("/a",)), is_due=True)
    found = Schedule([old, reader, new]).takers()
    assert [turn.job for turn in found] == ["new", "reader"]
