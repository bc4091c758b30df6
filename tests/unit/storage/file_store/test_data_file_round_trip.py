"""Goal: every storable value comes back from every format as it was written."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.formats.data_format import FORMAT_NAMES
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)
from tests.fakes.data_file_folder import DataFileFolder, make_schema

_POINT = StructType(
    (
        StructField(name="x", type=INTEGER, nullable=False),
        StructField(name="when", type=TIMESTAMP),
        StructField(name="tags", type=ArrayType(STRING)),
    )
)
_VARIANTS = StructType(
    (
        StructField(name="v", type=VARIANT),
        StructField(name="w", type=VARIANT, nullable=False),
        StructField(name="at", type=TimeType(6)),
    )
)
_A_VARIANT = {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}
_UTC = dt.UTC


def _local(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


VALUES: dict[str, tuple[DataType, list[object]]] = {
    "boolean": (BOOLEAN, [True, False, None]),
    "byte": (BYTE, [-128, 127, None]),
    "short": (SHORT, [-(2**15), 2**15 - 1, None]),
    "integer": (INTEGER, [-(2**31), 2**31 - 1, None]),
    "long": (LONG, [-(2**63), 2**63 - 1, None]),
    "float": (FLOAT, [1.5, -0.0, math.inf]),
    "double": (DOUBLE, [5e-324, -math.inf, None]),
    "short decimal": (DecimalType(9, 2), [Decimal("-1234567.89"), Decimal("0.00"), None]),
    "middle decimal": (DecimalType(18, 0), [Decimal(10**18 - 1), Decimal(-(10**18) + 1), None]),
    "long decimal": (DecimalType(38, 10), [Decimal("1e27"), Decimal("-1e-10"), None]),
    "string": (STRING, ["", "Ünï\U0001f600", "x" * 5000]),
    "binary": (BINARY, [b"", b"\x00\xff", None]),
    "date": (DATE, [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "timestamp": (
        TIMESTAMP,
        [dt.datetime(1, 1, 1, tzinfo=_UTC), dt.datetime(9999, 12, 31, 1, 2, 3, 4, _UTC), None],
    ),
    "timestamp_ntz": (
        TIMESTAMP_NTZ,
        [_local("0001-01-01"), _local("9999-12-31T23:59:59.999999"), None],
    ),
    "time": (TimeType(6), [dt.time(0), dt.time(23, 59, 59, 999999), None]),
    "variant": (VARIANT, [{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, None, None]),
    "struct of variants": (
        _VARIANTS,
        [
            {"v": _A_VARIANT, "w": _A_VARIANT, "at": dt.time(1)},
            {"v": None, "w": _A_VARIANT, "at": None},
            None,
        ],
    ),
    "array of variants": (ArrayType(VARIANT), [[_A_VARIANT, None], [], None]),
    "map of variants": (MapType(key=STRING, value=VARIANT), [[("a", _A_VARIANT)], [("a", None)]]),
    "array": (ArrayType(LONG), [[], [1, None, 3], None]),
    "array of arrays": (ArrayType(ArrayType(STRING)), [[[], None, ["a"]], [], None]),
    "map": (MapType(key=STRING, value=DOUBLE), [[], [("a", 1.0), ("b", None)], None]),
    "struct": (
        _POINT,
        [
            {"x": 1, "when": dt.datetime(2020, 2, 29, tzinfo=_UTC), "tags": ["a", None]},
            {"x": 2, "when": None, "tags": None},
            None,
        ],
    ),
    "array of structs": (ArrayType(_POINT), [[None, {"x": 1, "when": None, "tags": []}], [], None]),
    "map of structs": (
        MapType(key=INTEGER, value=_POINT),
        [[(1, {"x": 1, "when": None, "tags": []}), (2, None)], [], None],
    ),
}


@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize("case", VALUES)
def test_values_come_back(tmp_path: Path, name: str, case: str) -> None:
    data_type, values = VALUES[case]
    schema = make_schema({"c.d e": data_type})
    arrow = to_arrow(schema.fields[0].type)
    rows = pa.table({"c.d e": pa.array(values, arrow)})

    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, rows, DataFileOptions(format=name))
    reader = folder.reader(schema)

    assert reader.read_table(file, ["c.d e"]).to_pydict() == rows.to_pydict()
    batches = list(reader.read(file, ["c.d e"]))
    assert pa.Table.from_batches(batches).equals(rows)
    assert batches[0].schema.field(0).type == arrow


@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize("case", VALUES)
def test_rows_go_one_by_one_from_a_table_without_key(tmp_path: Path, name: str, case: str) -> None:
    """Each value is there twice; a delete takes away one, also NULLs, also after a compaction."""
    data_type, values = VALUES[case]
    schema = replace(make_schema({"c": data_type}), options=FrozenMap({"file.format": name}))
    table = FileStoreTable.create(str(tmp_path / "t"), schema)
    arrow = to_arrow(schema.fields[0].type)
    table.append(pa.table({"c": pa.array([*values, *values], arrow)}))
    table.delete(pa.table({"c": pa.array(values, arrow)}))
    left = [str(value) for value in pa.array(values, arrow).to_pylist()]
    assert sorted(map(str, table.scan().to_arrow()["c"].to_pylist())) == sorted(left)
    table.compact()
    assert sorted(map(str, table.scan().to_arrow()["c"].to_pylist())) == sorted(left)
    table.delete(pa.table({"c": pa.array(values[1:], arrow)}))
    assert list(map(str, table.scan().to_arrow()["c"].to_pylist())) == left[:1]


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_dates_and_timestamps_beyond_the_years_of_python(tmp_path: Path, name: str) -> None:
    schema = make_schema({"d": DATE, "t": TIMESTAMP, "n": TIMESTAMP_NTZ}, key=["d"])
    days = [-(10**7), 0, 10**7]
    micros = [-(2**62), 0, 2**62]
    rows = pa.table(
        {
            "d": pa.array(days, pa.int32()).cast(pa.date32()),
            "t": pa.array(micros).cast(pa.timestamp("us", "UTC")),
            "n": pa.array(micros).cast(pa.timestamp("us")),
        }
    )

    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, rows, DataFileOptions(format=name))
    reader = folder.reader(schema)

    assert reader.read_table(file, ["d", "t", "n"]).equals(rows)
    assert (file.key_min, file.key_max) == ((-(10**7),), (10**7,))
    assert (file.stats[2].min, file.stats[3].max) == (-(2**62), 2**62)


def test_nan_comes_back(tmp_path: Path) -> None:
    schema = make_schema({"c": DOUBLE})
    rows = pa.table({"c": [math.nan, 1.0, None]})
    folder = DataFileFolder.create(tmp_path, schema)
    (file,) = folder.write(schema, rows)
    reader = folder.reader(schema)
    first, *rest = reader.read_table(file, ["c"])["c"].to_pylist()
    assert math.isnan(first)
    assert rest == [1.0, None]
