"""Goal: every value of every type that a table can hold comes back from its JSON as it was."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.kernel.types import ARROW_PRIMITIVES
from table_store.storage.log_store.encoding.json_encoding import json_objects, json_values
from tests.servers.json_columns import column_of, parse_documents

VARIANT = ARROW_PRIMITIVES["variant"]
UTC = dt.UTC
NESTED = pa.struct(
    [
        pa.field("a b", pa.list_(pa.decimal128(38, 10))),
        pa.field('"q"', pa.map_(pa.string(), pa.list_(pa.binary()))),
        pa.field("m", pa.map_(pa.date32(), pa.struct([("x", pa.float64())]))),
    ]
)

CASES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False, None]),
    (pa.int8(), [-128, 127, None]),
    (pa.int64(), [-(2**63), 2**63 - 1, 0, None]),
    (pa.float64(), [1.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, 1e22, 123456789.125, None]),
    (pa.float64(), [float("inf"), float("-inf"), 1.5, None]),
    (pa.float32(), [0.1, 3.4028235e38, 1e-45, float("inf"), None]),
    (pa.decimal128(38, 38), [Decimal("1E-38"), Decimal("-0.5"), Decimal(0), None]),
    (pa.decimal128(10, 2), [Decimal("12.50"), Decimal("-99999999.99"), None]),
    (pa.decimal128(38, 0), [Decimal("9" * 38), None]),
    (pa.string(), ["", 'quo"te', "back\\slash", "\x00\x01\x1f\n\t", "grüße 🎈", "null", None]),
    (pa.binary(), [b"", b"\x00", b"ab", b"abc", bytes(range(256)), None]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), None]),
    (pa.time64("us"), [dt.time(0, 0), dt.time(23, 59, 59, 999999), None]),
    (pa.timestamp("us"), [-62_135_596_800_000_000, 1_769_860_800_000_001, None]),
    (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1900, 1, 1, tzinfo=UTC), dt.datetime(2026, 1, 31, 1, 2, 3, 4, UTC), None],
    ),
    (VARIANT, [{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, None]),
    (pa.list_(pa.string()), [[], ["a", None, '"'], None]),
    (pa.list_(pa.list_(pa.int32())), [[[1], [], None], [], None]),
    (pa.map_(pa.string(), pa.int64()), [[("k", 1), ("", None)], [], None]),
    (pa.map_(pa.int32(), pa.bool_()), [[(1, True), (2, None)], [], None]),
    (
        NESTED,
        [
            {"a b": [Decimal("1.5")], '"q"': [("k", [b"x", None])], "m": []},
            {"a b": None, '"q"': None, "m": [(dt.date(2026, 1, 1), {"x": float("inf")})]},
            None,
        ],
    ),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda c: str(c)[:40])
def test_a_column_comes_back_as_it_was(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array(values, kind)
    assert round_trip(column).equals(column)


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda c: str(c)[:40])
def test_a_slice_comes_back_as_it_was(kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array([*values, *values], kind).slice(1, len(values))
    assert round_trip(column).to_pylist() == column.to_pylist()


def test_an_empty_column_stays_empty() -> None:
    for kind, _ in CASES:
        assert len(json_values(pa.array([], kind))) == 0


def test_text_is_json_that_anything_reads() -> None:
    column = pa.array(["\x00", '"\\', "é\n\u2028"])
    assert [json.loads(text) for text in json_values(column).to_pylist()] == column.to_pylist()


def test_nan_is_a_text() -> None:
    column = pa.array([float("nan"), 1.0])
    assert json_values(column).to_pylist() == ['"NaN"', "1"]
    assert str(round_trip(column)[0]) == "nan"


def test_the_row_is_an_object_with_columns_in_order() -> None:
    rows = json_objects([pa.array([1, None]), pa.array(["x", "y"])], ["id", 'na"me'])
    assert rows.to_pylist() == ['{"id":1,"na\\"me":"x"}', '{"id":null,"na\\"me":"y"}']


@given(st.lists(st.one_of(st.none(), st.text())))
def test_any_text_comes_back(values: list[str | None]) -> None:
    column = pa.array(values, pa.string())
    assert round_trip(column).equals(column)


@given(st.lists(st.one_of(st.none(), st.binary())))
def test_any_bytes_come_back(values: list[bytes | None]) -> None:
    column = pa.array(values, pa.binary())
    assert round_trip(column).equals(column)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False))))
def test_any_number_comes_back(values: list[float | None]) -> None:
    column = pa.array(values, pa.float64())
    assert round_trip(column).equals(column)


def round_trip(column: pa.Array) -> pa.Array:
    documents = [text.encode() for text in json_values(column).to_pylist()]
    return column_of(parse_documents(documents), column.type)
