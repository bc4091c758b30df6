"""Goal: the files of a sink have each row once, however often writing them is broken off.

Oracle: the rows that were committed; for partitions, a dict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import LONG, STRING
from table_store.storage.log_store.sinks import filesystem_sink
from table_store.storage.log_store.sinks.filesystem_sink import FilesystemSink, partitioned
from table_store.storage.log_store.sinks.sink import changed_rows
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed


def test_partitions_have_their_rows_in_order() -> None:
    columns = {
        "a": ["x", None, "x", "/", "x", None],
        "b": [1, 1, 2, 1, 1, 1],
        "n": list(range(6)),
    }
    rows = pa.RecordBatch.from_pydict(columns)
    expected = defaultdict(list)
    names = {"x": "x", None: "__HIVE_DEFAULT_PARTITION__", "/": "%2F"}
    for a, b, n in zip(*columns.values(), strict=True):
        expected[f"a={names[a]}", f"b={b}"].append(n)
    found = {folder: part["n"].to_pylist() for folder, part in partitioned(rows, ("a", "b"))}
    assert found == expected
    assert [part.num_rows for _, part in partitioned(rows, ())] == [6]
    assert list(partitioned(rows.slice(0, 0), ("a",))) == []


def rows_below(folder: Path) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    for path in folder.rglob("part-*.parquet"):
        word = path.parent.name.removeprefix("word=")
        found.update((n, word) for n in pq.ParquetFile(path).read()["n"].to_pylist())
    return found


def test_what_is_broken_off_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each operation, with files of few rows; readers never see a row twice."""
    schema = replace(
        new_schema(
            fields=[Field(id=0, name="n", type=LONG), Field(id=1, name="word", type=STRING)],
            time_ms=0,
        ),
        partition_keys=("word",),
    )
    table = replace(FileStoreTable.create(str(tmp_path / "t"), schema), listener=NO_LISTENER)
    expected: Counter[tuple[int, str]] = Counter()
    for first in (0, 1000):
        numbers = range(first, first + 1000)
        words = [f"w{n % 3}" for n in numbers]
        expected.update(zip(numbers, words, strict=True))
        table.append(pa.table({"n": pa.array(numbers, pa.int64()), "word": words}))
    out = tmp_path / "out"
    options = {
        "connector": "filesystem",
        "path": str(out),
        "format": "parquet",
        "sink.partition-commit.policy.kind": "success-file",
        "sink.rolling-policy.file-size": "1 kb",
    }
    sink = FilesystemSink.of(replace(schema, options=FrozenMap(options)))
    snapshots = [table.snapshot_store.get(1), table.snapshot_store.get(2)]

    def in_small_batches(table: FileStoreTable, snapshot: Snapshot) -> list[pa.RecordBatch]:
        batches = changed_rows(table, snapshot)
        return [b.slice(at, 150) for b in batches for at in range(0, b.num_rows, 150)]

    monkeypatch.setattr(filesystem_sink, "changed_rows", in_small_batches)
    killed = 0
    for fail_at in range(1, 200, 3):
        broken = FailingFileIO(LocalFileIO(str(out)), fail_at, Fault.KILL_AFTER)

        def opened(path: str, broken: FileIO = broken) -> FileIO:
            del path
            return broken

        monkeypatch.setattr(filesystem_sink, "file_io_for", opened)
        try:
            sink.deliver(table, snapshots)
        except Killed:
            killed += 1
            found = rows_below(out)
            assert found <= expected
            continue
        break
    assert killed > 5
    assert rows_below(out) == expected
    assert len(list(out.rglob("part-*"))) > 6, "partitions have several files"
    assert len(list(out.rglob("_SUCCESS"))) == 3
    before = {path: path.read_bytes() for path in out.rglob("part-*")}
    monkeypatch.setattr(filesystem_sink, "file_io_for", LocalFileIO)
    sink.deliver(table, snapshots)
    assert {path: path.read_bytes() for path in out.rglob("part-*")} == before
