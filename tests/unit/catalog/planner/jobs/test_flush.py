"""Goal: jobs of a runner that are flushed together can be read together afterwards.

A runner that sees the orders one after the other takes each job to a barrier of its own. The tables
are real ones, the runner is played: in the first round it does so, and from then on it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.submitted_jobs import Order, Submission
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.jobs import flush
from table_store.catalog.planner.jobs.hosted_jobs import AskedJob, Submitter
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import Job, ListedJob
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology

JOBS = ("one", "two")


@dataclass
class PlayedRunner:
    """Brings a job to a barrier when somebody waits for it."""

    topology: WrittenTopology
    separate_rounds: int
    orders: list[str] = field(default_factory=list)

    @property
    def warehouse(self) -> Warehouse:
        return self.topology.warehouse

    def asked(self, listed: ListedJob, order: Order) -> AskedJob:
        self.orders.append(listed.job.name)
        now_ms = self.warehouse.clock.now_ms()
        submission = Submission(sink=listed.job.path, listed="", order=order)
        return AskedJob(submission=submission, begin_ms=now_ms)

    def await_up_to(self, listed: ListedJob, asked: AskedJob) -> ListedJob:
        is_separate = len(self.orders) <= self.separate_rounds * len(JOBS)
        if is_separate or listed.job.name == JOBS[0]:
            self.topology.write("r")
            self.barrier = self.topology.cut(asked.begin_ms + 1, "r")
        self.topology.epoch(listed.job.name, self.barrier, r=self.topology.head("r"))
        return replace(listed, status=replace(listed.status, barrier=self.barrier))


@pytest.mark.parametrize("separate_rounds", [0, 1, 3])
def test_all_are_asked_until_they_have_one_barrier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separate_rounds: int
) -> None:
    root = str(tmp_path / "warehouse")
    topology = WrittenTopology(Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds()))
    topology.write("r")
    for name in JOBS:
        topology.register(name, "r")
    runner = PlayedRunner(topology, separate_rounds)
    monkeypatch.setattr(Submitter, "of", lambda session, listed: runner)
    begin_ms = topology.warehouse.clock.now_ms()
    flush._follow_in_runners(no_session(), [listed_job(topology, name) for name in JOBS])
    assert len(runner.orders) == (separate_rounds + 1) * len(JOBS)
    tables = [topology.table(name).path for name in JOBS]
    (together,) = ConsistentReads.of(topology.warehouse).pinned(tables, Consistency.READ_COMMITTED)
    assert together.barrier >= begin_ms


def no_session() -> PlannerSession:
    def attach() -> None:
        raise AssertionError("nothing is asked of Spark")

    return PlannerSession("none", attach)  # type: ignore[arg-type]


def listed_job(topology: WrittenTopology, name: str) -> ListedJob:
    catalog = CatalogReference(name="c", options={}, allowed_roots="")
    job = Job(
        id=name,
        name=name,
        commit_user=name,
        sink=RelationReference(catalog=catalog, namespace=("default",), name=name),
        sink_name=name,
        path=topology.table(name).path,
        insert=StoredQuery(
            text="INSERT", current_catalog="c", current_namespace=("default",), settings={}
        ),
        options={},
        interval_ms=1000,
        is_hosted=True,
    )
    return ListedJob(job=job, status=JobStatus(started_ms=0))
