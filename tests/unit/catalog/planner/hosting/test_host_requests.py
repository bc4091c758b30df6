"""Goal: what a job runner does at each look, for every order and every end of a job.

Method: the looks of a program whose jobs the test moves on, over submissions on storage.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from unittest.mock import Mock

import pytest

from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.meta_service.submitted_jobs import Order, Submission, SubmittedJobs
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.hosting import host_requests
from table_store.catalog.planner.hosting.host_requests import host_jobs
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.hosting import (
    HostCommand,
    HostedWork,
    HostJobs,
    HostText,
    ToldJob,
)
from table_store.catalog.planner.protocol.jobs import Job, JobText, ListedJob
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.storage.file_store.model.stored_query import StoredQuery

_ME = identity_of()
NOTHING_YET = HostText("")


@dataclass
class Program:
    """A job runner's program: its jobs, and what it has been answered."""

    warehouse: Warehouse
    jobs: dict[str, ListedJob] = field(default_factory=dict)
    host: HostText = NOTHING_YET

    @property
    def catalog(self) -> CatalogReference:
        return CatalogReference(
            name="c", options={"warehouse": self.warehouse.root}, allowed_roots="/of/this/program"
        )

    @property
    def submitted(self) -> SubmittedJobs:
        return SubmittedJobs.of(self.warehouse)

    def look(self, *, is_leaving: bool = False) -> HostedWork:
        request = HostJobs(
            catalog=self.catalog,
            host=self.host,
            jobs=tuple(one.text for one in self.jobs.values()),
            refreshed=(),
            is_leaving=is_leaving,
        )
        work = host_jobs(PlannerSession("s", Mock()), request)
        self.host = work.host
        for started in work.start:
            self.jobs[started.id] = ListedJob.of(started.listed)
        return work

    def listed(self, name: str) -> ListedJob:
        """A job that somebody submits."""
        sink = RelationReference(
            catalog=replace(self.catalog, allowed_roots="/of/another"),
            namespace=("default",),
            name=name,
        )
        insert = StoredQuery(
            text=f"INSERT INTO {name} SELECT 1",
            current_catalog="c",
            current_namespace=("default",),
            settings={},
        )
        job = Job(
            id=f"id of {name}",
            name=name,
            commit_user=f"insert:{name}",
            sink=sink,
            sink_name=name,
            path=f"{self.warehouse.root}/{name}",
            insert=insert,
            options={},
            interval_ms=1_000,
            is_hosted=True,
        )
        status = JobStatus(state=JobState.SUBMITTED, started_ms=1, sources={"/root": 3})
        return ListedJob(job=job, status=status)

    def submit(self, name: str, order: Order = Order.RUN) -> ListedJob:
        listed = self.listed(name)
        self.submitted.submit(
            Submission(sink=listed.job.path, listed=listed.text, order=order, reason="because")
        )
        JobRegistry.of(self.warehouse).register(
            RegisteredJob(
                id=listed.job.id,
                name=name,
                commit_user=listed.job.commit_user,
                sink=listed.job.path,
                sources=frozenset({"/root"}),
            )
        )
        return listed

    def becomes(self, job: str, **changes: object) -> None:
        one = self.jobs[job]
        self.jobs[job] = replace(one, status=replace(one.status, **changes))  # type: ignore[arg-type]

    def told(self) -> dict[str, ListedJob]:
        """What others see, by name."""
        found = [ListedJob.of(JobText(one.listed)) for one in self.submitted.status().values()]
        return {one.job.name: one for one in found}


@pytest.fixture
def program(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(host_requests, "jvm_process", lambda: _ME)
    return Program(warehouse)


def test_a_submitted_job_begins_once(program: Program) -> None:
    listed = program.submit("t")
    work = program.look()
    assert work.is_host
    (started,) = work.start
    begun = ListedJob.of(started.listed)
    assert begun.job.sink.catalog == program.catalog, "what may be reached this program says"
    assert begun.job == replace(listed.job, sink=begun.job.sink)
    assert (begun.status.state, begun.status.sources) == (JobState.RUNNING, {"/root": 3})
    assert program.look().start == ()
    assert program.told()["t"].status.state is JobState.RUNNING
    program.submit("t")
    again = program.look()
    assert (again.start, again.tell) == ((), ()), "the same job again is nothing new"


@pytest.mark.parametrize("order", [Order.DRAIN, Order.STOP, Order.SUSPEND])
def test_the_end(program: Program, order: Order) -> None:
    job = program.submit("t").job.id
    program.look()
    program.submit("t", order)
    command = HostCommand(order.value)
    assert program.look().tell == (ToldJob(job=job, command=command, reason="because"),)
    assert program.look().tell == (), "it is told once"
    ended = JobState.SUSPENDED if order is Order.SUSPEND else JobState.STOPPED
    program.becomes(job, state=ended)
    program.look()
    program.becomes(job, started_ms=0)
    for _ in range(2):
        assert program.look().start == ()
    if order is not Order.SUSPEND:
        assert program.submitted.numbers() == {}
    assert program.told()["t"].status.state is ended


def test_nothing_that_gives_access_is_told(program: Program) -> None:
    """Other programs reach the warehouse by catalogs of their own."""
    listed = program.submit("t")
    program.look()
    program.look()
    (told,) = (one.listed for one in program.submitted.status().values())
    for text in (told, listed.shared_text):
        assert not [held for held in ("/of/this", "/of/another", '"warehouse"') if held in text]
    assert ListedJob.of(JobText(told)).within(program.catalog) == program.jobs[listed.job.id]


def test_the_end_of_a_job_that_nobody_hosts(program: Program) -> None:
    """Its runner was killed before it could read the order."""
    program.submit("t")
    program.submit("t", Order.STOP)
    work = program.look()
    assert (work.start, work.tell) == ((), ())
    assert program.submitted.numbers() == {}
    assert JobRegistry.of(program.warehouse).all() == ()


def test_orders_to_a_job_that_begins(program: Program) -> None:
    """A flush of a job whose runner has just come."""
    listed = program.submit("t", Order.FLUSH)
    work = program.look()
    assert [one.id for one in work.start] == [listed.job.id]
    assert [(one.job, one.command) for one in work.tell] == [(listed.job.id, HostCommand.FLUSH)]


def test_a_pause(program: Program) -> None:
    """The job rests, also in the next runner, until it is to run; the registry tells how it is."""
    job = program.submit("t").job.id
    program.look()
    program.submit("t", Order.PAUSE)
    told = ToldJob(job=job, command=HostCommand.SUSPEND, reason="because")
    assert program.look().tell == (told,)
    program.becomes(job, state=JobState.SUSPENDED)
    registry = JobRegistry.of(program.warehouse)
    (known,) = registry.all()
    registry.register(replace(known, state=JobState.SUSPENDED))
    assert (program.look().start, program.told()["t"].status.state) == ((), JobState.SUSPENDED)
    program.look(is_leaving=True)
    after = Program(program.warehouse)
    for _ in range(2):
        work = after.look()
        assert (work.is_host, work.start, work.tell) == (True, (), ())
    after.submitted.submit(
        Submission(sink=after.listed("t").job.path, listed=after.listed("t").text)
    )
    assert [one.id for one in after.look().start] == [job]
    assert [one.state for one in registry.all()] == [JobState.RUNNING]


def test_failures(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time a job is suspended it waits twice as long; the same INSERT begins it at once."""
    now_ms = 1_000_000
    monkeypatch.setattr(program.warehouse, "clock", Mock(now_ms=lambda: now_ms))
    monkeypatch.setattr(CatalogAccess, "of", lambda *_: Mock(warehouse=program.warehouse))
    job = program.submit("t").job.id
    program.look()
    for wait_ms in (5_000, 10_000, 20_000):
        program.becomes(job, state=JobState.SUSPENDED, error="division by zero")
        assert program.look().start == ()
        now_ms += wait_ms - 1
        assert program.look().start == ()
        now_ms += 1
        (started,) = program.look().start
        assert ListedJob.of(started.listed).status.last_error == "division by zero"
    program.becomes(job, state=JobState.SUSPENDED, error="division by zero")
    assert program.look().start == ()
    program.submit("t")
    assert len(program.look().start) == 1


def test_it_stands_by(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves its jobs where another one has the lease."""
    job = program.submit("t").job.id
    program.look()
    other = Program(program.warehouse)
    monkeypatch.setattr(host_requests, "jvm_process", lambda: identity_of(1))
    assert not other.look().is_host
    assert other.jobs == {}
    monkeypatch.setattr("time.monotonic_ns", lambda: 10**18)
    assert other.look().is_host
    assert job in other.jobs
    monkeypatch.setattr(host_requests, "jvm_process", lambda: _ME)
    deposed = program.look()
    assert not deposed.is_host
    assert [(one.job, one.command) for one in deposed.tell] == [(job, HostCommand.LEAVE)]


def test_it_leaves(program: Program) -> None:
    """And says last how its jobs are; the next one begins them."""
    job = program.submit("t").job.id
    program.look()
    program.becomes(job, state=JobState.SUBMITTED)
    program.look(is_leaving=True)
    assert program.told()["t"].status.state is JobState.SUBMITTED
    after = Program(program.warehouse)
    assert [one.id for one in after.look().start] == [job]


def test_a_damaged_submission_stops_no_other(program: Program) -> None:
    program.submit("bad")
    good = program.submit("good")
    digest = Submission(sink=program.listed("bad").job.path, listed="").digest
    path = f"{program.warehouse.root}/_runner/jobs/{digest}-{1:012d}"
    program.warehouse.file_io.write_bytes(path, b"{}")
    assert [one.id for one in program.look().start] == [good.job.id]
