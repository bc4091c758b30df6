"""Goal: values become the rows that Python's own parsers find in them, and bad ones are named."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.connectors.formats.message_formats import (
    BadValue,
    CsvFormat,
    JsonFormat,
    MessageFormat,
    ParsedRows,
    RawFormat,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)
from table_store.storage.log_store.encoding.row_encoding import CsvEncoder, JsonEncoder

PLACE = StructType((StructField(name="x", type=DOUBLE), StructField(name="day", type=DATE)))


def fields(nullable: bool = True, **types: DataType) -> tuple[Field, ...]:
    return tuple(
        Field(id=number, name=name, type=kind, nullable=nullable)
        for number, (name, kind) in enumerate(types.items())
    )


def found(
    form: MessageFormat, values: list[bytes], names: list[str] | None = None
) -> tuple[list[tuple[object, ...]], dict[int, str]]:
    """The rows, each behind the place of its value, and why others are none, by place."""
    wanted = [field.name for field in form.columns] if names is None else names
    rows: list[tuple[object, ...]] = []
    bad = {}
    for part in form.parsed(pa.array(values, pa.large_binary()), wanted):
        if isinstance(part, BadValue):
            bad[part.place] = part.reason
            continue
        assert isinstance(part, ParsedRows)
        columns = [column.to_pylist() for column in part.columns]
        places = range(part.first, part.first + part.count)
        rows += zip(places, *columns, strict=True)
    return rows, bad


ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "s": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "b": st.none() | st.booleans(),
        "l": st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
        "other": st.text(max_size=5) | st.lists(st.booleans()),
    },
)
NO_ROWS = st.sampled_from([b"", b"[]", b"{", b'{"i": "1"}', b"\xff", b"{} {}", b'{"i": 1}{"i": 2}'])


@given(st.lists(st.one_of(ITEMS, NO_ROWS), max_size=12), st.sampled_from([None, 2]))
def test_json_is_read_as_python_reads_it(items: list[object], indent: int | None) -> None:
    form = JsonFormat(fields(i=LONG, s=STRING, f=DOUBLE, b=BOOLEAN, l=ArrayType(LONG)))
    texts = [i if isinstance(i, bytes) else json.dumps(i, indent=indent).encode() for i in items]
    rows, bad = found(form, texts)
    assert rows == [
        (place, *(item.get(name) for name in "isfbl"))
        for place, item in enumerate(items)
        if isinstance(item, dict)
    ]
    assert sorted(bad) == [place for place, i in enumerate(items) if isinstance(i, bytes)]


NESTED = StructType(
    (
        StructField(name="x", type=LONG),
        StructField(name="l", type=ArrayType(StructType((StructField(name="y", type=LONG),)))),
    )
)
INNER = st.fixed_dictionaries({}, optional={"y": st.none() | st.integers(0, 9)})
OUTER = st.fixed_dictionaries(
    {}, optional={"x": st.none() | st.just(1), "l": st.none() | st.lists(st.none() | INNER)}
)
MAYBE = st.fixed_dictionaries(
    {}, optional={"a": st.none() | st.integers(0, 9), "s": st.none() | OUTER}
)


def has_fields(value: Any, wanted: Any) -> bool:
    if value is None or not wanted:
        return True
    if isinstance(value, list):
        return all(has_fields(item, wanted) for item in value)
    return all(name in value and has_fields(value[name], below) for name, below in wanted.items())


@given(st.lists(MAYBE, max_size=12))
def test_missing_fields_are_told_from_null(items: list[dict[str, object]]) -> None:
    form = JsonFormat(fields(a=LONG, s=NESTED), needs_fields=True)
    wanted: Any = {"a": {}, "s": {"x": {}, "l": {"y": {}}}}
    rows, bad = found(form, [json.dumps(item).encode() for item in items], ["a"])
    expected = {n: item for n, item in enumerate(items) if has_fields(item, wanted)}
    assert [row[0] for row in sorted(rows)] == list(expected)
    assert {row[0]: row[1] for row in rows} == {n: item["a"] for n, item in expected.items()}
    assert bad.keys() == {*range(len(items))} - expected.keys()
    assert all(reason.endswith(" is missing") for reason in bad.values())


SPELLED = st.sampled_from(["NaN", "Infinity", "-Infinity", '"NaN"', "\\", "x"])
POINT = StructType((StructField(name='"f\\', type=DOUBLE), StructField(name="s", type=STRING)))


POINTS = st.tuples(st.floats(), SPELLED).map(lambda point: {'"f\\': point[0], "s": point[1]})


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(),
            st.none() | SPELLED,
            st.none() | st.lists(st.lists(st.floats(width=32), max_size=2), max_size=3),
            st.none() | st.lists(st.none() | POINTS, max_size=3),
        ),
        max_size=5,
    )
)
def test_json_is_read_as_it_was_written(items: list[tuple[object, ...]]) -> None:
    """All floating-point numbers included, and texts that look like some."""
    columns = fields(f=DOUBLE, s=STRING, a=ArrayType(ArrayType(FLOAT)), p=ArrayType(POINT))
    arrays = [
        pa.array([item[place] for item in items], to_arrow(field.type))
        for place, field in enumerate(columns)
    ]
    written = JsonEncoder([field.name for field in columns]).encoded(arrays).to_pylist()
    rows, bad = found(JsonFormat(columns), written)
    assert not bad
    expected = [(place, *item) for place, item in enumerate(items)]
    assert repr(rows) == repr(expected)  # a NaN does not equal itself
    for needs_fields in (True, False):
        rows, bad = found(JsonFormat(columns, needs_fields), written, ["s"])
        assert rows == [(place, item[1]) for place, item in enumerate(items)]


def test_numbers_that_are_spelled_in_bad_json() -> None:
    form = JsonFormat(fields(f=DOUBLE, o=STRING))
    rows, bad = found(
        form,
        [
            b'{"f": "NaN", "o": "}"}',
            b'{"f": "nan"}',
            b'{"\\x": 1, "f": "Infinity"}',
            b'{"f": "NaN"}}',
            b'{"f": ["NaN"]}',
            b'{"f" : "-Infinity", "p": {"f": "NaN", "g": [{}]}}',
            b'{"o": "NaN", "\\u0066": "Infinity"}',
        ],
    )
    assert repr(rows) == "[(0, nan, '}'), (5, -inf, None), (6, inf, 'NaN')]"
    assert sorted(bad) == [1, 2, 3, 4]


def test_types_of_json() -> None:
    form = JsonFormat(
        fields(d=DecimalType(9, 2), t=TIMESTAMP, n=TIMESTAMP_NTZ, a=DATE, p=PLACE, i=INTEGER)
    )
    whole = {
        "d": "1.5",
        "t": "2026-01-02T03:04:05+01:00",
        "n": "2026-01-02 03:04:05.123456",
        "a": "2026-01-02",
        "p": {"x": 1, "day": "2026-01-03"},
        "i": 1,
    }
    rows, bad = found(
        form,
        [
            json.dumps(whole).encode(),
            b'{"d": 1.555}',
            b'{"t": 5}',
            b'{"a": "yesterday"}',
            b'{"i": 3000000000}',
            b'{"i": 1.5}',
            b'{"D": "x", "d": 2}',
        ],
    )
    at = datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)
    naive = datetime(2026, 1, 2, 3, 4, 5, 123456)  # noqa: DTZ001 - it has no zone
    place = {"x": 1.0, "day": date(2026, 1, 3)}
    assert rows == [
        (0, Decimal("1.50"), at, naive, date(2026, 1, 2), place, 1),
        (6, Decimal("2.00"), None, None, None, None, None),
    ]
    assert sorted(bad) == [1, 2, 3, 4, 5]
    assert "requires scale 3" in bad[1]


def test_only_what_is_read_is_parsed() -> None:
    form = JsonFormat(fields(a=LONG, b=LONG))
    assert found(form, [b'{"a": 1, "b": "no"}', b"no"], ["a"])[0] == [(0, 1)]
    rows, bad = found(form, [b'{"a": 1}', b"no", b'{"b": 2}'], [])
    assert (rows, list(bad)) == ([(0,), (2,)], [1])


def test_a_column_that_is_not_null_needs_a_value() -> None:
    form = JsonFormat(fields(nullable=False, a=LONG))
    rows, bad = found(form, [b'{"a": 1}', b'{"a": null}', b"{}"])
    assert rows == [(0, 1)]
    assert bad == dict.fromkeys((1, 2), "column a is NOT NULL, and has no value")


def test_a_required_part_without_a_value_makes_a_bad_row() -> None:
    point = StructType((StructField(name="x", type=LONG, nullable=False),))
    lengths = ArrayType(LONG, contains_null=False)
    values = [b'{"p": {"x": 1}, "l": [1]}', b'{"p": {}}', b'{"p": {"x": null}}', b'{"l": [null]}']
    rows, bad = found(JsonFormat(fields(p=point, l=lengths)), [*values, b"{}"])
    assert rows == [(0, {"x": 1}, [1]), (4, None, None)]
    assert bad == {
        1: "p.x is NOT NULL, and has no value",
        2: "p.x is NOT NULL, and has no value",
        3: "l.element is NOT NULL, and has no value",
    }


@pytest.mark.parametrize("delimiter", [",", "\t", "]", "\\", "^", "-"])
def test_a_quoted_field_ends_at_its_second_quote(delimiter: str) -> None:
    """As in RFC 4180; Spark writes quotes with a backslash, unless it has the option `escape`."""
    form = CsvFormat(fields(a=STRING, b=STRING), delimiter, None)
    lines = ['"a ""q"""|5" pipe', "x|y", '"a \\"q\\" b"|x', '"a"x|y', 'x|"a" ', '"\\""|x', '""x|']
    rows, bad = found(form, [line.replace("|", delimiter).encode() for line in lines])
    if delimiter != "\\":
        assert rows == [(0, 'a "q"', '5" pipe'), (1, "x", "y")]
    assert set(bad) >= {2, 3, 4, 6}


def test_a_byte_order_mark_in_a_line_is_part_of_its_text() -> None:
    form = CsvFormat(fields(a=STRING, b=STRING), ",", None)
    rows, bad = found(form, ["\ufeffx,y".encode(), "x,\ufeffy".encode()])
    assert (rows, bad) == ([(0, "\ufeffx", "y"), (1, "x", "\ufeffy")], {})


def test_a_time_drops_the_digits_that_its_type_lacks() -> None:
    """As an INSERT of Spark does."""
    rows, bad = found(CsvFormat(fields(t=TimeType(0)), ",", None), [b"12:00:00.987654", b"12:00"])
    assert (rows, bad) == ([(0, time(12)), (1, time(12))], {})


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**31), 2**31 - 1),
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=9),
            st.none() | st.decimals(-999, 999, places=2),
        ),
        max_size=9,
    ),
    st.sampled_from(",;|\t"),
)
def test_csv_is_read_as_python_wrote_it(
    items: list[tuple[int, str, Decimal | None]], delimiter: str
) -> None:
    form = CsvFormat(fields(i=INTEGER, s=STRING, d=DecimalType(9, 2)), delimiter, None)
    texts = []
    for item in items:
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter).writerow(item)
        texts.append(out.getvalue().encode())
    rows, bad = found(form, [*texts, b"1", b"", f"x{delimiter}{delimiter}".encode()])
    assert rows == [(place, *item) for place, item in enumerate(items)]
    assert sorted(bad) == [len(items), len(items) + 1, len(items) + 2]
    if items:
        assert [row[1] for row in found(form, texts, ["d"])[0]] == [d for _, _, d in items]


def test_null_in_csv() -> None:
    form = CsvFormat(fields(i=INTEGER, s=STRING, t=TIMESTAMP), ";", "NULL")
    rows, bad = found(form, [b"NULL;NULL;NULL", b";;2026-01-02 03:04:05"])
    assert not bad
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert rows == [(0, None, None, None), (1, None, "", at)]


def test_a_text_in_quotes_is_not_null() -> None:
    form = CsvFormat(fields(i=INTEGER, s=STRING), ",", "NULL")
    lines = [b'2,"NULL"', b"3,NULL", b'"","nul""l"', b'NULL,""']
    rows, bad = found(form, lines)
    assert not bad
    assert rows == [(0, 2, "NULL"), (1, 3, None), (2, None, 'nul"l'), (3, None, "")]
    for names in (["s"], ["i"], ["s", "i"], []):
        places = [form.names.index(name) for name in names]
        expected = [(row[0], *(row[1 + place] for place in places)) for row in rows]
        assert found(form, lines, names) == (expected, {})
    (reason,) = found(form, [b'1,"a'])[1].values()
    assert reason.startswith("it is not one line of CSV")


@given(
    st.lists(
        st.tuples(st.none() | st.text('NUL",\n\r ', max_size=4), st.none() | st.integers(0, 9))
    ),
    st.sampled_from(["NULL", "N", " "]),
)
def test_csv_is_read_as_it_was_written(
    items: list[tuple[str | None, int | None]], null: str
) -> None:
    columns = [
        pa.array([text for text, _ in items], pa.string()),
        pa.array([number for _, number in items], pa.int32()),
    ]
    form = CsvFormat(fields(s=STRING, i=INTEGER), ",", null)
    rows, bad = found(form, CsvEncoder(",", null).encoded(columns).to_pylist())
    assert not bad
    assert rows == [(place, *item) for place, item in enumerate(items)]


def test_raw() -> None:
    assert found(RawFormat(fields(v=BINARY)), [b"\xff", b""])[0] == [(0, b"\xff"), (1, b"")]
    rows, bad = found(RawFormat(fields(v=STRING)), [b"a", b"\xff"])
    assert (rows, bad) == ([(0, "a")], {1: "it is no UTF-8"})


def test_types_that_a_format_has_not() -> None:
    columns = fields(m=MapType(key=STRING, value=STRING))
    with pytest.raises(UnsupportedTypeError):
        JsonFormat(columns)
    with pytest.raises(UnsupportedTypeError):
        CsvFormat(fields(a=ArrayType(LONG)), ",", None)
    with pytest.raises(UnsupportedTypeError):
        RawFormat(fields(a=LONG))
