"""Goal: what cannot be revised is refused with the reason, before anything is changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.jobs.revision_errors import RevisionError
from table_store.catalog.meta_service.revision import RevisionRequest
from table_store.catalog.meta_service.revision_plan import (
    RevisionPlan,
    RevisionPlanner,
    Treatment,
    tables_of,
)
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.stored_query import StoredQuery
from tests.fakes.counting_ids import CountingIds
from tests.fakes.manual_clock import ManualClock
from tests.fakes.written_topology import WrittenTopology

INSERT = StoredQuery(
    text="INSERT INTO a SELECT n FROM root",
    current_catalog="c",
    current_namespace=("default",),
    settings={},
)
DELETE = RevisionRequest.of(None, "DELETE FROM t", None)


@pytest.fixture
def topology(tmp_path: Path) -> WrittenTopology:
    """`b` stands on `a` and `root`, `a` on `root`."""
    folder = str(tmp_path)
    warehouse = Warehouse(LocalFileIO(folder), folder, ManualClock(), CountingIds())
    found = WrittenTopology(warehouse)
    at = found.write("root")
    found.cut(10, "root")
    found.epoch("a", 10, root=at)
    found.epoch("b", 10, root=at, a=1)
    for sink in ("a", "b"):
        known(found, sink)
    return found


def known(topology: WrittenTopology, sink: str, *, starts_late: bool = False) -> None:
    """Register the statement of a job."""
    job = topology.registry.find(topology.table(sink).path)
    assert job is not None
    topology.registry.register(replace(job, insert=INSERT, starts_late=starts_late))


def plan(
    topology: WrittenTopology, table: str, request: RevisionRequest, *replaced: str
) -> RevisionPlan:
    named = [one.path for one in topology.tables.values() if one.path not in replaced]
    source = topology.table(table)
    return RevisionPlanner(topology.warehouse, source, table, request, named).plan()


def test_jobs_come_behind_those_that_they_read(topology: WrittenTopology) -> None:
    found = plan(topology, "root", DELETE)
    assert [step.one.job.sink for step in found.steps] == [
        topology.table(name).path for name in ("a", "b")
    ]
    assert {step.treatment for step in found.steps} == {Treatment.FOLLOW}
    assert tables_of("/t", found.steps) == {"/t", *(step.one.job.sink for step in found.steps)}
    only_a = plan(topology, "root", DELETE, topology.table("b").path)
    assert [step.one.job.name for step in only_a.steps] == ["a"]
    full = plan(topology, "root", RevisionRequest.of(None, None, "full"))
    assert {step.treatment for step in full.steps} == {Treatment.COMPUTE}
    assert [step.rows for step in full.steps] == [1, 2]


def test_the_table_of_a_job_goes_back_with_it(topology: WrittenTopology) -> None:
    found = plan(topology, "a", RevisionRequest.of(10, None, None))
    assert found.rollback is None
    assert [step.treatment for step in found.steps] == [Treatment.SET_BACK, Treatment.FOLLOW]


def test_what_is_refused(topology: WrittenTopology) -> None:
    def refuses(table: str, request: RevisionRequest, reason: str) -> None:
        with pytest.raises(RevisionError, match=reason):
            plan(topology, table, request)

    refuses("b", DELETE, "no job that goes on stands on it")
    refuses("root", RevisionRequest.of(11, None, None), "there is no barrier 11")
    topology.cut(20)
    topology.write("new")
    topology.register("c", "new")
    known(topology, "c")
    refuses("new", RevisionRequest.of(20, None, None), "nobody looked at it")
    known(topology, "b", starts_late=True)
    refuses("root", RevisionRequest.of(None, None, "full"), "leaves out rows")
    topology.register("a", "root")
    refuses("root", DELETE, "holds a secret")
