"""Jobs that a job runner hosts, as other programs see them and tell them what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from table_store.catalog.jobs.job_errors import (
    JobBehindError,
    NoRunnerError,
    TransactionOpenError,
)
from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.meta_service.runner_lease import RunnerLease
from table_store.catalog.meta_service.submitted_jobs import (
    HostedJob,
    Order,
    Submission,
    SubmittedJobs,
)
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.epochs.registration import forget_job
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.catalog_of import managed_catalogs
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import JobText, ListedJob
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.storage.file_store.model.errors import CommitConflictError, TableMovedError
from table_store.storage.kernel.errors import InvalidOptionError

HOST: Final = "table-store.jobs"
_CATALOG_KEY: Final = "jobs"
_SERVICE: Final = "uri"
_LOOK_MS: Final = 250
_PASSING: Final = tuple(
    f"[{error.condition}]" for error in (CommitConflictError, TableMovedError, TransactionOpenError)
)


class Host(Enum):
    """Where the job of a streaming INSERT runs; AUTO is a job runner if there is one."""

    AUTO = "auto"
    DRIVER = "driver"
    RUNNER = "runner"

    @classmethod
    def of(cls, text: str, *, key: str) -> Host:
        """Return the host of a name, in any letter case.

        Raises:
            InvalidOptionError: there is none of this name; `key` says where it was set.
        """
        for host in cls:
            if host.value == text.strip().lower():
                return host
        names = ", ".join(f"'{host.value}'" for host in cls)
        raise InvalidOptionError(key=key, value=text, reason=f"use one of {names}")


def host_of(session: PlannerSession, catalog: CatalogReference) -> Host:
    """Where a session wants jobs of a catalog's tables: its own setting, else the catalog's.

    A catalog with the address of a MetaService has a job runner.

    Raises:
        InvalidOptionError: there is no such host.
    """
    text = session.conf(HOST)
    if text is not None:
        return Host.of(text, key=HOST)
    if _CATALOG_KEY in catalog.options:
        where = f"spark.sql.catalog.{catalog.name}.{_CATALOG_KEY}"
        return Host.of(catalog.options[_CATALOG_KEY], key=where)
    return Host.RUNNER if _SERVICE in catalog.options else Host.AUTO


def check_setting(key: str, value: str) -> None:
    """Check what a session sets, if it says where jobs run.

    Raises:
        InvalidOptionError: the key does not take the value.
    """
    if key == HOST:
        Host.of(value, key=key)


def has_runner(warehouse: Warehouse) -> bool:
    """Whether a job runner hosts the jobs of a warehouse now."""
    return RunnerLease.of(warehouse).holder() is not None


def hosted_jobs(session: PlannerSession) -> list[ListedJob]:
    """The jobs that job runners have, or are to have, in the session's catalogs."""
    found: dict[str, list[ListedJob]] = {}
    for catalog in managed_catalogs(session):
        warehouse = CatalogAccess.of(session, catalog).warehouse
        if warehouse.root not in found:
            found[warehouse.root] = [one.within(catalog) for one in _listed(warehouse)]
    return [one for listed in found.values() for one in listed]


def _listed(warehouse: Warehouse) -> Iterator[ListedJob]:
    jobs = SubmittedJobs.of(warehouse)
    numbers, known = jobs.numbers(), dict(jobs.status())
    is_alone = bool(numbers or known) and not has_runner(warehouse)
    for digest, number in numbers.items():
        told = known.pop(digest, None)
        submission = jobs.get(digest, number)
        if submission is not None:
            yield _shown(submission, told, is_alone=is_alone)
    # What is no longer submitted has ended.
    for ended in known.values():
        one = ListedJob.of(JobText(ended.listed))
        if one.status.is_over:
            yield one


def _shown(submission: Submission, told: HostedJob | None, *, is_alone: bool) -> ListedJob:
    wanted = ListedJob.of(JobText(submission.listed))
    if submission.order is Order.PAUSE:
        paused = replace(wanted.status, error=submission.reason)
        wanted = replace(wanted, status=paused.ended(JobState.SUSPENDED))
    if told is None:
        return wanted
    known = ListedJob.of(JobText(told.listed))
    if known.job.id != wanted.job.id:
        return wanted
    if is_alone and not known.status.is_over:
        return replace(known, status=known.status.ended(JobState.SUBMITTED))
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJob:
    """What a runner was asked for, and when, in ms since 1970."""

    submission: Submission
    begin_ms: int


@dataclass(frozen=True, slots=True)
class Submitter:
    """Tells the job runner of a warehouse what a session wants."""

    session: PlannerSession
    warehouse: Warehouse

    @classmethod
    def of(cls, session: PlannerSession, listed: ListedJob) -> Submitter:
        """Return the one for a job."""
        return cls(session, CatalogAccess.of(session, listed.job.sink.catalog).warehouse)

    @property
    def _jobs(self) -> SubmittedJobs:
        return SubmittedJobs.of(self.warehouse)

    def submit(
        self, listed: ListedJob, order: Order = Order.RUN, reason: str | None = None
    ) -> Submission:
        """Write down what is wanted of a job."""
        return self._jobs.submit(
            Submission(sink=listed.job.path, listed=listed.shared_text, order=order, reason=reason)
        )

    def end(self, listed: ListedJob, order: Order, reason: str | None = None) -> ListedJob:
        """End a job, and return how it is when it has ended.

        Where no runner hosts it, it ends here.

        Raises:
            NoRunnerError: it is to be drained, and no runner hosts it.
        """
        if not has_runner(self.warehouse):
            if order is Order.DRAIN:
                raise NoRunnerError(job=listed.job.name, wanted="brings its table up to now")
            return self._ended_here(listed, order, reason)
        submission = self.submit(listed, order, reason)
        while True:
            found = self._told(listed, submission)
            if found is not None and found.status.is_over:
                return self._without_failure(found, order)
            is_known = self._jobs.numbers().get(submission.digest, 0) >= submission.number
            if not is_known or not has_runner(self.warehouse):
                return self._ended_here(listed, order, reason)
            self._pause()

    @staticmethod
    def _without_failure(found: ListedJob, order: Order) -> ListedJob:
        """A job that failures had suspended already is stopped, too."""
        if order is Order.SUSPEND or found.status.state is not JobState.SUSPENDED:
            return found
        return replace(found, status=found.status.ended(JobState.STOPPED))

    def _ended_here(self, listed: ListedJob, order: Order, reason: str | None) -> ListedJob:
        state = JobState.SUSPENDED if order is Order.SUSPEND else JobState.STOPPED
        done = replace(listed, status=replace(listed.status, error=reason).ended(state))
        numbers = self._jobs.numbers()
        submission = Submission(sink=listed.job.path, listed=done.text)
        self._jobs.remove(replace(submission, number=numbers.get(submission.digest, 0)))
        if order is not Order.SUSPEND:
            forget_job(self.session, listed.job)
        return done

    def ask(self, listed: ListedJob, order: Order) -> ListedJob:
        """Return a job when its runner has done something that does not end it.

        Raises:
            NoRunnerError: no runner hosts it.
            JobBehindError: it has ended meanwhile, or fails.
        """
        return self.await_up_to(listed, self.asked(listed, order))

    def asked(self, listed: ListedJob, order: Order) -> AskedJob:
        """Ask the runner of a job for that, and do not wait.

        Raises:
            NoRunnerError: no runner hosts it.
        """
        self._require_runner(listed)
        begin_ms = self.warehouse.clock.now_ms()
        return AskedJob(submission=self.submit(listed, order), begin_ms=begin_ms)

    def await_up_to(self, listed: ListedJob, asked: AskedJob) -> ListedJob:
        """Return a job when its runner has done what was asked; fails as `ask`."""
        while True:
            found = self._told(listed, asked.submission)
            if found is not None and found.status.reached_ms >= asked.begin_ms:
                return found
            if found is not None and (found.status.is_over or fails(found.status)):
                raise behind(found, found.status.error or "it has ended")
            self._require_runner(listed)
            self._pause()

    def _require_runner(self, listed: ListedJob) -> None:
        if not has_runner(self.warehouse):
            raise NoRunnerError(job=listed.job.name, wanted="brings its table up to now")

    def await_over(self, listed: ListedJob) -> ListedJob:
        """Return a job when it has ended."""
        digest = Submission(sink=listed.job.path, listed="").digest
        while True:
            told = self._jobs.status().get(digest)
            found = None if told is None else ListedJob.of(JobText(told.listed))
            is_over = found is not None and found.status.is_over and found.job.id == listed.job.id
            if found is not None and is_over and digest not in self._jobs.numbers():
                return found
            self._pause()

    def _told(self, listed: ListedJob, submission: Submission) -> ListedJob | None:
        """The job, if its runner has read the submission."""
        told = self._jobs.status().get(submission.digest)
        if told is None or told.number < submission.number:
            return None
        return ListedJob.of(JobText(told.listed)).within(listed.job.sink.catalog)

    def _pause(self) -> None:
        """Wait on the thread of the statement, which may be interrupted."""
        self.session.bridge.Jobs.pause(_LOOK_MS)


def fails(status: JobStatus) -> bool:
    """Whether the last epoch of a job failed for a reason that does not pass by itself."""
    return bool(status.failures) and not is_passing(status)


def is_passing(status: JobStatus) -> bool:
    """Whether what a job says of its last epoch passes by itself.

    Somebody else has written its table meanwhile, or a producer is within a transaction.
    """
    return (status.error or "").startswith(_PASSING)


def behind(one: ListedJob, reason: str) -> JobBehindError:
    """The error of a job that does not get to where it is to be."""
    return JobBehindError(
        table=one.job.sink_name, job=one.job.name, state=one.status.state.value, reason=reason
    )
