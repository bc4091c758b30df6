"""Goal: what a stream writes stays bounded, however many micro-batches there are.

Batches go the way of a query's, without Spark. TABLE_STORE_MICRO_BATCHES makes them more.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.stream_writes import RunningQuery, StreamBatch
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import write
from table_store.storage.file_store.compaction.compaction_picker import SMALL_FILES_FACTOR
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG, STRING
from tests.unit.catalog.planner.references import reference

BATCHES = int(os.environ.get("TABLE_STORE_MICRO_BATCHES", "150"))
KEPT = 20
KEYS = 40
_ROWS = 3
_SLICE = 25
_SETTLING = 50
_DELETED_S = 30

_opened: list[object] = []
"""Files that this process has opened; hooks cannot be taken back, so this one is there for all."""
sys.addaudithook(lambda event, arguments: _opened.append(arguments[0]) if event == "open" else None)


def _no_spark() -> Any:
    raise AssertionError("a batch of a few rows asked Spark")


SESSION = PlannerSession("growth", _no_spark)


@dataclass(frozen=True, slots=True)
class Batch:
    """What the JVM has of a micro-batch whose rows it knows."""

    content: pa.Table

    def rows(self, limit: int) -> bytes:
        """The rows as an Arrow stream."""
        assert self.content.num_rows <= limit
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.content.schema) as writer:
            writer.write_table(self.content)
        content: bytes = sink.getvalue().to_pybytes()
        return content


def write_batch(table: FileStoreTable, number: int, content: pa.Table) -> None:
    latest = table.latest_snapshot()
    handle = TableHandle(
        path=table.path,
        schema_id=table.schema.id,
        snapshot_id=None if latest is None else latest.id,
        written=table.schema.column_names,
    )
    stream = StreamBatch(
        query=RunningQuery(query="q", run="r", running=("q",)),
        batch=number,
        offsets={str(number): "entry"},
    )
    request = Write(table=reference(handle), mode=WriteMode.APPEND, options={}, stream=stream)
    write(SESSION, request, Batch(content))


def expire(table: FileStoreTable) -> None:
    """Do what the background has not come to, which on a busy machine is much."""
    table.expire_snapshots()
    while len(table.snapshot_store.ids()) > KEPT:
        table.expire_snapshots()


def files_of(table: FileStoreTable) -> dict[str, int]:
    folder = Path(table.path)
    return {name: len(list(folder.glob(f"{name}*/*"))) for name in ("bucket", "manifest")}


@pytest.mark.parametrize(
    ("key", "key_of", "trigger"),
    [
        pytest.param(("id",), lambda i: i % KEYS, 5, id="updates"),
        pytest.param(("id",), lambda i: i, 5, id="new-keys"),
        pytest.param((), lambda i: i, 5 * SMALL_FILES_FACTOR, id="no-key"),
    ],
)
def test_batches_leave_no_more_files_and_cost_no_more(
    tmp_path: Path, key: tuple[str, ...], key_of: Callable[[int], int], trigger: int
) -> None:
    schema = new_schema(
        fields=[
            Field(id=0, name="id", type=LONG, nullable=not key),
            Field(id=0, name="v", type=STRING),
        ],
        primary_key=key,
        partition_keys=(),
        options={"snapshot.num-retained.max": str(KEPT)},
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    expected: list[tuple[int, str]] = []
    opened: list[int] = []
    for number in range(BATCHES):
        rows = [(key_of(number * _ROWS + i), f"{number}") for i in range(_ROWS)]
        expected += rows
        ids, values = zip(*rows, strict=True)
        write_batch(table, number, pa.table({"id": ids, "v": values}))
        if number >= _SETTLING and number % _SLICE == 0:
            expire(table)
            opened.append(len(_opened))
    live = table.live_files(table.latest_snapshot(), schema)
    # Where the trigger is reached, up to three new ones wait for a fourth.
    assert live.file_count <= trigger + 3
    expire(table)
    # Each snapshot that is kept may have a data file, a manifest and two lists of its own.
    bounds = {"bucket": KEPT + 2 * (trigger + 3), "manifest": 4 * KEPT + 30}
    # In the background the files of snapshots that are gone go a grace period later.
    until = time.monotonic() + _DELETED_S
    while (left := files_of(table)) and any(left[name] > bounds[name] for name in bounds):
        assert time.monotonic() < until, left
        time.sleep(0.1)
    per_slice = [after - before for before, after in pairwise(opened)]
    assert max(per_slice[-2:]) <= 1.5 * max(per_slice[:2])
    found = sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
    assert found == sorted(dict(expected).items() if key else expected)
