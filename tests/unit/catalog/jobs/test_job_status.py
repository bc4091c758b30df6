"""Goal: a job is given up after five failures in a row, and only then."""

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
