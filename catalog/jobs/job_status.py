"""How a job is: what its last epochs did, and when it is given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from table_store.catalog.names.found_name import FoundName
from table_store.storage.kernel.frozen_map import FrozenMap

FAILURES_MAX: Final = 5
"""After so many failed epochs in a row a job is suspended, without those that waited."""

_REST_MS_MAX: Final = 60_000
"""No longer than this a job rests before it tries again what it waits for."""

_PACE_MAX: Final = 20


class JobState(Enum):
    """Only a running job has epochs; one that was submitted waits for a job runner."""

    SUBMITTED = "SUBMITTED"
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
        taken_ms: when the job last took a barrier, or there was none because nothing had changed.
        reached_ms: the sink has what the sources had at this time; 0 before the first epoch.
        snapshot: of the sink, with the rows of that time; 0 if it had none.
        rule: of the epoch of `barrier`.
        reason: why it was this rule.
        rules: how many epochs there were of each rule since the start.
        rows_read: about how many rows these epochs have read.
        rows_changed: rows inserted into and deleted from the sink since the start.
        rows_absent: deletes that found no row in the sink since the start; others had taken it.
        rows_late: rows that came into windows whose rows were out, in good epochs since the start.
        records_skipped: of external sources, which are no rows, in good epochs since the start.
        diverged: how the sink may differ from the query's result; None if it does not.
        busy_ms: how long these epochs took.
        failures: failed epochs since the last good one.
        waits: those of them that failed because what takes the rows, or has them, did not answer.
        error: of the last epoch, if it failed.
        last_error: of the last epoch that failed, also if good ones have followed.
        sources: the snapshots that the sink has followed, by the directories of the sources.
        created: when each of them was created, ms since 1970.
        names: by which they were found, of those that are read by their names.
        rollback: the sink's last rollback when it followed them.
        noted_ms: when the sources were last told what the job needs of them.
        pace: its epochs last no longer than 2^pace of its intervals, from the cut to the end.
    """

    state: JobState = JobState.RUNNING
    started_ms: int
    barrier: int = 0
    taken_ms: int = 0
    reached_ms: int = 0
    snapshot: int = 0
    rule: str | None = None
    reason: str | None = None
    rules: Mapping[str, int] = FrozenMap()
    rows_read: int = 0
    rows_changed: int = 0
    rows_absent: int = 0
    rows_late: int = 0
    records_skipped: int = 0
    diverged: str | None = None
    busy_ms: int = 0
    failures: int = 0
    waits: int = 0
    error: str | None = None
    last_error: str | None = None
    sources: Mapping[str, int] | None = None
    created: Mapping[str, int] = FrozenMap()
    names: Mapping[str, FoundName] = FrozenMap()
    rollback: int = 0
    noted_ms: int = 0
    pace: int = 0

    @property
    def is_over(self) -> bool:
        """Whether no epoch follows in the program that has it."""
        return self.state is not JobState.RUNNING

    @property
    def rows_per_second(self) -> int | None:
        """How many rows its epochs read per second; None before there was one."""
        return self.rows_read * 1000 // max(1, self.busy_ms) if self.rules else None

    def is_due(self, now_ms: int, interval_ms: int, doublings: int = 0) -> bool:
        """Whether a time that is a multiple of the interval has passed since the last barrier.

        So jobs whose intervals are multiples of one another are due together. The interval is
        doubled so often before; a job that is busy when a doubled one begins waits for the next,
        for if it came late each time, it would never be due together with others. After epochs
        that waited the interval is longer, up to a minute.
        """
        rest_ms = min(interval_ms << min(self.waits, _PACE_MAX), _REST_MS_MAX)
        every_ms = max(interval_ms << doublings, rest_ms if self.waits else 0)
        passed = now_ms // every_ms - self.taken_ms // every_ms
        is_begin = not doublings or now_ms % every_ms < interval_ms
        return passed > 1 or (passed == 1 and is_begin)

    def paced(self, took_ms: int, interval_ms: int) -> JobStatus:
        """Return the status after an epoch that took so long from its cut to its end.

        It becomes faster only with epochs that fit twice into half of the time, one step at once:
        lengths that vary by a factor of two do not make it faster and slower in turn.
        """
        intervals = max(1, -(-took_ms // interval_ms))
        if intervals > 1 << self.pace:
            return replace(self, pace=min((intervals - 1).bit_length(), _PACE_MAX))
        is_quick = self.pace > 0 and took_ms * 4 <= interval_ms << self.pace
        return replace(self, pace=self.pace - 1) if is_quick else self

    def followed(self, cut_ms: int) -> JobStatus:
        """Return the status of a sink that has what its sources had at a time."""
        return replace(self, reached_ms=cut_ms, failures=0, waits=0, error=None)

    def worked(
        self,
        *,
        barrier: int,
        rule: str,
        reason: str,
        rows_read: int,
        rows_changed: int,
        rows_absent: int,
        rows_late: int,
        milliseconds: int,
    ) -> JobStatus:
        """Return the status after an epoch that had something to do."""
        return replace(
            self,
            barrier=barrier,
            rule=rule,
            reason=reason,
            rules=FrozenMap({**self.rules, rule: self.rules.get(rule, 0) + 1}),
            rows_read=self.rows_read + rows_read,
            rows_changed=self.rows_changed + rows_changed,
            rows_absent=self.rows_absent + rows_absent,
            rows_late=self.rows_late + rows_late,
            busy_ms=self.busy_ms + milliseconds,
        )

    def failed(self, error: str, *, waits: bool = False) -> JobStatus:
        """Return the status after an epoch that failed; if it `waits`, that passes by itself."""
        failures, waited = self.failures + 1, self.waits + waits
        state = JobState.SUSPENDED if failures - waited >= FAILURES_MAX else self.state
        return replace(
            self, failures=failures, waits=waited, error=error, last_error=error, state=state
        )

    def ended(self, state: JobState) -> JobStatus:
        """Return the status of a job that has no more epochs."""
        return replace(self, state=state)
