"""How a job is: what its last epochs did, and when it is given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

FAILURES_MAX: Final = 5
"""After so many failed epochs in a row a job is suspended."""


class JobState(Enum):
    """Only a running job has epochs."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    STOPPED = "STOPPED"
    SUSPENDED = "SUSPENDED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job between two epochs.

    Attributes:
        started_ms: when its INSERT was run, ms since 1970.
        barrier: of the last epoch that had something to do; 0 before the first one.
        reached_ms: the sink has what the sources had at this time; 0 before the first epoch.
        rule: of the epoch of `barrier`.
        reason: why it was this rule.
        rows_changed: rows inserted into and deleted from the sink since the start.
        rows_absent: deletes that found no row in the sink since the start; others had taken it.
        diverged: how the sink may differ from the query's result; None if it does not.
        failures: failed epochs since the last good one.
        error: of the last epoch, if it failed.
        sources: the snapshots that the sink has followed, by the directories of the sources.
        created: when the sources were created, likewise, ms since 1970.
        rollback: the sink's last rollback when it followed them.
        noted_ms: when the sources were last told what the job needs of them.
    """

    state: JobState = JobState.RUNNING
    started_ms: int
    barrier: int = 0
    reached_ms: int = 0
    rule: str | None = None
    reason: str | None = None
    rows_changed: int = 0
    rows_absent: int = 0
    diverged: str | None = None
    failures: int = 0
    error: str | None = None
    sources: Mapping[str, int] | None = None
    created: Mapping[str, int] | None = None
    rollback: int = 0
    noted_ms: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no epoch follows."""
        return self.state is not JobState.RUNNING

    def followed(self, now_ms: int) -> JobStatus:
        """Return the status after an epoch; `now_ms` is when it looked at the sources."""
        return replace(self, reached_ms=now_ms, failures=0, error=None)

    def failed(self, error: str) -> JobStatus:
        """Return the status after an epoch that failed."""
        failures = self.failures + 1
        state = JobState.SUSPENDED if failures >= FAILURES_MAX else self.state
        return replace(self, failures=failures, error=error, state=state)

    def ended(self, state: JobState) -> JobStatus:
        """Return the status of a job that has no more epochs."""
        return replace(self, state=state)
