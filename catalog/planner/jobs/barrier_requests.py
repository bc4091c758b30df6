"""The request that cuts barriers for the jobs of a program, and says who takes them.

Jobs whose sinks are in one warehouse share its ledger, and so their barriers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from table_store.catalog.connectors.source import source_of
from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from table_store.catalog.jobs.progress import read_progress
from table_store.catalog.jobs.schedule import Schedule, Turn
from table_store.catalog.meta_service.barrier_holds import BARRIER_HOLDS
from table_store.catalog.meta_service.revision import Revision, RevisionClaim
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.jobs.job_sink import claim, is_note_due, noted, opened_sink
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import (
    Epoch,
    Job,
    JobTurn,
    ListedJob,
    PlanBarrier,
    PlannedBarrier,
    TakenTurn,
)
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import MissingFileError, NotFoundError, TableStoreError
from table_store.storage.log_store.logged_table import open_logged

_log = logging.getLogger(__name__)
_PAUSE_MS_MAX = 1_000
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class _Looks:
    """Tables as they were at the first look; None where there is no table.

    The rows of a source that a connector makes are out up to `now_ms` then, so that the barrier
    says which they are before anybody reads them. Jobs look at least every `interval_ms`. Where
    that fails, `failures` say why, and the source is as it was.
    """

    now_ms: int
    interval_ms: int
    heads: dict[str, Head | None] = field(default_factory=dict)
    failures: dict[str, TableStoreError] = field(default_factory=dict)

    def head(self, path: str) -> Head | None:
        if path not in self.heads:
            try:
                self.heads[path] = self._head(open_logged(path))
            except (MissingFileError, NotFoundError):
                self.heads[path] = None
        return self.heads[path]

    def _head(self, table: FileStoreTable) -> Head:
        if table.latest_snapshot() is None:
            source = source_of(table)
            try:
                if source is not None:
                    source.advance(self.now_ms, self.interval_ms)
            except TableStoreError as error:
                self.failures[table.path] = error
        return Head.of(table)

    def failure(self, listed: ListedJob) -> TableStoreError | None:
        """Why a source of a job cannot be looked at; None if all can."""
        for path in listed.status.sources or ():
            self.head(path)
            if path in self.failures:
                return self.failures[path]
        return None


@dataclass(frozen=True, slots=True)
class _Taker:
    """A job that takes the barrier; `below` are the ids of those whose tables it reads."""

    listed: ListedJob
    below: tuple[str, ...]
    is_refreshing: bool
    is_draining: bool

    @property
    def job(self) -> Job:
        return self.listed.job


def plan_barrier(session: PlannerSession, request: PlanBarrier) -> PlannedBarrier:
    """Find the jobs that take a barrier now; cut one if there is something to do for any of them.

    Where nothing has changed it costs a look at each source and sink, and no file is written but
    for what tells others once a minute that the jobs are still there.
    """
    now_ms = _CLOCK.now_ms()
    listed = [ListedJob.of(turn.listed) for turn in request.jobs]
    schedule = Schedule(_turns(request.jobs, listed, now_ms))
    known = {one.job.id: one for one in listed}
    asked = {one.job.id: turn for turn, one in zip(request.jobs, listed, strict=True)}
    takers = [
        _Taker(
            known[turn.job],
            tuple(below.job for below in schedule.below[turn.job]),
            asked[turn.job].is_refreshing,
            asked[turn.job].is_draining,
        )
        for turn in schedule.takers()
    ]
    groups: dict[str, list[_Taker]] = {}
    warehouses: dict[str, Warehouse] = {}
    for taker in takers:
        warehouse = CatalogAccess.of(session, taker.job.sink.catalog).warehouse
        groups.setdefault(warehouse.root, []).append(taker)
        warehouses[warehouse.root] = warehouse
    taken = [
        turn
        for root, group in groups.items()
        for turn in _taken(session, warehouses[root], group, now_ms)
    ]
    for root, group in groups.items():
        # A job that has not had an epoch yet has nothing to hold.
        begun = [taker.job.path for taker in group if taker.listed.status.barrier]
        if begun:
            BARRIER_HOLDS.renew(warehouses[root], begun)
    rest = [
        one.job.interval_ms - now_ms % one.job.interval_ms
        for one in listed
        if not one.status.is_over
    ]
    return PlannedBarrier(taken=tuple(taken), pause_ms=min(rest, default=_PAUSE_MS_MAX))


def _turns(jobs: Sequence[JobTurn], listed: Sequence[ListedJob], now_ms: int) -> list[Turn]:
    """The turns of jobs that run, and of those that failures have halted."""
    halted = {one.job.path for one in listed if one.status.state is JobState.SUSPENDED}
    return [
        Turn(
            job=one.job.id,
            sink=one.job.path,
            # Whoever is to end takes the table of a halted job as it is.
            sources=frozenset(one.status.sources or ()) - (halted if turn.is_draining else set()),
            taken=one.status.taken_ms,
            is_due=one.status.is_due(now_ms, one.job.interval_ms),
            is_asked=turn.is_asked,
            is_busy=turn.is_busy,
            is_halted=one.status.is_over,
        )
        for turn, one in zip(jobs, listed, strict=True)
        if not one.status.is_over or one.status.state is JobState.SUSPENDED
    ]


def _taken(
    session: PlannerSession,
    warehouse: Warehouse,
    takers: Sequence[_Taker],
    now_ms: int,
) -> Iterable[TakenTurn]:
    interval_ms = max(taker.job.interval_ms for taker in takers)
    looks = _Looks(now_ms, interval_ms)
    held = _held(takers, None, looks)
    going = [taker for taker in takers if taker.job.id not in held]
    busy = _with_work(session, going, looks)
    barrier = None
    ledger = Ledger.of(warehouse)
    while busy and barrier is None:
        last = ledger.latest()
        revision = RevisionClaim.of(warehouse).current()
        # What has no work is at the barrier because of what is seen here, not before.
        looks = _Looks(now_ms, interval_ms)
        held = _held(takers, revision, looks)
        going = [taker for taker in takers if taker.job.id not in held]
        busy = _with_work(session, going, looks)
        barrier = _cut(ledger, last, busy, looks, now_ms) if busy else None
    for taker in takers:
        # Who is to end waits in silence, for without an epoch the end would be there.
        if taker.job.id in held and not taker.is_draining:
            status = replace(taker.listed.status, error=held[taker.job.id].message)
            yield _turn(replace(taker.listed, status=status))
    idle = [taker for taker in going if taker not in busy]
    working = {taker.job.path for taker in busy}
    after = {taker.job.id for taker in busy}
    for taker in idle:
        status = replace(taker.listed.status, taken_ms=now_ms).followed(now_ms)
        snapshot = looks.head(taker.job.path)
        status = replace(status, snapshot=0 if snapshot is None else snapshot.snapshot)
        yield _turn(replace(taker.listed, status=_renewed(session, taker.job, status)))
    for taker in busy:
        assert barrier is not None, "there is something to do"
        heads = {path: looks.head(path) for path in taker.listed.status.sources or ()}
        sources = {path: head for path, head in heads.items() if head is not None}
        obstacle = looks.failure(taker.listed)
        epoch = Epoch(
            barrier=barrier.number,
            cut_ms=now_ms,
            snapshots={p: head.snapshot for p, head in sources.items() if p not in working},
            created={p: head.created_ms for p, head in sources.items()},
            obstacle=None if obstacle is None else str(obstacle),
        )
        status = replace(taker.listed.status, taken_ms=now_ms)
        first = tuple(job for job in taker.below if job in after)
        yield _turn(replace(taker.listed, status=status), epoch, first)


def _held(
    takers: Sequence[_Taker], revision: Revision | None, looks: _Looks
) -> Mapping[str, TableStoreError]:
    """Why jobs, by id, wait: for a revision, for a source that does not answer, or for others."""
    held: dict[str, TableStoreError] = {}
    for taker in takers:
        failure = looks.failure(taker.listed)
        below = next((held[job] for job in taker.below if job in held), None)
        if below is not None:
            held[taker.job.id] = below
        elif revision is not None and revision.holds(
            taker.job.path, taker.listed.status.sources or ()
        ):
            held[taker.job.id] = revision.error()
        elif failure is not None and failure.retriable:
            held[taker.job.id] = failure
    return held


def _turn(listed: ListedJob, epoch: Epoch | None = None, after: tuple[str, ...] = ()) -> TakenTurn:
    return TakenTurn(
        job=listed.job.id,
        listed=listed.text,
        epoch=None if epoch is None else epoch.text,
        after=after,
    )


def _has_work(session: PlannerSession, listed: ListedJob, looks: _Looks) -> bool:
    """Whether a table of the job is not as its last epoch left it, or that epoch failed."""
    status = listed.status
    if not status.barrier or status.failures or status.sources is None:
        return True
    followed = {
        path: Head(snapshot=at, created_ms=status.created.get(path, 0))
        for path, at in status.sources.items()
    }
    if any(looks.head(path) != head for path, head in followed.items()):
        return True
    try:
        sink = opened_sink(session, listed.job)
    except TableStoreError:
        return True  # the epoch says what it is
    if sink is None:
        return True
    latest = sink.table.latest_snapshot()
    return (0 if latest is None else latest.last_rollback) != status.rollback


def _with_work(
    session: PlannerSession, takers: Sequence[_Taker], looks: _Looks
) -> Sequence[_Taker]:
    """The jobs that have something to do, and those above them, in their order."""
    found: dict[str, _Taker] = {}
    for taker in takers:
        is_needed = taker.is_refreshing or found.keys() & set(taker.below)
        has_failed = looks.failure(taker.listed) is not None
        if is_needed or has_failed or _has_work(session, taker.listed, looks):
            found[taker.job.id] = taker
    return tuple(found.values())


def _cut(
    ledger: Ledger,
    last: Barrier | None,
    takers: Sequence[_Taker],
    looks: _Looks,
    now_ms: int,
) -> Barrier | None:
    """A barrier of all that the jobs read and none of them writes; None if another was faster."""
    paths = {path for taker in takers for path in taker.listed.status.sources or ()}
    paths -= {taker.job.path for taker in takers}
    roots = {path: head for path in sorted(paths) if (head := looks.head(path)) is not None}
    reached = max(map(_last_barrier, takers))
    return ledger.extended(last, max(now_ms, reached + 1), roots)


def _last_barrier(taker: _Taker) -> int:
    """The barrier of a sink; that of the job's former run before this one's first epoch."""
    job, status = taker.job, taker.listed.status
    if status.barrier:
        return status.barrier
    try:
        table = open_logged(job.path)
        latest = table.latest_snapshot()
        progress = read_progress(table.file_io, job.path, job.commit_user)
    except (MissingFileError, NotFoundError):
        return 0
    committed = 0 if latest is None else latest.commit_identifiers.get(job.commit_user, 0)
    return max(committed, 0 if progress is None else progress.barrier)


def _renewed(session: PlannerSession, job: Job, status: JobStatus) -> JobStatus:
    """Tell once a minute that the job is still there, and what it needs of its sources."""
    now_ms = _CLOCK.now_ms()
    if not is_note_due(status, now_ms):
        return status
    try:
        sink = opened_sink(session, job)
        if sink is None:
            return status
        claim(session, job, sink)
        return noted(sink, status, now_ms)
    except TableStoreError as error:
        _log.warning("job %s cannot say that it is there: %s", job.name, error)
        return status
