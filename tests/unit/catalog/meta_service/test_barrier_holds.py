"""Goal: what is read at the last barrier of all tables stays, however slow one branch is."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store.catalog.meta_service.barrier_holds import HOLD, BarrierHolds, hold_barriers
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from tests.fakes.counting_ids import CountingIds
from tests.fakes.manual_clock import ManualClock
from tests.fakes.written_topology import WrittenTopology


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def topology(tmp_path: Path, clock: ManualClock) -> WrittenTopology:
    """`fast` has gone on for five barriers, `slow` has not."""
    found = WrittenTopology(
        Warehouse(LocalFileIO(str(tmp_path)), str(tmp_path), clock, CountingIds())
    )
    at = found.write("root")
    found.cut(1, "root")
    for sink in ("fast", "slow"):
        found.epoch(sink, 1, root=at)
    for barrier in range(2, 7):
        at = found.write("root")
        found.cut(barrier, "root")
        found.epoch("fast", barrier, root=at)
    return found


def pinned(topology: WrittenTopology) -> dict[str, int]:
    """The rows of each table at the last barrier, by its name, which are as many as snapshots."""
    paths = {topology.table(name).path: name for name in ("root", "fast", "slow")}
    reads = ConsistentReads.of(topology.warehouse)
    (found,) = reads.pinned(paths, Consistency.REPEATABLE_READ)
    return {
        paths[path]: topology.table(paths[path]).scan(version=at).to_arrow().num_rows
        for path, at in found.snapshots.items()
    }


def expire(topology: WrittenTopology) -> None:
    for name in ("root", "fast", "slow"):
        table = topology.table(name)
        needed = table.consumers.needed_from_id()
        table.expire_snapshots(
            ExpireOptions(older_than_ms=1 << 50, retain_min=1, retain_max=1, needed_from_id=needed)
        )


def test_the_last_common_barrier_stays(topology: WrittenTopology) -> None:
    hold_barriers(topology.warehouse)
    expire(topology)
    assert pinned(topology) == {"root": 1, "fast": 1, "slow": 1}
    topology.epoch("slow", 5, root=5)
    hold_barriers(topology.warehouse)
    expire(topology)
    assert pinned(topology) == {"root": 5, "fast": 5, "slow": 2}
    (hold,) = [one for one in topology.table("fast").consumers.all() if one.id == HOLD]
    assert hold.needed_from_id == 5


def test_without_it_the_barrier_is_lost(topology: WrittenTopology) -> None:
    expire(topology)
    with pytest.raises(SnapshotNotFoundError):
        pinned(topology)


def test_it_is_done_once_a_minute_and_for_new_tables(
    topology: WrittenTopology, clock: ManualClock
) -> None:
    holds = BarrierHolds()
    fast, slow = topology.table("fast"), topology.table("slow")

    def is_done(*tables: str) -> bool:
        for table in (fast, slow):
            table.consumers.remove(HOLD)
        holds.renew(topology.warehouse, tables)
        return bool(fast.consumers.known())

    assert is_done(fast.path)
    assert not is_done(fast.path)
    assert is_done(fast.path, slow.path)
    assert not is_done(slow.path)
    clock.sleep_ms(60_000)
    assert is_done(slow.path)
