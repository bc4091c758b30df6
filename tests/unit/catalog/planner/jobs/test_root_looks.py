"""Goal: a barrier looks at the tables for which the names of sources stand then."""

from __future__ import annotations

from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.jobs.root_looks import RootLooks
from tests.fakes.written_topology import WrittenTopology


def test_a_replaced_source(warehouse: Warehouse) -> None:
    """One look sees one directory; what was not found by its name stays that."""
    topology = WrittenTopology(warehouse)
    old, past = topology.table("r").path, topology.table("past").path
    status = JobStatus(started_ms=1, sources={old: 1, past: 1}, names={old: topology.name("r")})
    before = RootLooks(warehouse, now_ms=1, interval_ms=1)
    assert before.sources(status) == (old, past)
    new = topology.replace("r").path
    topology.replace("past")
    assert before.sources(status) == (old, past)
    assert RootLooks(warehouse, now_ms=2, interval_ms=1).sources(status) == (new, past)
