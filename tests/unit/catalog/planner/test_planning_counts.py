"""What planning touches, in counted things: files, splits, Spark itself. No time is measured."""

from __future__ import annotations

import base64
import shutil
import sys
import tracemalloc
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.rows import ArrowRows
from table_store.catalog.planner.protocol.scans import (
    AggregateFunction,
    AskedScan,
    BucketedBy,
    ExactAggregates,
    PlannedScan,
    PlanScan,
    RawSplits,
)
from table_store.catalog.planner.protocol.spark_values import SparkColumns, SparkExpression
from table_store.catalog.planner.read.aggregate_requests import exact_aggregates
from table_store.catalog.planner.read.bucketing import bucketed_by
from table_store.catalog.planner.read.raw_split import raw_answer
from table_store.catalog.planner.read.scan_requests import plan_scan
from table_store.storage.file_store.data.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.metadata.manifest_entry import entries_from_files
from table_store.storage.file_store.model.data_file import CommitMessage, DataFile
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.scan.scan_planner import OPEN_COST_BYTES
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    MissingFileError,
    PathNotAllowedError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import DOUBLE, LONG, STRING
from tests.fakes.metadata_only_file_io import MetadataOnlyFileIO
from tests.fakes.metadata_table import KEYLESS, make_file
from tests.unit.catalog.planner.references import reference

_OPENED: list[object] = []
"""Files that this process has opened; hooks cannot be taken back, so this one is there for all."""
sys.addaudithook(lambda event, arguments: _OPENED.append(arguments[0]) if event == "open" else None)


def _no_spark() -> Any:
    raise AssertionError("planning a scan asked Spark")


_MANY = 20_000

SESSION = PlannerSession("planning", _no_spark)


def _table(folder: Path, key: tuple[str, ...] = (), **options: str) -> FileStoreTable:
    columns = {"id": LONG, "v": DOUBLE, "s": STRING}
    schema = new_schema(
        fields=[Field(id=0, name=n, type=t, nullable=n not in key) for n, t in columns.items()],
        primary_key=key,
        partition_keys=(),
        options=options,
        time_ms=0,
    )
    return FileStoreTable.create(str(folder / "t"), schema)


def _rows(*ids: int, v: float = 1.0) -> pa.Table:
    return pa.table({"id": ids, "v": [v] * len(ids), "s": [f"s{i}" for i in ids]})


def _reference(table: FileStoreTable) -> TableReference:
    latest = table.latest_snapshot()
    handle = TableHandle(
        path=table.path,
        schema_id=table.schema.id,
        snapshot_id=None if latest is None else latest.id,
    )
    return reference(handle)


def _asked(
    table: FileStoreTable,
    *functions: tuple[str, str | None],
    options: Mapping[str, str] = FrozenMap(),
) -> list[Any] | None:
    asked = [AggregateFunction(name=f, column=None if c is None else (c,)) for f, c in functions]
    request = ExactAggregates(table=_reference(table), functions=tuple(asked), options=options)
    answer = exact_aggregates(SESSION, request)
    if answer is None:
        return None
    (row,) = _rows_of(answer.rows)
    return list(row.values())


def _answer(
    table: FileStoreTable,
    *predicates: SparkExpression,
    columns: tuple[str, ...] = ("id",),
    options: Mapping[str, str] = FrozenMap(),
) -> PlannedScan | ArrowRows:
    schema = columns_to_spark([table.schema.field_named(name) for name in columns])
    scan = AskedScan(
        table=_reference(table),
        columns=columns,
        schema=SparkColumns(schema),
        predicates=predicates,
        options=options,
    )
    return plan_scan(SESSION, PlanScan(scan=scan))


def _scan(
    table: FileStoreTable, *predicates: SparkExpression, columns: tuple[str, ...] = ("id",)
) -> PlannedScan:
    answer = _answer(table, *predicates, columns=columns)
    assert isinstance(answer, PlannedScan)
    return answer


def _raw(splits: RawSplits | None) -> list[dict[str, Any]]:
    """Parts of files that are read as they are."""
    assert splits is not None
    return _rows_of(splits.parts)


def _rows_of(answer: ArrowRows | PlannedScan) -> list[dict[str, Any]]:
    assert isinstance(answer, ArrowRows)
    compression = "zstd" if answer.is_compressed else None
    rows: list[dict[str, Any]] = []
    for stream in answer.arrow:
        sent = pa.input_stream(pa.py_buffer(base64.b64decode(stream)), compression)
        rows += pa.ipc.open_stream(sent.read()).read_all().to_pylist()
    return rows


def _equals(column: str, value: int) -> SparkExpression:
    literal = {"literal": str(value), "type": '"long"'}
    return SparkExpression({"name": "=", "children": [{"column": [column]}, literal]})


def test_count_min_max_open_no_data_file(tmp_path: Path) -> None:
    """The manifests answer: all data files may be gone."""
    table = _table(tmp_path)
    table.append(_rows(3, 1))
    table.append(_rows(7))
    for bucket in Path(table.path).glob("bucket-*"):
        shutil.rmtree(bucket)
    assert _asked(table, ("count", None), ("min", "id"), ("max", "s")) == [3, 1, "s7"]


def test_empty_table(tmp_path: Path) -> None:
    """No rows: zero, and NULL bounds."""
    table = _table(tmp_path)
    assert _asked(table, ("count", None), ("min", "id")) == [0, None]
    assert _asked(table) is None


def test_what_only_reading_can_tell(tmp_path: Path) -> None:
    """Runs that overlap, NaN and functions that are not known are left to the scan."""
    keyed = _table(tmp_path / "keyed", ("id",))
    keyed.append(_rows(1, 5))
    assert _asked(keyed, ("count", None)) == [2]
    keyed.append(_rows(3))
    assert _asked(keyed, ("count", None)) is None
    bag = _table(tmp_path / "bag")
    bag.append(_rows(1, v=float("nan")))
    assert _asked(bag, ("max", "v")) is None
    assert _asked(bag, ("max", "no_column")) is None
    bag.delete(_rows(1, v=float("nan")))
    assert _asked(bag, ("count", None)) is None


def test_a_key_condition_leaves_the_files_that_can_hold_it(tmp_path: Path) -> None:
    """Files that hold other keys are neither listed nor opened."""
    table = _table(tmp_path, ("id",))
    for first in range(0, 50, 10):
        table.append(_rows(first, first + 9))
    assert _scan(table).files == 5
    greater = SparkExpression({**_equals("id", 42), "name": ">="})
    found = _scan(table, greater)
    assert (found.files, len(_raw(found.raw)), found.splits) == (1, 1, ())


def test_a_plan_opens_as_many_files_for_many_data_files_as_for_few(tmp_path: Path) -> None:
    """What is read is the table's metadata, once, whatever the number of files in the plan."""
    opened = []
    for count in (3, 60):
        table = _table(tmp_path / str(count))
        with ExitStack() as writers:
            messages: list[CommitMessage] = []
            for i in range(count):
                writer = writers.enter_context(table.writer())
                writer.write(_rows(i))
                messages += writer.prepare_commit()
            table.commit(messages)
        _OPENED.clear()
        plan = _scan(table)
        assert plan.files == len(_raw(plan.raw)) == count
        opened.append(len(_OPENED))
    assert opened[0] == opened[1] > 0


def test_memory_of_a_plan_grows_by_little_for_each_file(tmp_path: Path) -> None:
    """Of Python, numpy and Arrow at once: a million files must not take half a gigabyte."""
    table = _table(tmp_path, ("id",))
    table = replace(table, file_io=MetadataOnlyFileIO(table.path))
    files = [make_file(f"data-{i:032}-0.parquet", level=5, sequence=(i, i)) for i in range(_MANY)]
    files = [replace(file, key_min=(i,), key_max=(i,)) for i, file in enumerate(files)]
    table.commit([CommitMessage(partition=(), bucket=0, added=tuple(files))])
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        plan = _scan(table)
        peak = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert plan.files == _MANY
    assert peak / _MANY < 500


def test_files_that_do_not_overlap_need_no_python_worker(tmp_path: Path) -> None:
    """Only the section with two runs is merged in a worker."""
    table = _table(tmp_path, ("id",))
    table.append(_rows(1, 9))
    table.append(_rows(11, 19))
    table.append(_rows(12, 13))
    plan = _scan(table)
    assert (len(_raw(plan.raw)), len(plan.splits)) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "size", "target", "parts"),
    [
        (10, 1000, 100, 1),
        (ROW_GROUP_ROWS_MAX, 64 << 20, 32 << 20, 1),
        (3 * ROW_GROUP_ROWS_MAX, 64 << 20, 32 << 20, 2),
        (3 * ROW_GROUP_ROWS_MAX, 640 << 20, 32 << 20, 3),
        (3 * ROW_GROUP_ROWS_MAX, 20 << 20, 32 << 20, 1),
    ],
)
def test_parts_of_a_large_file(
    tmp_path: Path, rows: int, size: int, target: int, parts: int
) -> None:
    """Parts follow each other without a gap, and none is without a row group."""
    file = make_file("a.parquet", rows=rows, size=size)
    found = _raw(_packed([file], target, target, by_bucket=False))
    assert len(found) == len({part["split"] for part in found}) == parts
    assert {part["size"] for part in found} == {size}
    starts = [*(part["start"] for part in found), size]
    assert starts[0] == 0
    assert [part["length"] for part in found] == [b - a for a, b in pairwise(starts)]


def _packed(files: list[DataFile], part_bytes: int, pack_bytes: int, by_bucket: bool) -> RawSplits:
    entries = entries_from_files(KEYLESS, added=files)
    live = LiveFiles(snapshot_id=1, schema=KEYLESS, entries=entries)
    return raw_answer(
        live,
        np.arange(len(files)),
        "/t/",
        part_bytes=part_bytes,
        pack_bytes=pack_bytes,
        by_bucket=by_bucket,
    )


@pytest.mark.parametrize(
    ("by_bucket", "splits"), [(False, [0, 0, 1, 1, 2]), (True, [0, 0, 1, 2, 2])]
)
def test_small_files_share_a_split(tmp_path: Path, by_bucket: bool, splits: list[int]) -> None:
    """Of several buckets, unless Spark is told that splits are buckets; each costs an opening."""
    buckets = [0, 0, 0, 1, 1]
    files = [
        make_file(f"{i}.parquet", bucket=bucket, size=OPEN_COST_BYTES)
        for i, bucket in enumerate(buckets)
    ]
    found = _raw(_packed(files, 1 << 30, 4 * OPEN_COST_BYTES, by_bucket=by_bucket))
    assert [part["split"] for part in found] == splits
    assert [part["path"] for part in found] == [
        f"/bucket-{bucket}/{i}.parquet" for i, bucket in enumerate(buckets)
    ]


def test_no_name_in_a_manifest_leads_out_of_the_table(tmp_path: Path) -> None:
    """Names come from files that somebody may have changed."""
    with pytest.raises(PathNotAllowedError):
        _packed([make_file("../a.parquet")], 1, 1, by_bucket=False)


def test_rows_of_one_key_come_with_the_plan(tmp_path: Path) -> None:
    """The planner reads one bucket itself; a condition on other columns is left to Spark."""
    table = _table(tmp_path, ("id",), bucket="4")
    table.append(_rows(*range(100)))
    table.append(_rows(7, 8, v=2.0))
    before = {path.name for path in Path(table.path).glob("bucket-*")}
    assert before == {"bucket-0", "bucket-1", "bucket-2", "bucket-3"}
    for key in range(100):
        answer = _answer(table, _equals("id", key), columns=("id", "v"))
        found = _rows_of(answer)
        assert found == [{"id": key, "v": 2.0 if key in (7, 8) else 1.0}]
    assert isinstance(_answer(table, _equals("v", 2)), PlannedScan)


def test_wrong_options_are_refused_whatever_answers(tmp_path: Path) -> None:
    """Neither manifests nor few rows are an answer to a read that cannot be as it is asked for."""
    table = _table(tmp_path, ("id",))
    table.append(_rows(1, 2))
    for options in ({"nonsense": "1"}, {"startingVersion": "1"}):
        with pytest.raises(TableStoreError, match=r"nonsense|\.changes\("):
            _asked(table, ("count", None), options=options)
        for predicates in ((), (_equals("id", 1),)):
            with pytest.raises(TableStoreError, match=r"nonsense|\.changes\("):
                _answer(table, *predicates, options=options)


def test_no_other_bucket_is_opened_for_a_key(tmp_path: Path) -> None:
    """The files of three of four buckets may be gone."""
    table = _table(tmp_path, ("id",), bucket="4")
    table.append(_rows(*range(100)))
    held = {}
    for bucket in Path(table.path).glob("bucket-*"):
        kept = tmp_path / bucket.name
        bucket.rename(kept)
        held[bucket.name] = kept
    for name, kept in held.items():
        shutil.copytree(kept, Path(table.path) / name)
        found = 0
        for key in range(100):
            try:
                found += isinstance(_answer(table, _equals("id", key)), ArrowRows)
            except MissingFileError:
                continue
        assert 0 < found < 100
        shutil.rmtree(Path(table.path) / name)


def test_buckets_are_told_where_they_keep_the_cores_busy(tmp_path: Path) -> None:
    """As tasks they replace a shuffle: few small ones, or half as many as there are cores."""
    four = _table(tmp_path / "four", ("id",), bucket="4")
    four.append(_rows(*range(100)))
    assert _scan(four).bucketed_by == BucketedBy(column="id", buckets=4)
    assert {part["bucket"] for part in _raw(_scan(four).raw)} == {0, 1, 2, 3}
    scan = four.scan(columns=("id",))
    assert bucketed_by(scan, 100) is not None
    scan = replace(scan, target_bytes=1)
    assert (bucketed_by(scan, 8) is None, bucketed_by(scan, 9) is None) == (False, True)
    for key, count in ((("id",), "1"), (("id", "s"), "4"), ((), "4")):
        table = _table(tmp_path / "-".join([*key, count]), key, bucket=count)
        table.append(_rows(1, 2, 3))
        assert _scan(table).bucketed_by is None
