"""Goal: a job never takes a barrier without those below it, and none waits for ever.

Method: hypothesis makes jobs that read each other's tables, intervals and durations of epochs; a
simulation runs them.
"""

from __future__ import annotations

from hypothesis import example, given
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


def turns(
    below: list[frozenset[int]], taken: dict[int, int] | None = None, **marks: set[int]
) -> list[Turn]:
    return [
        Turn(
            job=str(job),
            sink=f"/{job}",
            sources=frozenset({"/root", *(f"/{other}" for other in below[job])}),
            taken=(taken or {}).get(job, 0),
            **{mark: job in jobs for mark, jobs in marks.items()},
        )
        for job in reversed(range(len(below)))
    ]


@given(
    below=graphs(),
    intervals=st.lists(st.integers(1, 7), min_size=JOBS, max_size=JOBS),
    lengths=st.lists(st.integers(0, 9), min_size=JOBS, max_size=JOBS),
)
@example(
    below=[frozenset()] * 4 + [frozenset((0, 1))], intervals=[3, 4, 1, 1, 1], lengths=[0] * JOBS
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
        takers = Schedule(turns(below, barrier, is_due=due, is_busy=busy)).takers()
        for turn in takers:
            job = int(turn.job)
            assert job not in busy
            assert job in due or any(job in below[int(other.job)] for other in takers), (
                "nobody takes more barriers than his interval says but for those above"
            )
            assert below[job] <= set(taken), "those below have their epochs first"
            begin = max([now, *(busy_until[other] for other in below[job])])
            taken.append(job)
            barrier[job], busy_until[job] = now, begin + lengths[job]
        assert all(barrier[other] >= barrier[job] for job in barrier for other in below[job])
        longest = max(longest, *(now - at for at in barrier.values()))
    # It waits for the slowest interval below, and for an epoch of all.
    assert longest <= (max(intervals) + sum(lengths)) * 2 + 2


def test_a_job_above_two_others_comes_as_often_as_the_slower_one() -> None:
    """Also where their intervals have no common multiple but after a long time."""
    below = [frozenset[int](), frozenset[int](), frozenset((0, 1))]
    intervals = {0: 30, 1: 41, 2: 1}
    barrier = dict.fromkeys(intervals, 0)
    found: dict[int, list[int]] = {job: [] for job in intervals}
    for now in range(1, 165):
        due = {j for j, every in intervals.items() if now // every > barrier[j] // every}
        for turn in Schedule(turns(below, barrier, is_due=due)).takers():
            barrier[int(turn.job)] = now
            found[int(turn.job)].append(now)
    assert found[2] == found[1] == [41, 82, 123, 164]
    assert found[0] == [30, 41, 60, 82, 90, 120, 123, 150, 164]


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
