"""The request that cuts barriers for the jobs of a program, and says who takes them.

Jobs whose sinks are in one warehouse share its ledger, and so their barriers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from table_store.catalog.jobs.progress import read_progress
from table_store.catalog.jobs.schedule import Schedule, Turn
from table_store.catalog.meta_service.barrier_holds import BARRIER_HOLDS
from table_store.catalog.meta_service.one_moment import LOOKS_MAX
from table_store.catalog.meta_service.slow_jobs import PacedJob, doublings
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.jobs.job_sink import claim, is_note_due, noted, opened_sink
from table_store.catalog.planner.jobs.root_looks import RootLooks, UnderWay, waiting
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
from table_store.catalog.planner.read.spark_streams import SparkStreams
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import MissingFileError, NotFoundError, TableStoreError
from table_store.storage.log_store.logged_table import open_logged

_log = logging.getLogger(__name__)
_PAUSE_MS_MAX = 1_000
_PAUSE_MS_OF_WAITING = 100
_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class _Taker:
    """A job that takes the barrier.

    Attributes:
        listed: the job.
        below: the ids of those whose tables it reads.
        is_refreshing: whether it has an epoch even if nothing has changed.
        is_draining: whether it is to end.
        sources: the directories of the tables that it reads, as their names stand now.
    """

    listed: ListedJob
    below: tuple[str, ...]
    is_refreshing: bool
    is_draining: bool
    sources: tuple[str, ...] = ()

    @property
    def job(self) -> Job:
        return self.listed.job

    @property
    def of_interest(self) -> tuple[str, str, Sequence[str], Sequence[str]]:
        """Its id, its sink, what it reads, and the jobs below it."""
        return self.job.id, self.job.path, self.sources, self.below


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
    cuts = {
        root: _Cut.of(session, warehouses[root], group, now_ms) for root, group in groups.items()
    }
    taken = [
        turn for root, cut in cuts.items() for turn in _taken(session, groups[root], cut, now_ms)
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
    rest += [_PAUSE_MS_OF_WAITING for cut in cuts.values() if cut.waits]
    return PlannedBarrier(taken=tuple(taken), pause_ms=min(rest, default=_PAUSE_MS_MAX))


def _turns(jobs: Sequence[JobTurn], listed: Sequence[ListedJob], now_ms: int) -> list[Turn]:
    """The turns of jobs that run, and of those that failures have halted."""
    halted = {one.job.path for one in listed if one.status.state is JobState.SUSPENDED}
    paced = {
        one.job.path: PacedJob(sources=one.status.sources or (), pace=one.status.pace)
        for one in listed
        if not one.status.is_over
    }
    doubled = doublings(paced)
    return [
        Turn(
            job=one.job.id,
            sink=one.job.path,
            # Whoever is to end takes the table of a halted job as it is.
            sources=frozenset(one.status.sources or ()) - (halted if turn.is_draining else set()),
            taken=one.status.taken_ms,
            is_due=one.status.is_due(now_ms, one.job.interval_ms, doubled.get(one.job.path, 0)),
            is_asked=turn.is_asked,
            is_busy=turn.is_busy,
            is_halted=one.status.is_over,
        )
        for turn, one in zip(jobs, listed, strict=True)
        if not one.status.is_over or one.status.state is JobState.SUSPENDED
    ]


def _taken(
    session: PlannerSession, takers: Sequence[_Taker], cut: _Cut, now_ms: int
) -> Iterable[TakenTurn]:
    going, busy, looks, barrier = cut.going, cut.busy, cut.looks, cut.barrier
    for taker in takers:
        reason = cut.waits.get(taker.job.id)
        # Who is to end waits in silence, for without an epoch the end would be there.
        if reason is not None and not taker.is_draining:
            status = replace(taker.listed.status, error=str(reason))
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
        heads = {path: looks.head(path) for path in taker.sources}
        sources = {path: head for path, head in heads.items() if head is not None}
        obstacle = looks.failure(heads)
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


@dataclass(frozen=True, slots=True)
class _Cut:
    """What became of a barrier.

    Attributes:
        looks: at tables.
        going: jobs that do not wait.
        busy: those of them that have something to do at the barrier.
        waits: why the others wait, by their ids.
        barrier: None if there is nothing to do.
    """

    looks: RootLooks
    going: Sequence[_Taker]
    busy: Sequence[_Taker]
    waits: Mapping[str, TableStoreError]
    barrier: Barrier | None = None

    @classmethod
    def of(
        cls,
        session: PlannerSession,
        warehouse: Warehouse,
        takers: Sequence[_Taker],
        now_ms: int,
    ) -> _Cut:
        """Cut a barrier for those of the jobs that have something to do."""
        interval_ms = max(taker.job.interval_ms for taker in takers)
        ledger, looked = Ledger.of(warehouse), 0
        streams = SparkStreams(session)
        looks = RootLooks(warehouse, now_ms, interval_ms, streams)
        if not _with_work(session, _seen(takers, looks), looks):
            return cls(looks, takers, (), {})
        while True:
            last = ledger.latest()
            under_way = UnderWay.of(warehouse)
            # What has no work is at the barrier because of what is seen here, not before.
            looks = RootLooks(warehouse, now_ms, interval_ms, streams)
            seen = _seen(takers, looks)
            waits = waiting(under_way, looks, [taker.of_interest for taker in seen])
            going = [taker for taker in seen if taker.job.id not in waits]
            if waits:
                under_way.tell_producers(warehouse, is_cut=False)
            busy = _with_work(session, going, looks)
            if not busy:
                return cls(looks, going, (), waits)
            roots = _roots(busy, looks, under_way)
            looked += 1
            if not under_way.is_moment(warehouse, looks):
                unsettled = under_way.unsettled()
                if looked < LOOKS_MAX:
                    continue
                if unsettled is not None:
                    return cls(looks, (), (), {**waits, **{t.job.id: unsettled for t in going}})
            reached = max(map(_last_barrier, busy))
            barrier = ledger.extended(last, max(now_ms, reached + 1), roots)
            if barrier is not None:
                under_way.tell_producers(warehouse, is_cut=True)
                return cls(looks, going, busy, waits, barrier)


def _turn(listed: ListedJob, epoch: Epoch | None = None, after: tuple[str, ...] = ()) -> TakenTurn:
    return TakenTurn(
        job=listed.job.id,
        listed=listed.text,
        epoch=None if epoch is None else epoch.text,
        after=after,
    )


def _seen(takers: Sequence[_Taker], looks: RootLooks) -> Sequence[_Taker]:
    return [replace(taker, sources=looks.sources(taker.listed.status)) for taker in takers]


def _has_work(session: PlannerSession, taker: _Taker, looks: RootLooks) -> bool:
    """Whether a table of the job is not as its last epoch left it, or that epoch failed.

    A source is another table, too, where its name stands for one by now.
    """
    listed, status = taker.listed, taker.listed.status
    if not status.barrier or status.failures or status.sources is None:
        return True
    if status.sources.keys() != set(taker.sources):
        return True
    followed = {
        path: Head(snapshot=at, created_ms=status.created.get(path, 0))
        for path, at in status.sources.items()
    }
    if any(looks.has_moved(path, head) for path, head in followed.items()):
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
    session: PlannerSession, takers: Sequence[_Taker], looks: RootLooks
) -> Sequence[_Taker]:
    """The jobs that have something to do, and those above them, in their order."""
    found: dict[str, _Taker] = {}
    for taker in takers:
        is_needed = taker.is_refreshing or found.keys() & set(taker.below)
        has_failed = looks.failure(taker.sources) is not None
        if is_needed or has_failed or _has_work(session, taker, looks):
            found[taker.job.id] = taker
    return tuple(found.values())


def _roots(takers: Sequence[_Taker], looks: RootLooks, under_way: UnderWay) -> Mapping[str, Head]:
    """All that the jobs read and none of them writes, with what is to be looked at with it."""
    paths = {path for taker in takers for path in taker.sources}
    paths |= under_way.roots_with(paths | {taker.job.path for taker in takers})
    paths -= {taker.job.path for taker in takers}
    return {path: head for path in sorted(paths) if (head := looks.head(path)) is not None}


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
