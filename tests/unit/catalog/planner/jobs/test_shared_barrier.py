"""Goal: a view over the tables of jobs takes a barrier at which they are all valid."""

from __future__ import annotations

import pytest

from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.planner.jobs.shared_barrier import shared_barrier
from tests.fakes.written_topology import WrittenTopology


@pytest.fixture
def topology(warehouse: Warehouse) -> WrittenTopology:
    """`a` and `b` follow `r`; both have taken barrier 10, and `a` alone is at 20 already."""
    made = WrittenTopology(warehouse)
    made.write("r")
    first = made.cut(10, "r")
    made.epoch("a", first, r=1)
    made.epoch("b", first, r=1)
    made.write("r")
    made.epoch("a", made.cut(20, "r"), r=2)
    made.write("alone")
    return made


def taken(topology: WrittenTopology, *sources: str, after: int = 0) -> tuple[int, list[int]] | None:
    """The barrier, and the snapshots of the sources there."""
    paths = [topology.table(name).path for name in sources]
    moment = shared_barrier(topology.warehouse, paths, after)
    return None if moment is None else (moment.number, [moment.snapshots[p] for p in paths])


def test_jobs_on_their_way(topology: WrittenTopology) -> None:
    assert taken(topology, "a") == (20, [2])
    assert taken(topology, "a", "b") == (10, [1, 1])
    topology.epoch("b", 20, r=2)
    assert taken(topology, "a", "b") == (20, [2, 2])


def test_what_the_jobs_follow_is_read_with_them(topology: WrittenTopology) -> None:
    assert taken(topology, "r", "b") == (10, [1, 1])
    topology.write("r")
    assert taken(topology, "r", "a") == (20, [2, 2])


def test_a_view_does_not_go_back(topology: WrittenTopology) -> None:
    assert taken(topology, "a", "b", after=10) == (10, [1, 1])
    assert taken(topology, "a", "b", after=11) is None


def test_tables_of_no_job(topology: WrittenTopology) -> None:
    """What they are now counts: no barrier of the jobs has it, unless one has looked at it."""
    assert taken(topology, "alone") is None
    assert taken(topology, "r") is None
    assert taken(topology, "a", "alone") is None
    topology.cut(30, "r", "alone")
    assert taken(topology, "a", "alone") == (30, [2, 1])
    topology.write("alone")
    assert taken(topology, "a", "alone") is None


def test_what_others_have_written_is_seen(topology: WrittenTopology) -> None:
    assert taken(topology, "a") == (20, [2])
    topology.write("a")
    assert taken(topology, "a") is None
