"""Goal: a statement reads the last barrier at which its tables, or all connected ones, are valid.

Method: two jobs over one root, whose epochs are written as jobs write them.
"""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.job_errors import NoCommonBarrierError
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.delay import delays, heads_of_roots
from table_store.catalog.meta_service.observed_job import observed_jobs
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.kernel.errors import InvalidOptionError
from tests.fakes.written_topology import WrittenTopology

READ = Consistency.READ_COMMITTED
REPEAT = Consistency.REPEATABLE_READ


class Topology(WrittenTopology):
    """Reads what it has written."""

    def read(
        self, consistency: Consistency, *names: str, barrier: int | None = None
    ) -> dict[str, int]:
        """The snapshots that are read, by name."""
        paths = {self.table(name).path: name for name in names}
        found = ConsistentReads.of(self.warehouse).pinned(paths, consistency, barrier=barrier)
        return {paths[p]: at for pinned in found for p, at in pinned.snapshots.items()}


@pytest.fixture
def topology(warehouse: Warehouse) -> Topology:
    """`a` and `b` follow `r`; both have taken barrier 10, and `a` alone 20."""
    made = Topology(warehouse)
    made.write("r")
    first = made.cut(10, "r")
    made.epoch("a", first, r=1)
    made.epoch("b", first, r=1)
    made.write("r")
    made.epoch("a", made.cut(20, "r"), r=2)
    return made


def test_all_or_those_of_the_statement(topology: Topology) -> None:
    assert topology.read(REPEAT, "r", "a", "b") == {"r": 1, "a": 1, "b": 1}
    assert topology.read(REPEAT, "a") == {"a": 1}
    assert topology.read(READ, "a", "r") == {"a": 2, "r": 2}
    assert topology.read(READ, "a", "b") == {"a": 1, "b": 1}
    topology.epoch("b", 20, r=2)
    assert topology.read(REPEAT, "a", "b", "r") == {"r": 2, "a": 2, "b": 2}
    assert topology.read(REPEAT, "a", "b", barrier=10) == {"a": 1, "b": 1}


def test_quiet_tables_are_valid_at_later_barriers(topology: Topology) -> None:
    topology.write("s")
    topology.epoch("c", topology.cut(30, "s"), s=1)
    topology.epoch("b", 30, r=2)
    assert topology.read(REPEAT, "a", "b", "c", "s") == {"a": 2, "b": 2, "c": 1, "s": 1}


def test_compactions_change_nothing(topology: Topology) -> None:
    topology.epoch("b", 20, r=2)
    topology.table("r").compact()
    assert topology.head("r") == 3
    topology.epoch("b", topology.cut(30, "r"), r=3)
    assert topology.read(REPEAT, "a", "b", "r") == {"a": 2, "b": 3, "r": 3}


def test_tables_of_no_job_are_read_as_they_are(topology: Topology) -> None:
    topology.write("other")
    assert topology.read(REPEAT, "other") == {}
    assert topology.read(REPEAT, "other", "a") == {"a": 1}


def test_a_job_that_begins_holds_back_its_own_readers_alone(topology: Topology) -> None:
    topology.write("r")
    topology.epoch("late", topology.cut(30, "r"), r=3)
    assert topology.read(REPEAT, "a", "b") == {"a": 1, "b": 1}
    with pytest.raises(NoCommonBarrierError, match=r"default\.db/a"):
        topology.read(REPEAT, "a", "late")


def test_a_job_that_is_forgotten_holds_back_nobody(topology: Topology) -> None:
    topology.registry.remove(topology.table("b").path)
    assert topology.read(REPEAT, "a", "r", "b") == {"a": 2, "r": 2}


def test_a_table_that_is_gone_holds_back_nobody(topology: Topology) -> None:
    topology.warehouse.file_io.delete(topology.table("b").path, recursive=True)
    assert topology.read(REPEAT, "a", "r") == {"a": 2, "r": 2}


def test_an_unknown_barrier(topology: Topology) -> None:
    with pytest.raises(NoCommonBarrierError, match=r"barrier 15.*not kept"):
        topology.read(REPEAT, "a", barrier=15)
    with pytest.raises(NoCommonBarrierError, match="b are behind"):
        topology.read(REPEAT, "a", "b", barrier=20)


def test_delays(topology: Topology) -> None:
    jobs = observed_jobs(topology.registry)
    told = delays(jobs, topology.ledger, heads_of_roots(jobs), 10**15)
    found = {delay.job.job.name: delay for delay in told}
    assert (found["a"].delay_ms, found["a"].barrier) == (0, 20)
    changed = topology.table("r").latest_snapshot()
    assert changed is not None
    assert found["b"].barrier == 10
    assert found["b"].delay_ms == 10**15 - changed.time_ms
    assert [one.job.name for one in found["b"].bottlenecks] == ["b"]


def test_a_delay_whose_first_change_has_expired_counts_from_the_barrier(topology: Topology) -> None:
    topology.write("r")
    topology.table("r").expire_snapshots(ExpireOptions(older_than_ms=2**62, retain_min=1))
    jobs = observed_jobs(topology.registry)
    told = delays(jobs, topology.ledger, heads_of_roots(jobs), 10**15)
    assert {one.delay_ms for one in told if one.job.job.name == "b"} == {10**15 - 10}


def test_a_table_is_late_from_when_another_one_takes_the_place_of_its_root(
    topology: Topology,
) -> None:
    """The directory of the old one stays as it was."""
    topology.replace("r")
    jobs = observed_jobs(topology.registry)
    told = delays(jobs, topology.ledger, heads_of_roots(jobs), 10**15)
    assert {one.job.job.name: one.delay_ms for one in told} == {"a": 10**15 - 20, "b": 10**15 - 10}


def test_quiet_tables_are_at_the_last_barrier(topology: Topology) -> None:
    topology.write("s")
    topology.epoch("c", topology.cut(30, "s"), s=1)
    jobs = observed_jobs(topology.registry)
    told = delays(jobs, topology.ledger, heads_of_roots(jobs), 10**15)
    assert {one.job.job.name: one.barrier for one in told} == {"a": 30, "b": 10, "c": 30}


@pytest.mark.parametrize("text", ["RepeatableRead", "repeatable-read", " REPEATABLE_READ "])
def test_names(text: str) -> None:
    assert Consistency.of(text, key="k") is REPEAT


def test_no_name() -> None:
    with pytest.raises(InvalidOptionError, match="ReadUncommitted"):
        Consistency.of("serializable", key="k")
