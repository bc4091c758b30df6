"""Goal: columns of a Parquet file come exactly, whoever has written it, or are refused by name.

What is accepted follows plain Spark's reader with the schema of the table; how values become
others is tested for `conformed`.
"""

from __future__ import annotations

import datetime as dt
import io
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.catalog.connectors.filesystem.parquet_rows import parquet_rows
from table_store.catalog.connectors.filesystem.taken_file import FilePart
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import DataType, parse_type
from tests.values.kinds import Array, Kind, Map, Struct
from tests.values.spark_json import spark_json

EPOCH = dt.datetime.fromisoformat("1970-01-01")
NOON = dt.datetime.fromisoformat("2024-07-01 12:00")
AB = Struct((("a", "INT"), ("b", "INT")))


def kind_of(kind: Kind) -> DataType:
    return parse_type(spark_json(kind))


def written(rows: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(rows, file, **options)
    return file.getvalue()


def read(content: bytes, columns: dict[str, Kind]) -> pa.Table:
    fields = [Field(id=i, name=n, type=kind_of(k)) for i, (n, k) in enumerate(columns.items())]
    found = parquet_rows(pa.BufferReader(content), fields, FilePart(()))
    batches = [pa.RecordBatch.from_arrays(arrays, names=list(columns)) for arrays, _ in found]
    return pa.Table.from_batches(batches) if batches else pa.table({})


def column(values: pa.Array, kind: Kind, **options: Any) -> list[Any]:
    """The values as a column of this kind, after a way through a file."""
    found = read(written(pa.table({"a": values}), **options), {"a": kind})["a"]
    return found.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array(["x", "y", "x"]).dictionary_encode(), "STRING", ["x", "y", "x"]),
        (pa.array(["x"], pa.large_string()), "STRING", ["x"]),
        (pa.array([["x"]], pa.large_list(pa.large_string())), Array("STRING"), [["x"]]),
        (pa.array([2**64 - 1], pa.uint64()), "DECIMAL(20,0)", [Decimal(2**64 - 1)]),
        (
            pa.array([1_000], pa.timestamp("ns")),
            "TIMESTAMP_NTZ",
            [EPOCH.replace(microsecond=1)],
        ),
        (pa.array([b"ab"]), "STRING", ["ab"]),
        (pa.array([b"ab"], pa.binary(2)), "BINARY", [b"ab"]),
        (pa.array([{"b": 1, "a": 2}]), AB, [{"a": 2, "b": 1}]),
        (pa.array([{"B": 1, "A": 2}]), AB, [{"a": 2, "b": 1}]),
        (pa.array([{"a": 1, "c": 2}]), AB, [{"a": 1, "b": None}]),
        (pa.array([{"a": 1}, None]), AB, [{"a": 1, "b": None}, None]),
        (pa.array([[{"A": 1}]]), Array(AB), [[{"a": 1, "b": None}]]),
        (pa.nulls(2), "INT", [None, None]),
        (pa.array([Decimal("0.1")]), "DOUBLE", [0.1]),
    ],
)
def test_what_the_column_can_hold_comes(values: pa.Array, kind: Kind, expected: list[Any]) -> None:
    assert column(values, kind) == expected


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        (pa.array(["1"]), "INT", "column a: its values of type string do not fit"),
        (pa.array([True]), "INT", "column a: its values of type bool do not fit"),
        (pa.array([1]), "STRING", "column a: its values of type int64 do not fit"),
        (pa.array([1e39]), "FLOAT", "beyond the range of float"),
        (pa.array([0.125]), "DECIMAL(9,2)", "would cause data loss"),
        (pa.array([2**64 - 1], pa.uint64()), "BIGINT", "not in range"),
        (pa.array([1], pa.timestamp("ns")), "TIMESTAMP_NTZ", "would lose data"),
        (pa.array([b"a\xff"]), "STRING", "UTF8"),
        (pa.array([NOON]), "TIMESTAMP", "declare it as TIMESTAMP_NTZ, and CAST it"),
        (pa.array([NOON], pa.timestamp("us", "UTC")), "TIMESTAMP_NTZ", "declare it as TIMESTAMP, "),
        (
            pa.array([{"a": None, "b": 1}]),
            Struct((("a", "INT"), ("b", "INT")), frozenset("a")),
            r"a\.a is NOT NULL",
        ),
        (pa.array([{"b": 1}]), Struct((("a", "INT"),), frozenset("a")), r"a\.a is NOT NULL"),
        (
            pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int32())),
            Map("INT"),
            "column a has a map with the key 'k' twice",
        ),
    ],
)
def test_what_the_column_cannot_hold_is_refused(values: pa.Array, kind: Kind, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        column(values, kind)


def test_int96_is_an_instant_in_any_year() -> None:
    """Some programs write it in place of a timestamp; nested ones are found, too."""
    moments = [NOON.replace(year=year, microsecond=5) for year in (1, 1582, 1969, 2024, 9999)]
    instants = [moment.replace(tzinfo=dt.UTC) for moment in moments]
    rows = pa.table({"s": [{"x": 1, "l": [m]} for m in moments], "t": moments, "n": moments})
    file = written(rows, use_deprecated_int96_timestamps=True)
    kinds: dict[str, Kind] = {
        "n": "TIMESTAMP_NTZ",
        "t": "TIMESTAMP",
        "s": Struct((("l", Array("TIMESTAMP")),)),
    }
    found = read(file, kinds)
    assert found["n"].to_pylist() == moments
    assert found["t"].to_pylist() == instants
    assert found["s"].to_pylist() == [{"l": [instant]} for instant in instants]


def test_int96_before_the_first_day_of_its_calendar_is_refused() -> None:
    """Its days count from the year -4712, and Arrow takes negative ones for large ones."""
    file = bytearray(
        written(
            pa.table({"t": [NOON]}),
            use_deprecated_int96_timestamps=True,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
        )
    )
    day = (2_440_588 + (NOON - EPOCH).days).to_bytes(4, "little")
    assert file.count(day) == 1
    at = file.index(day)
    file[at : at + 4] = (-1).to_bytes(4, "little", signed=True)
    with pytest.raises(ValueError, match="INT96 timestamp before the year -4712"):
        read(bytes(file), {"t": "TIMESTAMP"})


def test_rows_that_arrow_does_not_find_are_missed() -> None:
    """With a page for each value Arrow ends before the first row of a list, and reports nothing."""
    file = written(pa.table({"a": [[1, 2]]}), data_page_size=1)
    with pytest.raises(ValueError, match="its footer says that it has 1 rows more or less"):
        read(file, {"a": Array("BIGINT")})


def test_names_that_differ_in_case() -> None:
    file = written(pa.table([[1], [2], [3]], names=["A", "a", "x"]))
    assert read(file, {"X": "BIGINT"})["X"].to_pylist() == [3]
    assert read(file, {"a": "BIGINT"})["a"].to_pylist() == [2]
    assert read(file, {"A": "BIGINT"})["A"].to_pylist() == [1]
    file = written(pa.table([[1], [2]], names=["AB", "aB"]))
    with pytest.raises(ValueError, match="column ab: rows have it more than once: AB, aB"):
        read(file, {"ab": "BIGINT"})
    twice = pa.StructArray.from_arrays([pa.array([1])] * 2, names=["A", "A"])
    with pytest.raises(ValueError, match=r"column s\.a: rows have it more than once: A, A"):
        read(written(pa.table({"s": twice})), {"s": Struct((("a", "BIGINT"),))})


@pytest.mark.parametrize("name", ["a b", "x.y", "q'q", 'q"q', "a,b", "a`b", "😀", "größe", ""])
def test_any_name(name: str) -> None:
    file = written(pa.table({"x": [{"y": 1}], name: [2]}))
    assert read(file, {name: "BIGINT"})[name].to_pylist() == [2]
    assert read(file, {"x": Struct((("y", "INT"),))})["x"].to_pylist() == [{"y": 1}]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_every_codec_and_page(codec: str, version: str) -> None:
    dice = random.Random(1)
    rows = pa.table({"s": [f"{dice.random()}" * 40 for _ in range(5_000)]})
    options = {"dictionary_pagesize_limit": 8 << 20, "data_page_version": version}
    file = written(rows, compression=codec, row_group_size=3_000, **options)
    assert read(file, {"s": "STRING"}).equals(rows)


def test_files_without_rows() -> None:
    empty = pa.table({"a": pa.array([], pa.int64())})
    assert read(written(empty), {"a": "BIGINT"}).num_rows == 0
    several = io.BytesIO()
    with pq.ParquetWriter(several, empty.schema) as writer:
        for rows in (empty, pa.table({"a": [1]}), empty):
            writer.write_table(rows)
    assert read(several.getvalue(), {"a": "BIGINT"})["a"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("metadata", "refused"),
    [
        ({}, ()),
        ({"version": "3.5.0"}, ()),
        ({"version": "2.4.8"}, ("d", "t", "i")),
        ({"version": "3.0.1"}, ("i",)),
        ({"version": "3.5.0", "legacyDateTime": ""}, ("d", "t")),
        ({"version": "3.5.0", "legacyINT96": ""}, ("i",)),
    ],
)
def test_the_old_calendar_of_spark_is_refused(
    metadata: dict[str, str], refused: tuple[str, ...]
) -> None:
    """Its dates are others in Arrow; those that are the same in both calendars come."""
    old, new = dt.date(1582, 10, 14), dt.date(1582, 10, 15)
    at = EPOCH.replace(year=1900)
    before = at - dt.timedelta(microseconds=1)
    kinds = {"d": "DATE", "t": "TIMESTAMP_NTZ", "i": "TIMESTAMP_NTZ"}
    keys = {f"org.apache.spark.{key}": text for key, text in metadata.items()}
    for name, kind in kinds.items():
        for values, is_old in (
            ([new if name == "d" else at], False),
            ([old if name == "d" else before], True),
        ):
            rows = pa.table({name: [values]}).replace_schema_metadata(keys)
            file = written(rows, use_deprecated_int96_timestamps=name == "i")
            if is_old and name in refused:
                with pytest.raises(ValueError, match="calendar of Spark 2"):
                    read(file, {name: Array(kind)})
            else:
                assert read(file, {name: Array(kind)})[name].to_pylist() == [values]
