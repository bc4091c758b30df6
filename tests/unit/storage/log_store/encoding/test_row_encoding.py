"""Goal: rows become the values that Flink's formats write, and Python's own readers read."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_store.storage.log_store.encoding.json_encoding import FLINK
from table_store.storage.log_store.encoding.row_encoding import (
    CsvEncoder,
    JsonEncoder,
    RawEncoder,
)

HOUR_US = 3_600_000_000


def test_json_has_numbers_and_short_times() -> None:
    columns = [
        pa.array([Decimal("1.50"), None]),
        pa.array([HOUR_US, HOUR_US + 120_000], pa.timestamp("us")),
        pa.array([HOUR_US, None], pa.timestamp("us", "UTC")),
        pa.array([[{"d": Decimal("2.0")}], []]),
    ]
    encoder = JsonEncoder(("n", "t", "z", "s"))
    assert encoder.encoded(columns).to_pylist() == [
        b'{"n":1.50,"t":"1970-01-01 01:00:00","z":"1970-01-01 01:00:00Z","s":[{"d":2.0}]}',
        b'{"n":null,"t":"1970-01-01 01:00:00.12","z":null,"s":[]}',
    ]
    iso = JsonEncoder(("t",), replace(FLINK, separator="T"))
    assert iso.encoded(columns[1:2]).to_pylist()[0] == b'{"t":"1970-01-01T01:00:00"}'


@given(st.lists(st.tuples(st.text('ab;"\n\r-'), st.integers(0, 9)), min_size=1, max_size=20))
def test_lines_are_read_back(rows: list[tuple[str, int]]) -> None:
    columns = [pa.array([text for text, _ in rows]), pa.array([n for _, n in rows])]
    values = CsvEncoder(";", "-").encoded(columns).to_pylist()
    for value, (text, number) in zip(values, rows, strict=True):
        (read,) = csv.reader(io.StringIO(value.decode(), newline=""), delimiter=";")
        assert read == [text, str(number)]


def test_null_has_a_text_of_its_own() -> None:
    columns = [pa.array(["-", None, "x"]), pa.array([1, None, 2])]
    assert CsvEncoder(",", "-").encoded(columns).to_pylist() == [b'"-",1', b"-,-", b"x,2"]
    assert CsvEncoder(",", "").encoded(columns).to_pylist() == [b"-,1", b",", b"x,2"]


def test_no_line_is_empty() -> None:
    texts = pa.array(["x", "", None])
    assert CsvEncoder(",", "").encoded([texts]).to_pylist() == [b"x", b'""', b'""']
    assert CsvEncoder(",", "-").encoded([texts]).to_pylist() == [b"x", b'""', b"-"]
    assert CsvEncoder(",", "").encoded([pa.array([1, None])]).to_pylist() == [b"1", b'""']
    assert CsvEncoder(",", "").encoded([texts, texts]).to_pylist() == [b"x,x", b",", b","]


def test_raw_values_stay_as_they_are() -> None:
    assert RawEncoder().encoded([pa.array(["ä", None])]).to_pylist() == ["ä".encode(), None]
