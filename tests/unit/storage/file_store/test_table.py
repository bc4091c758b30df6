"""Goal: what a Python program sees of a table: reads, writes, time travel, refusals, pickling."""

import datetime as dt
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.model.errors import NullKeyError, SnapshotNotFoundError
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.scan.split import Split, SplitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.errors import CorruptFileError, InvalidSchemaError, MissingFileError
from table_store.storage.kernel.predicate import And, Comparison
from table_store.storage.kernel.types import DATE, DOUBLE, INTEGER, LONG, STRING, VARIANT
from tests.fakes.manual_clock import ManualClock


def keyed(*, key: tuple[str, ...] = ("k",), **options: str) -> TableSchema:
    return new_schema(
        fields=[
            Field(id=0, name="k", type=LONG),
            Field(id=0, name="d", type=DATE),
            Field(id=0, name="s", type=STRING),
        ],
        primary_key=key,
        options={name.replace("_", "-"): value for name, value in options.items()},
        time_ms=0,
    )


def rows_of(keys: object, text: str = "x") -> pa.Table:
    numbers = np.asarray(keys, np.int64)
    return pa.table(
        {
            "k": numbers,
            "d": pa.array((numbers % 7).astype(np.int32)).cast(pa.date32()),
            "s": pa.array([f"{text}{number}" for number in numbers], pa.string()),
        }
    )


def committed(result: Committed | NoChange) -> int:
    assert isinstance(result, Committed)
    return result.snapshot.id


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    created = FileStoreTable.create(str(tmp_path / "t"), keyed())
    return replace(created, clock=ManualClock())


def test_time_travel_by_version_and_time(table: FileStoreTable) -> None:
    assert table.scan().to_arrow().num_rows == 0
    first = committed(table.append(rows_of([1, 2])))
    at_first = table.clock.now_ms()
    table.clock.sleep_ms(1000)
    committed(table.delete(pa.table({"k": [1]})))
    assert table.scan().to_arrow()["k"].to_pylist() == [2]
    assert table.scan(version=first).count() == 2
    assert table.scan(timestamp_ms=at_first + 1).count() == 2
    with pytest.raises(SnapshotNotFoundError, match="1 to 2"):
        table.scan(version=9)


def test_creating_a_table_twice_is_refused(table: FileStoreTable) -> None:
    with pytest.raises(InvalidSchemaError):
        FileStoreTable.create(table.path, keyed())


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        (pa.table({"k": [1], "s": ["a"]}), "d"),
        (rows_of([1]).append_column("extra", [[1]]), "extra"),
        (rows_of([1]).set_column(1, "d", [["no date"]]), "d"),
        (pa.concat_tables([rows_of([1]).select(["k"])]).append_column("s", [["a"]]), "d"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    table: FileStoreTable, rows: pa.Table, column: str
) -> None:
    with pytest.raises(InvalidSchemaError, match=f"'{column}'"):
        table.append(rows)
    assert table.latest_snapshot() is None


def test_null_in_a_key_is_refused(table: FileStoreTable) -> None:
    rows = rows_of([1, 2]).set_column(0, "k", pa.array([1, None], pa.int64()))
    with pytest.raises(NullKeyError, match="'k'"):
        table.append(rows)


def test_abort_leaves_no_file(table: FileStoreTable) -> None:
    writer = TableWriter(replace(table.writer_context(), write_buffer_bytes=1))
    writer.write(rows_of(range(10)))
    writer.write(rows_of(range(10)))
    writer.abort()
    writer.write(rows_of(range(10)))
    writer.prepare_commit()
    assert len(list(Path(table.path).rglob("data-*"))) == 1


def test_a_damaged_or_missing_file_is_named_with_its_snapshot(table: FileStoreTable) -> None:
    version = committed(table.append(rows_of(range(1000))))
    snapshot = table.latest_snapshot()
    (file,) = table.live_files(snapshot, table.schema).files()
    path = Path(data_file_path(table.path, (), file))
    content = path.read_bytes()
    for position in (100, len(content) // 2, len(content) - 20):
        damaged = bytearray(content)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError) as error:
            table.scan().to_arrow()
        assert (error.value.path, error.value.snapshot_id) == (str(path), version)
    path.write_bytes(content[:-5])
    with pytest.raises(CorruptFileError):
        table.scan().to_arrow()
    path.unlink()
    with pytest.raises(MissingFileError) as missing:
        table.scan().to_arrow()
    assert (missing.value.path, missing.value.snapshot_id) == (str(path), version)


def test_splits_and_readers_travel_to_other_processes(table: FileStoreTable) -> None:
    table.append(rows_of([1, 2]))
    table.append(rows_of([2, 3], "y"))
    scan = table.scan(columns=["s"])
    (split,) = scan.splits()
    assert split.kind is SplitKind.MERGE
    assert len(split.to_bytes()) < 3000
    reader = pickle.loads(pickle.dumps(scan.reader()))
    (batch,) = reader.read(Split.from_bytes(split.to_bytes()), ("s",), Comparison("k", ">", 1))
    assert batch.to_pydict() == {"s": ["y2", "y3"]}
    writer = TableWriter(pickle.loads(pickle.dumps(table.writer_context())))
    writer.write(rows_of([4]))
    table.commit(pickle.loads(pickle.dumps(writer.prepare_commit())))
    assert table.scan().count() == 4


def test_a_predicate_never_uncovers_an_older_version(table: FileStoreTable) -> None:
    table.append(rows_of(range(10), "old"))
    table.append(rows_of([5], "new"))
    table.delete(pa.table({"k": [6]}))
    old = Comparison("s", "<", "oldz")
    assert table.scan(predicate=And(Comparison("s", ">=", "old"), old)).count() == 8
    assert table.scan(predicate=Comparison("s", "=", "old6")).count() == 0
    assert table.scan(predicate=Comparison("k", "=", 5)).to_arrow()["s"].to_pylist() == ["new5"]


def test_compaction_moves_a_file_that_overlaps_nothing(table: FileStoreTable) -> None:
    table.append(rows_of(range(10)))
    before = set(table.live_files(table.latest_snapshot(), table.schema).names())
    result = table.compact()
    assert (result.files_before, result.files_after) == (1, 1)
    after = table.live_files(table.latest_snapshot(), table.schema)
    assert set(after.names()) == before
    assert [file.level for file in after.files()] == [5]
    assert table.compact().bytes_after == result.bytes_before
    table.append(rows_of([3], "y"))
    table.delete(pa.table({"k": [4]}))
    assert table.compact().files_after == 1
    (split,) = table.scan().splits()
    assert (split.kind, split.row_count) == (SplitKind.RAW, 9)


@pytest.mark.parametrize("key", [("k",), ("d", "k"), ("s",)])
def test_a_large_bucket_is_cut_for_several_tasks(tmp_path: Path, key: tuple[str, ...]) -> None:
    table = FileStoreTable.create(str(tmp_path / "t"), keyed(key=key, target_file_size="16kb"))
    written = [rows_of(np.random.default_rng(1).permutation(5000), text) for text in "xyz"]
    for rows in written:
        table.append(rows)
    table.compact()
    written.append(rows_of(range(0, 5000, 3), "new"))
    table.append(written[-1])
    scan = replace(table.scan(), target_bytes=10_000)
    assert len(scan.splits()) > 1
    everything = pa.concat_tables(written)
    positions = pa.array(range(everything.num_rows))
    with duckdb.connect() as connection:
        connection.register("found", scan.to_arrow())
        connection.register("written", everything.append_column("position", positions))
        newest = connection.execute(
            "SELECT k, d, s FROM written QUALIFY position = max(position) OVER "
            f"(PARTITION BY {', '.join(key)}) ORDER BY ALL"
        ).fetchall()
        assert connection.execute("FROM found ORDER BY ALL").fetchall() == newest


def test_many_deletions_of_a_bag_are_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("table_store.storage.file_store.bag.bag_reader.DELETED_ROWS_MAX", 3)
    fields = [Field(id=0, name="i", type=INTEGER), Field(id=0, name="f", type=DOUBLE)]
    table = FileStoreTable.create(str(tmp_path / "t"), new_schema(fields=fields, time_ms=0))
    values = [i % 4 for i in range(40)]
    rows = pa.table({"i": pa.array(values, pa.int32()), "f": [0.5] * 40})
    table.append(rows)
    table.delete(rows.slice(0, 11))
    expected = Counter(values) - Counter(values[:11])
    assert Counter(table.scan().to_arrow()["i"].to_pylist()) == expected
    table.compact()
    assert Counter(table.scan().to_arrow()["i"].to_pylist()) == expected
    (split,) = table.scan().splits()
    assert split.kind is SplitKind.RAW


def test_null_variants_and_odd_partitions(tmp_path: Path) -> None:
    schema = new_schema(
        fields=[
            Field(id=0, name="v", type=VARIANT),
            Field(id=0, name="p", type=DOUBLE),
            Field(id=0, name="d", type=DATE),
        ],
        partition_keys=["p", "d"],
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    kind = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
    value = {"value": b"\0", "metadata": b"\1\0\0"}
    nan = float("nan")
    rows = pa.table(
        {
            "v": pa.array([value, None, value, None], kind),
            "p": pa.array([nan, nan, None, 0.0]),
            "d": [dt.date(2020, 1, 1), dt.date(2020, 1, 1), None, None],
        }
    )
    writer = table.writer()
    writer.write(rows)
    writer.write(rows)
    messages = writer.prepare_commit()
    assert len(messages) == 3
    table.commit(messages)
    found = table.scan().to_arrow()
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, rows.to_pylist() * 2))


def test_the_only_definition_of_a_table_with_rows_is_lost(tmp_path: Path) -> None:
    """It is not a table that was never there."""
    FileStoreTable.create(str(tmp_path), keyed()).upsert(rows_of([1]))
    (tmp_path / "schema" / "schema-0").unlink()
    with pytest.raises(MissingFileError, match=r"schema-0.*definition"):
        FileStoreTable.open(str(tmp_path))
