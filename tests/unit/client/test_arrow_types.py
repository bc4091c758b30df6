"""Goal: the documentation says for each type of Arrow in which columns its values are stored."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.write.conformed_column import conformed
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import (
    ARROW_PRIMITIVES,
    LONG,
    STRING,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    TimeType,
)
from tests.checkout import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "python.md"
ZONE: Final = "America/New_York"
_DAY: Final = dt.datetime.fromisoformat("2024-07-01")


class _Other(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.other")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def _stored(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


_ONE: Final = pa.array([1], pa.int64())
SAMPLES: Final[dict[str, pa.Array]] = {
    "null": pa.nulls(1),
    "bool": pa.array([True]),
    "arrow.bool8": _stored(pa.bool8(), pa.array([1], pa.int8())),
    **{
        str(kind): pa.array([1], kind)
        for kind in (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
            *(pa.time32("s"), pa.time32("ms"), pa.time64("us")),
            *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")),
        )
    },
    "float16": pa.array([np.float16(1)], pa.float16()),
    "float32": pa.array([1], pa.float32()),
    "float64": pa.array([1], pa.float64()),
    "decimal32": pa.array([1], pa.decimal32(9, 2)),
    "decimal64": pa.array([1], pa.decimal64(18, 2)),
    "decimal128": pa.array([1], pa.decimal128(38, 2)),
    "decimal256": pa.array([1], pa.decimal256(76, 2)),
    "string": pa.array(["a"]),
    "large_string": pa.array(["a"], pa.large_string()),
    "string_view": pa.array(["a"], pa.string_view()),
    "arrow.json": _stored(pa.json_(), pa.array(["1"])),
    "binary": pa.array([b"a"]),
    "large_binary": pa.array([b"a"], pa.large_binary()),
    "binary_view": pa.array([b"a"], pa.binary_view()),
    "fixed_size_binary": pa.array([b"ab"], pa.binary(2)),
    "arrow.uuid": _stored(pa.uuid(), pa.array([b"0" * 16], pa.binary(16))),
    "date32": pa.array([_DAY.date()], pa.date32()),
    "date64": pa.array([_DAY.date()], pa.date64()),
    "time64[ns]": pa.array([1000], pa.time64("ns")),
    "timestamp[ns]": pa.array([1000], pa.timestamp("ns")),
    **{
        f"timestamp[{unit}, tz]": pa.array([1000], pa.timestamp(unit, ZONE))
        for unit in ("s", "ms", "us", "ns")
    },
    "list": pa.array([[1]]),
    "large_list": pa.array([[1]], pa.large_list(pa.int64())),
    "fixed_size_list": pa.array([[1]], pa.list_(pa.int64(), 1)),
    "list_view": pa.array([[1]], pa.list_view(pa.int64())),
    "large_list_view": pa.array([[1]], pa.large_list_view(pa.int64())),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1}]),
    "dictionary": _ONE.dictionary_encode(),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([1], _ONE),
    "duration": pa.array([1], pa.duration("us")),
    "month_day_nano_interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "dense_union": pa.UnionArray.from_dense(
        pa.array([0], pa.int8()), pa.array([0], pa.int32()), [_ONE]
    ),
    "sparse_union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [_ONE]),
    "arrow.opaque": _stored(pa.opaque(pa.int64(), "odd", "somebody"), _ONE),
    "arrow.fixed_shape_tensor": _stored(
        pa.fixed_shape_tensor(pa.int64(), [1]), pa.array([[1]], pa.list_(pa.int64(), 1))
    ),
    "extension types of other libraries": _stored(_Other(), _ONE),
}
_VARIANT: Final = pa.array([{"value": b"\0", "metadata": b"\1\0\0"}])

COLUMNS: Final[dict[str, DataType]] = {
    **{PrimitiveType(name).sql_name(): PrimitiveType(name) for name in ARROW_PRIMITIVES},
    "DECIMAL": DecimalType(10, 2),
    "TIME": TimeType(3),
    "ARRAY": ArrayType(LONG),
    "MAP": MapType(key=STRING, value=LONG),
    "STRUCT": StructType((StructField(name="a", type=LONG),)),
}
_NO_SAMPLE: Final = {"Type_INTERVAL_MONTHS", "Type_INTERVAL_DAY_TIME"}
"""Python can make neither."""


def documented() -> dict[str, tuple[set[str], set[str]]]:
    """By type of Arrow: the columns that take it, and those that do with a time zone."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    table = PAGE.read_text().partition("### Types of Arrow")[2].partition("\n## ")[0]
    for line in table.splitlines():
        if not line.startswith("| ") or line.startswith(("| Arrow", "| ---")):
            continue
        types, columns = line.strip("| ").split(" | ")
        plain, _, zoned = columns.partition("with `time_zone`")
        words = [set(re.findall(r"\b[A-Z_]{3,}\b", text)) - {"NULL"} for text in (plain, zoned)]
        if columns.startswith("every type"):
            words[0] = set(COLUMNS)
        if columns.startswith("as the type of their values"):
            words[0] = found["int64"][0]
        for name in re.split(r", (?!tz)", types):
            found[name.strip("`")] = words[0], words[0] | words[1]
    return found


DOCUMENTED: Final = documented()


def columns_that_take(values: pa.Array, zone: str | None) -> set[str]:
    taken = set()
    for name, kind in COLUMNS.items():
        given = _VARIANT if name == "VARIANT" and pa.types.is_struct(values.type) else values
        try:
            stored: Any = conformed(given, Field(id=0, name="x", type=kind), zone)
        except TableStoreError as error:
            if "'x'" not in str(error):
                raise
            continue
        assert len(stored) == 1
        assert stored.null_count == pa.types.is_null(given.type)
        taken.add(name)
    return taken


@pytest.mark.parametrize("name", SAMPLES)
def test_each_type_is_stored_where_the_page_says(name: str) -> None:
    plain, zoned = DOCUMENTED[name]
    assert columns_that_take(SAMPLES[name], None) == plain
    assert columns_that_take(SAMPLES[name], ZONE) == zoned


def test_the_page_has_every_type_of_arrow() -> None:
    assert set(DOCUMENTED) == set(SAMPLES)
    known = {kind.id for kind in (values.type for values in SAMPLES.values())}
    ids = {name: number for name, number in vars(pa.lib).items() if name.startswith("Type_")}
    assert {name for name, number in ids.items() if number not in known} == _NO_SAMPLE
    extensions = {type(values.type) for values in SAMPLES.values()}
    own = pa.BaseExtensionType.__subclasses__()
    bases = {pa.ExtensionType, pa.lib.UnknownExtensionType}
    assert {kind for kind in own if kind.__module__ == "pyarrow.lib"} - bases <= extensions
