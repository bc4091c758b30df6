"""Goal: a root at rest holds the others of its group back for as long as its option says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.catalog.jobs.ledger import Head
from table_store.catalog.meta_service.event_time import EventTime
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology

IDLE_MS = 60_000


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_root_at_rest(tmp_path: Path, *, is_empty: bool) -> None:
    root = str(tmp_path / "warehouse")
    topology = WrittenTopology(Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds()))
    for name in ("resting", "ahead"):
        table = TableDescriptor.for_managed().column("at", "TIMESTAMP_NTZ").watermark("at", "at")
        table = table.option("scan.watermark.alignment.group", "g")
        table = table.option("scan.watermark.idle-timeout", f"{IDLE_MS} ms")
        topology.tables[name] = connect(root).create(name, table).storage
    topology.register("sink", "resting", "ahead")
    resting, ahead = topology.table("resting"), topology.table("ahead")
    for hour in (1, 2):
        ahead.append(at(hour))
    if not is_empty:
        resting.append(at(1))
    latest = resting.latest_snapshot()
    since_ms = resting.created_ms if latest is None else latest.time_ms
    taken = {since: taken_of(ahead, topology, since_ms + since) for since in (IDLE_MS - 1, IDLE_MS)}
    assert taken == {IDLE_MS - 1: 1, IDLE_MS: 2}


def at(hour: int) -> pa.Table:
    return pa.table({"at": pa.array([hour * 3_600_000_000], pa.timestamp("us"))})


def taken_of(table: FileStoreTable, topology: WrittenTopology, now_ms: int) -> int:
    by_path = {one.path: one for one in topology.tables.values()}

    def look(path: str) -> tuple[FileStoreTable, Head]:
        return by_path[path], Head.of(by_path[path])

    return EventTime(topology.warehouse, now_ms, look).taken(table, Head.of(table)).snapshot
