"""Goal: rows come out under any later schema, filtered right, and damage is never silent."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_store.storage.file_store.data import data_file_reader
from table_store.storage.file_store.data.data_file_reader import (
    ROW_NUMBER_COLUMN,
    DataFileReader,
)
from table_store.storage.file_store.data.file_layout import FileLayout, Wanted
from table_store.storage.file_store.model.data_file import KIND_COLUMN, SEQUENCE_COLUMN, DataFile
from table_store.storage.file_store.model.errors import ValueOutOfRangeError
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.formats.data_format import FORMAT_NAMES, data_format
from table_store.storage.kernel.counter import counted
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError
from table_store.storage.kernel.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    to_arrow,
)
from tests.fakes.data_file_folder import DataFileFolder, later_schema, make_schema


def keyed_file(
    tmp_path: Path, row_count: int = 1000, name: str = "parquet", target: int = 128 << 20
) -> tuple[DataFileReader, DataFile, DataFileFolder]:
    schema = make_schema({"id": LONG, "v": DOUBLE, "s": STRING}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    rows = pa.table(
        {
            "id": np.arange(row_count) * 2,
            "v": np.random.default_rng(3).random(row_count),
            "s": [None if i % 3 == 0 else f"s{i}" for i in range(row_count)],
        }
    )
    kinds = (np.arange(row_count) % 10 == 0).astype(np.int8)
    options = DataFileOptions(format=name, target_size_bytes=target)
    file, *_ = folder.write(schema, rows, options, kinds)
    return folder.reader(schema), file, folder


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_columns_in_the_order_asked_kinds_and_sequences(tmp_path: Path, name: str) -> None:
    reader, file, _ = keyed_file(tmp_path, 100, name)
    table = reader.read_table(
        replace(file, sequence_offset=1000), ["s", "id"], with_kinds=True, with_sequences=True
    )
    assert table.schema.names == ["s", "id", KIND_COLUMN, SEQUENCE_COLUMN]
    assert table[SEQUENCE_COLUMN].to_pylist() == list(range(1000, 1100))
    assert table[KIND_COLUMN].to_pylist() == [int(i % 10 == 0) for i in range(100)]
    assert table["id"].to_pylist() == list(range(0, 200, 2))
    assert table.schema.field(KIND_COLUMN).type == pa.int8()


@pytest.mark.parametrize("kind", [0, 1])
def test_kinds_that_are_all_the_same(tmp_path: Path, kind: int) -> None:
    schema = make_schema({"id": LONG}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, pa.table({"id": [1, 2]}), kinds=np.array([kind, kind], np.int8))
    table = folder.reader(schema).read_table(file, ["id"], with_kinds=True)
    assert table[KIND_COLUMN].to_pylist() == [kind, kind]


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_no_columns_have_a_length(tmp_path: Path, name: str) -> None:
    reader, file, _ = keyed_file(tmp_path, 100_000, name)
    batches = list(reader.read(file, []))
    assert [b.num_columns for b in batches] == [0, 0]
    assert sum(b.num_rows for b in batches) == 100_000
    assert reader.read_table(file, []).num_rows == 100_000
    assert list(reader.read(file, [], where=pc.scalar(False))) == []


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_where_drops_rows(tmp_path: Path, name: str) -> None:
    reader, file, _ = keyed_file(tmp_path, 1000, name)
    everything = reader.read_table(file, ["id", "v", "s"]).to_pylist()
    cases: list[tuple[pc.Expression, Callable[[dict[str, Any]], bool]]] = [
        ((pc.field("id") >= 10) & (pc.field("id") < 30), lambda r: 10 <= r["id"] < 30),
        (pc.field("v") > 0.5, lambda r: r["v"] > 0.5),
        (pc.field("s") == "s1", lambda r: r["s"] == "s1"),
        (pc.field("s") != "s1", lambda r: r["s"] not in (None, "s1")),
        (pc.field("s").is_null(), lambda r: r["s"] is None),
        (pc.field("id") == 7, lambda r: False),
    ]
    for where, is_kept in cases:
        expected = [r for r in everything if is_kept(r)]
        assert reader.read_table(file, ["id", "v", "s"], where=where).to_pylist() == expected
        batches = list(reader.read(file, ["id", "v", "s"], where=where))
        assert [r for b in batches for r in b.to_pylist()] == expected


def test_row_groups_that_cannot_hold_a_row_are_not_read(tmp_path: Path) -> None:
    # Row groups of about 40 kB in memory; the file has several.
    schema = make_schema({"id": LONG, "d": DecimalType(9, 2), "s": STRING}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    count = 100_000
    rows = pa.table(
        {
            "id": np.arange(count),
            "d": pa.array(np.arange(count)).cast(pa.decimal128(20)).cast(pa.decimal128(9, 2)),
            "s": [f"{i:08d}" for i in range(count)],
        }
    )
    file, *_ = folder.write(schema, rows, DataFileOptions(target_size_bytes=400_000))
    reader = folder.reader(schema)
    content = Path(reader.path_of(file)).read_bytes()
    opened = data_format("parquet").open_reader(pa.BufferReader(content), len(content), file.name)
    wanted = Wanted(("id",), with_kinds=False, with_sequences=False)
    layout = FileLayout(
        opened, file, wanted, path=reader.path_of(file), written=schema, current=schema
    )

    def chosen(low: int, high: int = count) -> tuple[int, ...]:
        key = pc.field("id")
        return layout.chosen_groups((key >= low) & (key < high), None)

    groups = chosen(0)
    assert len(groups) > 2
    assert chosen(0, 5) == groups[:1]
    assert chosen(file.row_count - 1) == groups[-1:]
    assert chosen(file.row_count) == ()
    second = reader.read_table(file, ["id", "d", "s"], row_groups=groups[1:2])
    start = second["id"][0].as_py()
    assert chosen(start, start + 1) == groups[1:2]
    assert chosen(start - 1, start + 1) == groups[:2]
    # Whatever is skipped, the rows are those of a filter over everything.
    for column, value in [("id", start), ("d", Decimal(start)), ("s", f"{start:08d}")]:
        where = pc.field(column) == pa.scalar(value, to_arrow(schema.field_named(column).type))
        assert reader.read_table(file, ["id", "d", "s"], where=where).num_rows == 1
        below = pc.field(column) < pa.scalar(value, to_arrow(schema.field_named(column).type))
        assert reader.read_table(file, ["id", "d", "s"], where=below).num_rows == start


@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize(
    ("low", "high"), [((0, 9), (90_000, 90_020)), ((40_000, 47_000), (70_000, 70_001))]
)
def test_rows_near_to_keys(
    tmp_path: Path, name: str, low: tuple[int, int], high: tuple[int, int]
) -> None:
    """Two stretches of a row group, read apart and numbered; of Parquet nothing else is read."""
    reader, file, _ = keyed_file(tmp_path, 200_000, name)
    everything = reader.read_table(file, ["id", "v", "s"], with_kinds=True, with_sequences=True)
    key = pc.field("id")
    where = ((key >= 2 * low[0]) & (key < 2 * low[1])) | (
        (key >= 2 * high[0]) & (key < 2 * high[1])
    )
    wanted = [*range(*low), *range(*high)]
    expected = everything.take(wanted)
    before = counted()["rows_read"]
    found = reader.read_table(
        file, ["id", "v", "s"], with_kinds=True, with_sequences=True, where=where
    )
    assert found.equals(expected)
    if name == "parquet":
        assert counted()["rows_read"] - before == len(wanted)
    batches = reader.read(file, ["s", "id"], numbered_from=7, where=where)
    numbered = pa.Table.from_batches(batches)
    assert numbered.select(["s", "id"]).equals(expected.select(["s", "id"]))
    assert numbered[ROW_NUMBER_COLUMN].to_pylist() == [row + 7 for row in wanted]


def test_a_part_of_one_row_group_and_all_of_another(tmp_path: Path) -> None:
    reader, file, _ = keyed_file(tmp_path, 300_000)
    first, second = (group.row_count for group in reader.row_groups(file))
    where = (pc.field("id") < 20) | (pc.field("id") >= 2 * first)
    columns = ["v", "id", "s"]
    everything = reader.read_table(file, columns, with_kinds=True, with_sequences=True)
    expected = everything.take([*range(10), *range(first, first + second)])
    before = counted()["rows_read"]
    found = reader.read_table(file, columns, with_kinds=True, with_sequences=True, where=where)
    assert found.equals(expected)
    assert counted()["rows_read"] - before == 10 + second


def test_lookup_of_single_keys(tmp_path: Path) -> None:
    # Enough rows for looking at the keys first; the keys are the even numbers.
    reader, file, _ = keyed_file(tmp_path, 100_000)
    for key, count in [(0, 1), (99_998, 1), (199_998, 1), (77_777, 0), (200_000, 0)]:
        where = pc.field("id") == key
        found = reader.read_table(file, ["v", "id", "s"], with_kinds=True, where=where)
        assert found["id"].to_pylist() == [key] * count
        assert sum(b.num_rows for b in reader.read(file, ["v", "id"], where=where)) == count
    both = (pc.field("id") == 10) & (pc.field("s") == "s5")
    assert reader.read_table(file, ["id", "s"], where=both)["s"].to_pylist() == ["s5"]


def test_reader_can_be_pickled(tmp_path: Path) -> None:
    reader, file, _ = keyed_file(tmp_path)
    text = pickle.dumps(reader)
    assert len(text) < 4096
    assert pickle.loads(text).read_table(file, ["id"]).num_rows == 1000


# -- later schemas ---------------------------------------------------------------------------------


def test_renamed_reordered_dropped_and_added_columns(tmp_path: Path) -> None:
    old = make_schema({"id": LONG, "a": STRING, "b": STRING}, key=["id"])
    id_field, a_field, _ = old.fields
    # Column `a` takes the name of the dropped `b`; a new column takes the old name `a`.
    new = later_schema(
        old,
        [
            Field(id=4, name="a", type=LONG, initial_default="42"),
            Field(id=5, name="fresh", type=STRING),
            replace(a_field, name="b"),
            id_field,
            Field(id=6, name="price", type=DecimalType(9, 2), initial_default='{"decimal":"1.5"}'),
            Field(id=7, name="day", type=DATE, initial_default='{"date":"2020-02-29"}'),
        ],
    )
    folder = DataFileFolder.create(tmp_path, old, new)
    (file,) = folder.write(old, pa.table({"id": [1, 2], "a": ["x", "y"], "b": ["p", "q"]}))
    reader = folder.reader(new)

    table = reader.read_table(file, ["b", "a", "fresh", "id", "price", "day"])

    assert table["b"].to_pylist() == ["x", "y"]
    assert table["a"].to_pylist() == [42, 42]
    assert table["fresh"].to_pylist() == [None, None]
    assert table["price"].to_pylist() == [Decimal("1.50")] * 2
    assert table.schema.types == [to_arrow(new.field_named(n).type) for n in table.schema.names]
    assert pa.Table.from_batches(reader.read(file, table.schema.names)).equals(table)
    where = (pc.field("b") == "y") & (pc.field("a") == 42)
    assert reader.read_table(file, ["b", "a"], where=where).num_rows == 1
    assert next(reader.read(file, ["fresh"], with_kinds=True)).num_rows == 2
    assert reader.read_table(file, ["a"], where=pc.field("a") == 41).num_rows == 0


@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize(
    ("old_type", "new_type", "values", "expected"),
    [
        (INTEGER, LONG, [-(2**31), None], [-(2**31), None]),
        (INTEGER, DOUBLE, [7], [7.0]),
        (INTEGER, DecimalType(12, 2), [2**31 - 1], [Decimal("2147483647.00")]),
        (LONG, DecimalType(20, 0), [-(2**63)], [Decimal(-(2**63))]),
        (FLOAT, DOUBLE, [1.5, None], [1.5, None]),
        (DecimalType(9, 2), DecimalType(20, 4), [Decimal("1.25")], [Decimal("1.2500")]),
        (
            ArrayType(INTEGER),
            ArrayType(LONG),
            [[1, None], None, [], [2]],
            [[1, None], None, [], [2]],
        ),
        (
            MapType(key=STRING, value=FLOAT),
            MapType(key=STRING, value=DOUBLE),
            [[("a", 1.5), ("b", None)], None, []],
            [[("a", 1.5), ("b", None)], None, []],
        ),
    ],
)
def test_widened_types(
    tmp_path: Path,
    name: str,
    old_type: DataType,
    new_type: DataType,
    values: list[object],
    expected: list[object],
) -> None:
    old = make_schema({"c": old_type})
    new = later_schema(old, [replace(old.fields[0], type=new_type)])
    folder = DataFileFolder.create(tmp_path, old, new)
    rows = pa.table({"c": pa.array(values, to_arrow(old_type))})
    (file,) = folder.write(old, rows, DataFileOptions(format=name))

    table = folder.reader(new).read_table(file, ["c"])

    assert table["c"].type == to_arrow(new_type)
    assert table["c"].to_pylist() == expected


def test_date_widened_to_timestamp(tmp_path: Path) -> None:
    old = make_schema({"c": DATE})
    new = later_schema(old, [replace(old.fields[0], type=TIMESTAMP_NTZ)])
    folder = DataFileFolder.create(tmp_path, old, new)
    (file,) = folder.write(old, pa.table({"c": pa.array([1], pa.date32())}))
    found = folder.reader(new).read_table(file, ["c"])["c"].cast(pa.int64()).to_pylist()
    assert found == [86_400_000_000]


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_date_that_is_no_timestamp(tmp_path: Path, name: str) -> None:
    """Rows beside it can be read; who reads it is told the column and the file."""
    old = make_schema({"id": INTEGER, "c": DATE})
    new = later_schema(old, [old.fields[0], replace(old.fields[1], type=TIMESTAMP_NTZ)])
    folder = DataFileFolder.create(tmp_path, old, new)
    rows = pa.table({"id": pa.array([1], pa.int32()), "c": pa.array([2_000_000_000], pa.date32())})
    (file,) = folder.write(old, rows, DataFileOptions(format=name))
    reader, where = folder.reader(new), pc.field("c") > pa.scalar(0, pa.timestamp("us"))
    assert reader.read_table(file, ["id"])["id"].to_pylist() == [1]
    for condition in (None, where):
        with pytest.raises(
            ValueOutOfRangeError, match=f"'c' was DATE .*{file.name}.*TIMESTAMP_NTZ"
        ):
            reader.read_table(file, ["id", "c"], where=condition)


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_fields_of_nested_structs(tmp_path: Path, name: str) -> None:
    inner = StructType((StructField(name="x", type=INTEGER), StructField(name="y", type=STRING)))
    old = make_schema({"c": ArrayType(inner)})
    stored = old.fields[0].type
    assert isinstance(stored, ArrayType)
    assert isinstance(stored.element, StructType)
    x, y = stored.element.fields
    changed = StructType(
        (
            replace(y, name="x"),
            StructField(name="y", type=LONG, id=99),
            replace(x, name="wide", type=LONG),
        )
    )
    new = later_schema(old, [replace(old.fields[0], type=ArrayType(changed))])
    folder = DataFileFolder.create(tmp_path, old, new)
    values = [[{"x": 1, "y": "a"}, None], None, [], [{"x": None, "y": "b"}]]
    rows = pa.table({"c": pa.array(values, to_arrow(stored))})
    (file,) = folder.write(old, rows, DataFileOptions(format=name))

    table = folder.reader(new).read_table(file, ["c"])

    assert table["c"].type == to_arrow(ArrayType(changed))
    assert table["c"].to_pylist() == [
        [{"x": "a", "y": None, "wide": 1}, None],
        None,
        [],
        [{"x": "b", "y": None, "wide": None}],
    ]
    assert table.validate(full=True) is None


# -- damage ----------------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    reader, file, folder = keyed_file(tmp_path)
    folder.file_path(file).unlink()
    with pytest.raises(MissingFileError) as caught:
        reader.read_table(file, ["id"], snapshot_id=12)
    assert caught.value.path == str(folder.file_path(file))
    assert caught.value.snapshot_id == 12


@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize("size", [0, 3, 11, 500])
def test_cut_file(tmp_path: Path, name: str, size: int) -> None:
    reader, file, folder = keyed_file(tmp_path, 100, name)
    path = folder.file_path(file)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptFileError, match=f"{size} bytes"):
        reader.read_table(file, ["id"], snapshot_id=12)
    # Even where the size is what the snapshot says.
    with pytest.raises(CorruptFileError) as caught:
        list(reader.read(replace(file, size_bytes=size), ["id"], snapshot_id=12))
    assert (caught.value.path, caught.value.snapshot_id) == (str(path), 12)


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_flipped_bits_are_never_silent(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As for large files: without the checksum of the whole file, where the format has its own.
    monkeypatch.setattr(data_file_reader, "WHOLE_FILE_BYTES_MAX", 0)
    reader, file, folder = keyed_file(tmp_path, 300, name)
    columns = ["id", "v", "s"]
    right = reader.read_table(file, columns, with_kinds=True, with_sequences=True)
    path = folder.file_path(file)
    content = path.read_bytes()
    random = np.random.default_rng(7)
    noticed = 0
    for _ in range(400):
        damaged = bytearray(content)
        damaged[random.integers(len(content))] ^= 1 << random.integers(8)
        path.write_bytes(damaged)
        try:
            found = reader.read_table(file, columns, with_kinds=True, with_sequences=True)
        except CorruptFileError:
            noticed += 1
        else:
            assert found.equals(right)
    # What is not noticed hits what a reader does not look at, such as the magic at the start.
    assert noticed > 300


def test_file_of_another_schema(tmp_path: Path) -> None:
    old = make_schema({"id": LONG})
    new = later_schema(old, [replace(old.fields[0], name="renamed")])
    folder = DataFileFolder.create(tmp_path, old, new)
    (file,) = folder.write(old, pa.table({"id": [1]}))
    with pytest.raises(CorruptFileError, match="other columns"):
        folder.reader(new).read_table(replace(file, schema_id=1), ["renamed"])


def test_file_with_another_number_of_rows(tmp_path: Path) -> None:
    reader, file, _ = keyed_file(tmp_path, 100)
    with pytest.raises(CorruptFileError, match="100 rows"):
        reader.read_table(replace(file, row_count=99), ["id"])
