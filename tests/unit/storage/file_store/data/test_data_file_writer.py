"""Goal: what the writer says about a file is true, files roll, and abort leaves nothing."""

from __future__ import annotations

import math
import zlib
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.data_file import ColumnStats
from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.errors import FileAccessError, InvalidOptionError
from table_store.storage.kernel.types import (
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructField,
    StructType,
)
from tests.fakes.data_file_folder import DataFileFolder, make_schema
from tests.fakes.failing_file_io import FailingFileIO, Fault


def test_describes_the_file(tmp_path: Path) -> None:
    schema = make_schema({"name": STRING, "id": LONG, "tags": ArrayType(STRING)}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    writer = folder.writer(schema)
    rows = pa.table({"name": ["b", None, "a"], "id": [1, 5, 9], "tags": [None, ["x"], []]})
    writer.write(rows, kinds=np.array([0, 1, 0], np.int8), sequences=np.array([7, 3, 4]))

    (file,) = writer.close()

    content = folder.file_path(file).read_bytes()
    assert (file.row_count, file.delete_count, file.size_bytes) == (3, 1, len(content))
    assert (file.key_min, file.key_max) == ((1,), (9,))
    assert (file.min_sequence, file.max_sequence, file.sequence_offset) == (3, 7, 0)
    assert file.checksum == zlib.crc32(content)
    assert dict(file.stats) == {
        1: ColumnStats(min="a", max="b", null_count=1),
        2: ColumnStats(min=1, max=9, null_count=0),
    }
    assert writer.close() == (file,)


def test_file_has_system_columns_field_ids_and_optional_columns(tmp_path: Path) -> None:
    point = StructType((StructField(name="x", type=INTEGER, nullable=False),))
    schema = make_schema({"id": LONG, "p": point}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, pa.table({"id": [1], "p": pa.array([None], pa.struct([]))}))

    arrow = pq.read_schema(folder.file_path(file))

    assert arrow.names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "p"]
    assert [f.nullable for f in arrow] == [False, False, False, True]
    ids = [f.metadata[b"PARQUET:field_id"] for f in (arrow.field("id"), arrow.field("p"))]
    assert [*ids, arrow.field("p").type.field("x").metadata[b"PARQUET:field_id"]] == [
        b"1",
        b"2",
        b"3",
    ]


def test_sorted_integer_keys_are_delta_encoded(tmp_path: Path) -> None:
    schema = make_schema({"id": LONG, "v": LONG}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    rows = pa.table({"id": range(5000), "v": [i % 7 for i in range(5000)]})
    (file,) = folder.write(schema, rows)

    group = pq.ParquetFile(folder.file_path(file)).metadata.row_group(0)

    assert "DELTA_BINARY_PACKED" in group.column(2).encodings
    assert "RLE_DICTIONARY" in group.column(3).encodings
    assert folder.file_path(file).stat().st_size < 10_000


def test_values_that_differ_are_stored_in_few_bits(tmp_path: Path) -> None:
    columns = {"d": DecimalType(12, 2), "t": TIMESTAMP, "s": STRING, "r": LONG}
    schema = make_schema({"id": LONG, **columns}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    draw = np.random.default_rng(1)
    cents, seconds = draw.integers(0, 10**7, 5000), draw.integers(0, 10**7, 5000)
    rows = pa.table(
        {
            "id": range(5000),
            "d": pa.array([Decimal(int(c)).scaleb(-2) for c in cents], pa.decimal128(12, 2)),
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
            "s": [f"text {c}" for c in cents],
            "r": draw.integers(-(2**62), 2**62, 5000),
        }
    )
    (file,) = folder.write(schema, rows)

    group = pq.ParquetFile(folder.file_path(file)).metadata.row_group(0)
    chunks = {(c := group.column(i)).path_in_schema: c for i in range(group.num_columns)}

    assert "DELTA_BINARY_PACKED" in chunks["d"].encodings
    assert "DELTA_BINARY_PACKED" in chunks["t"].encodings
    assert "DELTA_LENGTH_BYTE_ARRAY" in chunks["s"].encodings
    assert "PLAIN" in chunks["r"].encodings
    assert chunks["d"].total_compressed_size < 5000 * 25 / 8 * 1.05
    assert folder.reader(schema).read_table(file, rows.column_names).equals(rows)


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_rolls_at_the_target_size(tmp_path: Path, name: str) -> None:
    schema = make_schema({"id": LONG, "v": DOUBLE}, key=["id"])
    folder = DataFileFolder.create(tmp_path, schema)
    values = np.random.default_rng(1).random(90_000)
    rows = pa.table({"id": np.arange(90_000), "v": values})

    files = folder.write(schema, rows, DataFileOptions(format=name, target_size_bytes=200_000))

    assert len(files) > 2
    assert sum(f.row_count for f in files) == 90_000
    assert all(a.stats[1].max == b.stats[1].min - 1 for a, b in pairwise(files))  # type: ignore[operator]
    assert all(f.key_min == (f.stats[1].min,) for f in files)
    assert all(a.max_sequence + 1 == b.min_sequence for a, b in pairwise(files))
    assert len({f.name for f in files}) == len(files)
    reader = folder.reader(schema)
    assert pa.concat_tables(reader.read_table(f, ["id", "v"]) for f in files).equals(rows)


def test_many_small_writes_make_one_row_group(tmp_path: Path) -> None:
    schema = make_schema({"id": LONG})
    folder = DataFileFolder.create(tmp_path, schema)
    writer = folder.writer(schema)
    for start in range(0, 1000, 10):
        writer.write(pa.table({"id": range(start, start + 10)}), kinds=None, sequences=start)

    (file,) = writer.close()

    assert pq.ParquetFile(folder.file_path(file)).metadata.num_row_groups == 1
    assert folder.reader(schema).read_table(file, ["id"])["id"].to_pylist() == list(range(1000))
    assert (file.key_min, file.key_max) == (None, None)


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    schema = make_schema({"id": LONG})
    folder = DataFileFolder.create(tmp_path, schema)
    assert folder.write(schema, pa.table({"id": pa.array([], pa.int64())})) == ()
    assert not (tmp_path / "bucket-0").exists()


def test_rows_are_cast(tmp_path: Path) -> None:
    schema = make_schema({"id": LONG, "s": STRING})
    folder = DataFileFolder.create(tmp_path, schema)
    rows = pa.table({"id": pa.array([1], pa.int32()), "s": pa.array(["a"], pa.large_string())})
    (file,) = folder.write(schema, rows)
    read = folder.reader(schema).read_table(file, ["id", "s"])
    assert read.equals(pa.table({"id": [1], "s": ["a"]}))


def test_partition_is_a_folder(tmp_path: Path) -> None:
    schema = make_schema({"dt": STRING, "id": LONG}, partition_keys=["dt"])
    folder = DataFileFolder.create(tmp_path, schema)
    writer = folder.writer(schema, partition=("a/b",))
    writer.write(pa.table({"dt": ["a/b"], "id": [1]}), kinds=None, sequences=0)
    (file,) = writer.close()
    assert (tmp_path / "dt=a%2Fb" / "bucket-0" / file.name).exists()
    assert folder.reader(schema).read_table(file, ["id"])["id"].to_pylist() == [1]


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("is_closed", [False, True])
def test_abort_deletes_everything(tmp_path: Path, name: str, is_closed: bool) -> None:
    schema = make_schema({"v": DOUBLE})
    folder = DataFileFolder.create(tmp_path, schema)
    writer = folder.writer(schema, DataFileOptions(format=name, target_size_bytes=100_000))
    values = np.random.default_rng(1).random(40_000)
    writer.write(pa.table({"v": values}), kinds=None, sequences=0)
    assert list((tmp_path / "bucket-0").iterdir())
    if is_closed:
        writer.close()

    writer.abort()

    assert list((tmp_path / "bucket-0").iterdir()) == []


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_refusal_of_the_store_arrives_and_abort_clears_up(tmp_path: Path, name: str) -> None:
    schema = make_schema({"v": DOUBLE})
    folder = DataFileFolder.create(tmp_path, schema)
    rows = pa.table({"v": np.random.default_rng(1).random(20_000)})
    fail_at = 0
    while True:
        fail_at += 1
        failing = FailingFileIO(
            LocalFileIO(str(tmp_path)), fail_at, Fault.ERROR_BEFORE, counts_writes=True
        )
        options = DataFileOptions(format=name, target_size_bytes=50_000)
        writer = folder.writer(schema, options, file_io=failing)
        try:
            writer.write(rows, kinds=None, sequences=0)
            writer.close()
        except FileAccessError:
            writer.abort()
            assert list((tmp_path / "bucket-0").glob("*")) == []
            continue
        assert not failing.reached
        break
    assert fail_at > 3


def test_unknown_format(tmp_path: Path) -> None:
    schema = make_schema({"id": LONG})
    folder = DataFileFolder.create(tmp_path, schema)
    with pytest.raises(InvalidOptionError, match="parquet, orc, avro"):
        folder.writer(schema, DataFileOptions(format="csv"))


LONG_TEXT = "é" * 40


@pytest.mark.parametrize(
    ("values", "low", "high", "exact"),
    [
        ([1.0, math.nan, -2.0], -2.0, math.nan, True),
        ([math.nan, math.nan, None], math.nan, math.nan, True),
        ([None, None], None, None, True),
        ([math.inf, -math.inf], -math.inf, math.inf, True),
        (["a" * 64, "b" * 64], "a" * 64, "b" * 64, True),
        (["a" * 65], "a" * 64, "a" * 63 + "b", False),
        ([LONG_TEXT], "é" * 32, "é" * 31 + "ê", False),
        (["\U0010ffff" * 20, "a"], "a", None, False),
        (["\ud7ff" * 30], "\ud7ff" * 21, "\ud7ff" * 20 + "\ue000", False),
        ([b"\x01" + b"\xff" * 70], b"\x01" + b"\xff" * 63, b"\x02", False),
        ([b"\xff" * 70], b"\xff" * 64, None, False),
    ],
)
def test_bounds(
    tmp_path: Path, values: list[object], low: object, high: object, exact: bool
) -> None:
    column = pa.array(values, pa.float64() if values[-1] is None else None)
    schema = make_schema({"c": from_arrow(column.type)})
    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, pa.table({"c": column}))
    found = file.stats[1]
    assert repr((found.min, found.max)) == repr((low, high))
    assert found.exact == exact
    assert found.null_count == sum(v is None for v in values)


def test_bounds_of_several_row_groups(tmp_path: Path) -> None:
    schema = make_schema({"c": DOUBLE, "s": STRING})
    folder = DataFileFolder.create(tmp_path, schema)
    numbers = np.random.default_rng(5).random(30_000)
    numbers[20_000] = math.nan
    rows = pa.table({"c": numbers, "s": ["b"] * 15_000 + [None] * 5_000 + ["a" * 99] * 10_000})
    options = DataFileOptions(target_size_bytes=400_000)
    file, *_ = folder.write(schema, rows, options)
    assert pq.ParquetFile(folder.file_path(file)).metadata.num_row_groups > 1
    read = folder.reader(schema).read_table(file, ["c", "s"])
    assert file.stats[1].min == np.nanmin(read["c"].to_numpy())
    assert math.isnan(file.stats[1].max) == bool(np.isnan(read["c"].to_numpy()).any())  # type: ignore[arg-type]
    assert file.stats[2].null_count == read["s"].null_count


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_bounds_of_row_groups_in_and_beyond_python_s_years(
    tmp_path: Path, kind: pa.DataType
) -> None:
    """The bounds of one row group are dates, those of the next are numbers."""
    width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    far = 2**30 if pa.types.is_date32(kind) else 2**60
    column = pa.array([0, 1, 2, far, None, -far], width).cast(kind)
    schema = make_schema({"c": from_arrow(kind)})
    writer = DataFileFolder.create(tmp_path, schema).writer(schema)
    for row in range(len(column)):
        writer.write(pa.table({"c": column.slice(row, 1)}), kinds=None, sequences=row)
        writer.flush()
    (file,) = writer.close()
    assert file.stats[1] == ColumnStats(min=-far, max=far, null_count=1)
