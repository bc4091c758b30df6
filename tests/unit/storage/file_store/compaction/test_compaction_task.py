"""Goal: several tasks that share a bucket compact it as one does."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.compaction.compaction_task import CompactionTask
from table_store.storage.file_store.model.interval_partition import interval_partition
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import DATE, DOUBLE, LONG, STRING, DataType, DecimalType

ROWS, RUNS = 3000, 4


def floats(numbers: np.ndarray) -> pa.Array:
    """One of them is NaN, which is greater than all others, and one is infinite."""
    return pa.array(np.select([numbers == 7, numbers == 9], [np.nan, np.inf], numbers / 8 - 99))


KEYS: dict[DataType, Callable[[np.ndarray], pa.Array]] = {
    LONG: lambda numbers: pa.array(numbers - ROWS // 2),
    STRING: lambda numbers: pa.array([f"key-{number:06d}" for number in numbers]),
    DOUBLE: floats,
    DATE: lambda numbers: pa.array(numbers, pa.int32()).cast(pa.date32()),
    DecimalType(9, 2): lambda numbers: pa.array(
        [Decimal(int(number)).scaleb(-2) for number in numbers], pa.decimal128(9, 2)
    ),
}


def table_of_runs(path: Path, key: DataType, *others: Field) -> FileStoreTable:
    """Runs that overlap everywhere, each a third of the keys; the last one deletes some."""
    fields = [*others, Field(id=0, name="k", type=key), Field(id=0, name="v", type=LONG)]
    schema = new_schema(
        fields=fields,
        primary_key=tuple(field.name for field in fields[:-1]),
        options={"target-file-size": "4 kb"},
        time_ms=0,
    )
    table = FileStoreTable.create(str(path), schema)
    draw = np.random.default_rng(5)
    for run in range(RUNS):
        numbers = draw.choice(ROWS, ROWS // 3, replace=False)
        columns = {"k": KEYS[key](numbers), "v": pa.array(numbers * 10 + run, pa.int64())}
        # Few values, so that a bound falls among equal ones.
        columns.update({field.name: pa.array(numbers % 3) for field in others})
        rows = pa.table(columns)
        if run == RUNS - 1:
            table.delete(rows.slice(0, 100))
        table.upsert(rows.slice(100))
    return table


def only_task(table: FileStoreTable) -> CompactionTask:
    (task,) = table.compaction_tasks(
        table.live_files(table.latest_snapshot(), table.schema), table.schema
    )
    return task


def check_parts(table: FileStoreTable) -> None:
    before = table.scan().to_arrow().sort_by("v")
    task = only_task(table)
    size = sum(file.size_bytes for file in task.unit.files)
    parts = task.split(size // 3)
    assert len(parts) > 1
    messages = [part.run() for part in parts]
    assert all(message.added for message in messages)
    assert [len(message.removed) for message in messages] == [len(task.unit.files)] + [0] * (
        len(parts) - 1
    )
    table.commit_compaction(messages, table.schema)
    after = table.scan().to_arrow().sort_by("v")
    # Arrow's NaN equals nothing; the text of it does.
    assert after["v"].equals(before["v"])
    assert after["k"].cast(pa.string()).equals(before["k"].cast(pa.string()))
    files = table.live_files(table.latest_snapshot(), table.schema).files()
    assert {file.level for file in files} == {task.unit.output_level}
    assert {len(section) for section in interval_partition(files)} == {1}
    assert sum(file.row_count for file in files) == before.num_rows


@pytest.mark.parametrize("key", KEYS)
def test_parts_make_one_run_without_overlaps(tmp_path: Path, key: DataType) -> None:
    """The rows are those of before, on one level, in files that share no key."""
    check_parts(table_of_runs(tmp_path / "t", key))


def test_parts_of_a_key_of_two_columns(tmp_path: Path) -> None:
    """The first column alone could not cut it into that many."""
    check_parts(table_of_runs(tmp_path / "t", STRING, Field(id=0, name="few", type=LONG)))


def spread(numbers: np.ndarray) -> pa.Array:
    """Nearly all keys are close to each other."""
    return pa.array(np.where(numbers == 0, -(1 << 60), numbers), pa.int64())


@pytest.mark.parametrize(
    ("key", "values", "others"),
    [
        (STRING, lambda numbers: pa.array(numbers).cast(pa.string()), []),
        (LONG, spread, []),
        # The first column is the same in most rows.
        (STRING, KEYS[STRING], [Field(id=0, name="few", type=LONG)]),
    ],
)
def test_parts_of_runs_of_one_file_are_even(
    tmp_path: Path, key: DataType, values: Callable[[np.ndarray], pa.Array], others: list[Field]
) -> None:
    """Whatever the keys are: two cores that share a bucket both have work to its end."""
    schema = new_schema(
        fields=[*others, Field(id=0, name="k", type=key)],
        primary_key=(*(field.name for field in others), "k"),
        options={"write-only": "true"},
        time_ms=0,
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    for numbers in (np.arange(30_000), np.arange(0, 30_000, 7), np.arange(15_000, 30_000, 5)):
        rows = {field.name: pa.array(numbers // 25_000) for field in others}
        table.upsert(pa.table({**rows, "k": values(numbers)}))
    task = only_task(table)
    size = sum(file.size_bytes for file in task.unit.files)
    parts = task.split(-(-size // 3))
    counts = [sum(file.row_count for file in part.run().added) for part in parts]
    assert len(counts) == 3
    assert sum(counts) == 30_000
    assert min(counts) > 8_000
    splits = replace(table.scan(), target_bytes=-(-size // 3)).splits()
    assert len(splits) == 3
    found = [sum(b.num_rows for b in table.scan().reader().read(s, ["k"])) for s in splits]
    assert sum(found) == 30_000
    # An integer is taken to be anywhere between the first and the last one.
    assert key == LONG or min(found) > 8_000


def test_a_file_that_is_only_moved_keeps_what_is_known_of_it(tmp_path: Path) -> None:
    """One that overlaps nothing is not rewritten; queries go on leaving it out by its bounds."""
    key = Field(id=0, name="k", type=LONG, nullable=False)
    schema = new_schema(
        fields=[key, Field(id=0, name="v", type=LONG)], primary_key=["k"], time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    table.append(pa.table({"k": np.arange(10), "v": np.arange(10)}))
    before = table.live_files(table.latest_snapshot(), schema).files(with_stats=True)
    assert table.compact().files_after == 1
    after = table.live_files(table.latest_snapshot(), schema).files(with_stats=True)
    assert [(f.name, f.stats) for f in after] == [(f.name, f.stats) for f in before]
    assert after[0].level > before[0].level
    assert before[0].stats


def test_small_runs_are_merged_without_the_large_one_behind_them(tmp_path: Path) -> None:
    """All were written by statements, on level 0; the large one only moves above the others."""
    schema = new_schema(
        fields=[Field(id=0, name=name, type=LONG) for name in "kv"], primary_key=["k"], time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    values = np.random.default_rng(5).integers(1 << 60, size=9000)
    table.append(pa.table({"k": np.arange(9000), "v": values}))
    (large,) = table.live_files(table.latest_snapshot(), schema).files()
    table.delete(pa.table({"k": [20]}))
    for number in range(3):
        table.upsert(pa.table({"k": np.arange(number, 9, 3), "v": [-number] * 3}))
    expected = table.scan().to_arrow().sort_by("k")
    assert table.compact(full=False).files_after == 2
    merged, kept = sorted(
        table.live_files(table.latest_snapshot(), schema).files(), key=lambda file: file.level
    )
    assert (kept.name, kept.level, merged.level) == (large.name, 5, 4)
    assert table.scan().to_arrow().sort_by("k") == expected
    table.upsert(pa.table({"k": [20], "v": [4]}))
    assert table.compact().files_after == 1
    assert table.scan().count() == 9000


def test_little_is_one_task(tmp_path: Path) -> None:
    """Cutting costs row groups that are read twice."""
    task = only_task(table_of_runs(tmp_path / "t", LONG))
    assert len(task.split(1 << 30)) == 1


def test_a_bucket_without_key_is_one_task(tmp_path: Path) -> None:
    """Its rows have no order to be cut by."""
    schema = new_schema(
        fields=[Field(id=0, name="k", type=LONG)], primary_key=(), options={}, time_ms=0
    )
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    for first in (0, 100):
        table.append(pa.table({"k": pa.array(range(first, first + 100), pa.int64())}))
    task = only_task(table)
    assert task.split(1) == (task,)
