"""Goal: of roots in one group a barrier takes what is not ahead in event time, and all that is not.

Method: hypothesis writes rows of random times to real tables, in two groups and in none, some of
which hang together by a job, and cuts barriers. The oracle knows the times of all rows, and says
which snapshot each barrier has to have.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from table_store import TableDescriptor, connect
from table_store.catalog.jobs.ledger import Head, Ledger
from table_store.catalog.meta_service.event_time import taken_at_event_time
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology

GROUPS = {"a": "g", "b": "g", "c": "g", "d": "other", "e": None}
DRIFT_S = {"a": 0, "b": 10, "c": 30, "d": 0, "e": 0}
Act: TypeAlias = tuple[str, int] | None
"""Seconds of a row that is written to a table; None: a barrier is cut."""

WRITE = st.tuples(st.sampled_from("abcde"), st.integers(0, 60))
ACTS = st.lists(st.none() | WRITE | WRITE, max_size=25)


def made(root: str, name: str) -> FileStoreTable:
    table = TableDescriptor.for_managed().column("at", "TIMESTAMP_NTZ").watermark("at", "at")
    if GROUPS[name] is not None:
        table = table.option("scan.watermark.alignment.group", str(GROUPS[name])).option(
            "scan.watermark.alignment.max-drift", f"{DRIFT_S[name]} s"
        )
    return connect(root).create(name, table).storage


@example(acts=[("a", 0), ("b", 0), ("b", 10), ("b", 11), None], hanging="ab")
@given(acts=ACTS, hanging=st.sampled_from(["abcde", "ab", "bcd", "abe", "c", ""]))
def test_a_barrier_takes_what_is_not_ahead(acts: list[Act], hanging: str) -> None:
    with TemporaryDirectory() as folder:
        root = str(Path(folder) / "warehouse")
        topology = WrittenTopology(Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds()))
        tables = {name: made(root, name) for name in GROUPS}
        topology.tables |= tables
        if hanging:
            topology.register("sink", *hanging)
        greatest: dict[str, list[int]] = {name: [] for name in GROUPS}
        taken = dict.fromkeys(GROUPS, 0)
        for act in acts:
            if act is not None:
                name, second = act
                at = pa.array([second * 1_000_000], pa.timestamp("us"))
                tables[name].append(pa.table({"at": at}))
                greatest[name].append(max([second, *greatest[name][-1:]]))
                continue
            heads = {table.path: Head.of(table) for table in tables.values()}
            found = taken_at_event_time(topology.warehouse, heads)
            Ledger.of(topology.warehouse).cut(1, lambda found=found: found)  # type: ignore[misc]
            taken = {name: expected(name, greatest, hanging, taken[name]) for name in GROUPS}
            assert {name: found[t.path].snapshot for name, t in tables.items()} == taken


def expected(name: str, greatest: dict[str, list[int]], hanging: str, before: int) -> int:
    written = greatest[name]
    others = [n for n in hanging if GROUPS[n] == GROUPS[name]]
    if GROUPS[name] is None or name not in others or not written:
        return len(written)
    limit = min(greatest[n][-1] if greatest[n] else -1000 for n in others) + DRIFT_S[name]
    return max(1, before, sum(second <= limit for second in written))
