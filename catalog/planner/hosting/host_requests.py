"""The request with which a job runner finds out what it has to do: one look per second."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.meta_service.observed_job import observed_jobs
from table_store.catalog.meta_service.registry import JobRegistry, sink_digest
from table_store.catalog.meta_service.runner_lease import RunnerLease, Sight
from table_store.catalog.meta_service.submitted_jobs import (
    HostedJob,
    Order,
    Submission,
    SubmittedJobs,
)
from table_store.catalog.names.identifier import quoted_parts
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.process_identity import ProcessIdentity
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.registration import forget_job
from table_store.catalog.planner.hosting.view_turns import begun, ended, pause_ms, scheduled_views
from table_store.catalog.planner.jobs.job_sink import opened_sink, take_over
from table_store.catalog.planner.names.catalog_access import CatalogAccess, jvm_process
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.hosting import (
    DueView,
    HostCommand,
    HostedWork,
    HostJobs,
    HostState,
    Restart,
    ToldJob,
)
from table_store.catalog.planner.protocol.jobs import Job, JobText, ListedJob, StartedJob
from table_store.storage.kernel.errors import CorruptFileError, TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap

_log = logging.getLogger(__name__)
_STATUS_MS: Final = 10_000
"""So long the status of jobs to which nothing has happened may be old."""

_ENDED: Final = (JobState.STOPPED, JobState.FINISHED, JobState.FAILED)
_HEALTHY_MS: Final = 60_000
"""After so long without a failure a job's restarts are forgotten."""


def host_jobs(session: PlannerSession, request: HostJobs) -> HostedWork:
    """What a runner does next: jobs to start and to tell something, views to refresh.

    Costs two lists and a read, and for scheduled views what `scheduled_views` and `begun` do.
    """
    warehouse = CatalogAccess.of(session, request.catalog).warehouse
    state = HostState.of(request.host)
    me, lease = jvm_process(), RunnerLease.of(warehouse)
    jobs = {sink_digest(one.job.path): one for one in map(ListedJob.of, request.jobs)}
    steady_ms = time.monotonic_ns() // 1_000_000
    sight = Sight(number=state.lease, since_ms=state.lease_since_ms)
    tenure = lease.take(me, sight, steady_ms)
    state = replace(state, lease=tenure.sight.number, lease_since_ms=tenure.sight.since_ms)
    look = _Look(session, request, warehouse, jobs, tenure.deposed)
    if not tenure.is_held:
        # Whoever has the lease now begins with the submissions.
        state = HostState(lease=state.lease, lease_since_ms=state.lease_since_ms)
        leave = tuple(ToldJob(job=job, command=HostCommand.LEAVE) for job in look.running())
        return HostedWork(host=state.text, is_host=False, tell=leave)
    if request.is_leaving:
        look.told(state, is_forced=True)
        lease.give_back(me)
        return HostedWork(host=state.text, is_host=False)
    return look.work(state)


@dataclass(frozen=True)
class _Look:
    """What a runner sees; `jobs` are those of its program, by the digests of their sinks."""

    session: PlannerSession
    request: HostJobs
    warehouse: Warehouse
    jobs: Mapping[str, ListedJob]
    deposed: ProcessIdentity | None

    @property
    def _submitted(self) -> SubmittedJobs:
        return SubmittedJobs.of(self.warehouse)

    def running(self) -> list[str]:
        """The ids of the jobs that run."""
        return [one.job.id for one in self.jobs.values() if not one.status.is_over]

    def work(self, state: HostState) -> HostedWork:
        now_ms = self.warehouse.clock.now_ms()
        state = self._with_restarts(state, now_ms)
        start: list[StartedJob] = []
        tell: list[ToldJob] = []
        handled, asked = {}, dict(state.asked_ms)
        for digest, number in sorted(self._submitted.numbers().items()):
            handled[digest] = state.handled.get(digest, 0)
            one = self.jobs.get(digest)
            is_new = number > handled[digest]
            if not is_new and one is not None and self._is_quiet(one, state, now_ms):
                continue
            submission = self._read(digest, number)
            if submission is None:
                continue
            handled[digest] = number
            if submission.order in (Order.FLUSH, Order.REFRESH):
                asked[digest] = now_ms
            start += self._start(submission, one)
            if is_new:
                tell += self._tell(submission, one)
        asked = {d: ms for d, ms in asked.items() if d in self.jobs and self._is_behind(d, ms)}
        state = replace(state, handled=FrozenMap(handled), asked_ms=FrozenMap(asked))
        state, due = self._due_views(state, now_ms)
        state = self.told(state, is_forced=bool(asked))
        return HostedWork(
            host=state.text, is_host=True, start=tuple(start), tell=tuple(tell), refresh=due
        )

    def _read(self, digest: str, number: int) -> Submission | None:
        try:
            return self._submitted.get(digest, number)
        except TableStoreError as error:
            _log.warning("a submitted job is left out: %s", error)
            return None

    def _is_quiet(self, one: ListedJob, state: HostState, now_ms: int) -> bool:
        """Whether a job runs, or is not to be started again yet."""
        if not one.status.is_over:
            return True
        restart = state.restarts.get(one.job.id)
        return (
            one.status.state is JobState.SUSPENDED
            and restart is not None
            and restart.after_ms > now_ms
        )

    def _is_behind(self, digest: str, asked_ms: int) -> bool:
        status = self.jobs[digest].status
        return not status.is_over and status.reached_ms < asked_ms

    def _with_restarts(self, state: HostState, now_ms: int) -> HostState:
        found: dict[str, Restart] = {}
        for one in self.jobs.values():
            known = state.restarts.get(one.job.id)
            if one.status.state is JobState.SUSPENDED:
                if known is None or known.after_ms <= one.status.started_ms:
                    count = 1 if known is None else known.count + 1
                    known = Restart(count=count, after_ms=now_ms + pause_ms(count))
            elif known is not None and known.after_ms + _HEALTHY_MS < now_ms:
                known = known if one.status.failures else None
            if known is not None:
                found[one.job.id] = known
        return replace(state, restarts=FrozenMap(found))

    # -- jobs --------------------------------------------------------------------------------------

    def _start(self, submission: Submission, one: ListedJob | None) -> Iterator[StartedJob]:
        """A job that is wanted and does not run; what is over is no longer submitted."""
        if submission.order is Order.PAUSE or (one is not None and not one.status.is_over):
            return
        # What this program may reach its own catalog says.
        wanted = ListedJob.of(JobText(submission.listed)).within(self.request.catalog)
        job, known = wanted.job, wanted.status
        if one is not None and one.job.id == job.id:
            known = one.status
        if submission.order.is_end or known.state in _ENDED:
            self._submitted.remove(submission)
            if submission.order is not Order.SUSPEND:
                forget_job(self.session, job)
            return
        status = JobStatus(
            started_ms=self.warehouse.clock.now_ms(),
            sources=known.sources,
            created=known.created,
            names=known.names,
            last_error=known.error or known.last_error,
        )
        self._take_over(job)
        self._register_again(job)
        yield StartedJob(
            id=job.id,
            name=job.name,
            commit_user=job.commit_user,
            listed=ListedJob(job=job, status=status).text,
            waits=False,
            is_temporary=False,
        )

    def _register_again(self, job: Job) -> None:
        """Say in the registry that a job which was suspended runs."""
        registry = JobRegistry.of(self.warehouse)
        try:
            known = registry.find(job.path)
            if known is not None and known.id == job.id and known.state is not JobState.RUNNING:
                registry.register(replace(known, state=JobState.RUNNING))
        except TableStoreError as error:
            _log.warning("job %s stays registered as it was: %s", job.name, error)

    def _take_over(self, job: Job) -> None:
        if self.deposed is None:
            return
        try:
            sink = opened_sink(self.session, job)
            if sink is not None:
                take_over(job, sink, self.deposed)
        except TableStoreError as error:
            _log.warning("the table of job %s cannot be taken over: %s", job.name, error)

    def _tell(self, submission: Submission, one: ListedJob | None) -> Iterator[ToldJob]:
        """What a job is told that runs, or begins."""
        is_running = one is not None and not one.status.is_over
        is_to_rest = submission.order.is_end or submission.order is Order.PAUSE
        if submission.order is Order.RUN or (is_to_rest and not is_running):
            return
        job = ListedJob.of(JobText(submission.listed)).job.id
        is_pause = submission.order is Order.PAUSE
        command = HostCommand.SUSPEND if is_pause else HostCommand(submission.order.value)
        yield ToldJob(job=job, command=command, reason=submission.reason)

    # -- views -------------------------------------------------------------------------------------

    def _due_views(self, state: HostState, now_ms: int) -> tuple[HostState, tuple[DueView, ...]]:
        views = ended(state.views, self.request.refreshed)
        try:
            observed = observed_jobs(JobRegistry.of(self.warehouse))
        except CorruptFileError as error:
            _log.warning("no view is refreshed: %s", error)
            return replace(state, views=views), ()
        turns, due = begun(views, scheduled_views(observed), now_ms)
        names = self._names() if due else {}
        statements = tuple(
            DueView(path=view.path, statement=f"REFRESH MATERIALIZED VIEW {names[view.path]}")
            for view in due
            if view.path in names
        )
        return replace(state, views=turns), statements

    def _names(self) -> dict[str, str]:
        """The names of all tables, quoted, by directory."""
        catalog = self.request.catalog.name
        return {
            self.warehouse.location(record): quoted_parts(
                (catalog, namespace, record.identifier.name)
            )
            for namespace in self.warehouse.namespaces()
            for record in self.warehouse.records(namespace, (RelationKind.TABLE,))
        }

    # -- status ------------------------------------------------------------------------------------

    def told(self, state: HostState, *, is_forced: bool) -> HostState:
        """Write the status of all jobs, if something has happened to them or it has become old."""
        jobs = {
            digest: HostedJob(listed=one.shared_text, number=state.handled.get(digest, 0))
            for digest, one in self.jobs.items()
        }
        # Time alone passes without a trace.
        lasting = [
            (replace(one, status=replace(one.status, taken_ms=0, reached_ms=0, noted_ms=0)).text)
            for one in self.jobs.values()
        ]
        numbers = sorted((digest, job.number) for digest, job in jobs.items())
        digest = hashlib.sha256(repr((lasting, numbers)).encode()).hexdigest()[:16]
        now_ms = self.warehouse.clock.now_ms()
        is_old = bool(jobs) and abs(now_ms - state.told_ms) >= _STATUS_MS
        if digest == state.told and not is_old and not is_forced:
            return state
        self._submitted.tell(jobs)
        return replace(state, told=digest, told_ms=now_ms)
