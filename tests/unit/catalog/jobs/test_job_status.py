"""Goal: a job is given up after five failures in a row, and only then; waiting is no failure."""

from __future__ import annotations

from table_store.catalog.jobs.job_status import FAILURES_MAX, JobState, JobStatus


def test_five_failures_in_a_row_suspend() -> None:
    status = JobStatus(started_ms=1)
    for _ in range(FAILURES_MAX - 1):
        status = status.failed("no")
    assert not status.is_over
    status = status.followed(7)
    assert (status.failures, status.error, status.reached_ms) == (0, None, 7)
    for _ in range(FAILURES_MAX):
        assert not status.is_over
        status = status.failed("no")
    assert (status.state, status.error, status.reached_ms) == (JobState.SUSPENDED, "no", 7)


def test_waiting_suspends_nobody() -> None:
    status = JobStatus(started_ms=1, taken_ms=600_000)
    for _ in range(FAILURES_MAX - 1):
        status = status.failed("no")
    for number in range(1, 40):
        status = status.failed("away", waits=True)
        assert (status.waits, status.failures, status.error) == (number, number + 4, "away")
    assert not status.is_over
    assert status.failed("no").state is JobState.SUSPENDED
    good = status.followed(7)
    assert (good.waits, good.failures) == (0, 0)


def test_who_waits_tries_less_and_less_often_up_to_a_minute() -> None:
    status = JobStatus(started_ms=1, taken_ms=600_000)
    rests = []
    for _ in range(8):
        due = next(ms for ms in range(600_000, 800_000, 1000) if status.is_due(ms, 1000))
        rests.append(due - 600_000)
        status = status.failed("away", waits=True)
    assert rests[:5] == [1_000, 2_000, 4_000, 8_000, 8_000]
    assert max(rests) <= 60_000
    assert status.is_due(660_000, 1000)
    slow = status.is_due(600_000 + 299_999, 300_000), status.is_due(900_000, 300_000)
    assert slow == (False, True)


def test_a_job_that_was_slow_at_first_comes_back_to_its_own_interval() -> None:
    """Its first epochs wait until their code is compiled."""
    status = JobStatus(started_ms=1).paced(3500, 1000)
    assert status.pace == 2
    for took, pace in ((1001, 2), (1000, 1), (501, 1), (500, 0), (0, 0)):
        status = status.paced(took, 1000)
        assert status.pace == pace
