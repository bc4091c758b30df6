"""Goal: records of any schema become the values that another library finds in them.

Oracle: `fastavro`, which reads and writes one record at a time.
"""

from __future__ import annotations

import io
import json
import string
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.formats.avro_messages import AvroWriter, derived_schema
from table_store.storage.formats.avro_resolution import AvroReader
from table_store.storage.formats.avro_schema import AvroRecord, parse_avro_schema

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)


def encoded(schema: Any, rows: list[Any]) -> list[bytes]:
    parsed = parse_schema(schema)
    found = []
    for row in rows:
        out = io.BytesIO()
        schemaless_writer(out, parsed, row)
        found.append(out.getvalue())
    return found


def record(**types: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"type": "record", "name": "row", "fields": fields}


def decoded(
    schema: Any, values: list[bytes], time_unit: str = "millis", **types: pa.DataType
) -> list[dict[str, Any]]:
    """The rows of values in some columns."""
    parsed = parse_avro_schema(json.dumps(schema))
    assert isinstance(parsed, AvroRecord)
    fields = [pa.field(name, kind) for name, kind in types.items()]
    arrays = AvroReader(parsed, fields, time_unit).decoded_values(
        pa.array(values, pa.large_binary())
    )
    for array in arrays:
        array.validate(full=True)
    rows: list[dict[str, Any]] = pa.table(arrays, pa.schema(fields)).to_pylist(
        maps_as_pydicts="strict"
    )
    return rows


LONG = {"type": "long"}
MILLIS = {**LONG, "logicalType": "timestamp-millis"}
MICROS = {**LONG, "logicalType": "local-timestamp-micros"}
NANOS = {**LONG, "logicalType": "timestamp-nanos"}
ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
BYTES_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
WIDE_DECIMAL = {
    "type": "fixed",
    "name": "w",
    "size": 20,
    "logicalType": "decimal",
    "precision": 38,
    "scale": 3,
}
US = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("written", "value", "kind", "read"),
    [
        ("int", -5, pa.int8(), -5),
        ("int", 7, pa.int64(), 7),
        ("long", 7, pa.int16(), 7),
        ("int", 3, pa.float32(), 3.0),
        ("long", 2**60, pa.float64(), float(2**60)),
        ("float", 0.5, pa.float64(), 0.5),
        ("null", None, pa.string(), None),
        ("bytes", b"\xc3\xa4", pa.string(), "ä"),
        ("string", "ä", pa.binary(), b"\xc3\xa4"),
        ({"type": "fixed", "name": "f", "size": 2}, b"ab", pa.binary(), b"ab"),
        ({"type": "string", "logicalType": "uuid"}, "no uuid", pa.string(), "no uuid"),
        (ENUM, "B", pa.string(), "B"),
        (["string", "null"], None, pa.string(), None),
        (["string", "null"], "x", pa.string(), "x"),
        (["int", "null", "long"], 2**40, pa.int64(), 2**40),
        (["int"], 4, pa.int64(), 4),
        (MILLIS, AT, US, AT.replace(microsecond=678_000)),
        (MICROS, AT.replace(tzinfo=None), US, AT),
        (NANOS, 1_500, US, datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (NANOS, -1, US, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        ("long", 5, US, datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)),
        (MILLIS, AT, pa.int64(), 1_767_323_045_678),
        ({"type": "int", "logicalType": "date"}, date(1960, 1, 2), pa.date32(), date(1960, 1, 2)),
        (
            {"type": "int", "logicalType": "time-millis"},
            time(1, 2, 3, 4000),
            pa.time64("us"),
            time(1, 2, 3, 4000),
        ),
        (
            {"type": "long", "logicalType": "time-micros"},
            time(1, 2, 3, 4),
            pa.time64("us"),
            time(1, 2, 3, 4),
        ),
        (BYTES_DECIMAL, Decimal("-1.28"), pa.decimal128(9, 2), Decimal("-1.28")),
        (BYTES_DECIMAL, Decimal("1.28"), pa.decimal128(12, 3), Decimal("1.280")),
        (WIDE_DECIMAL, Decimal("-0.001"), pa.decimal128(38, 3), Decimal("-0.001")),
        ("bytes", b"\xff\x7f", pa.decimal128(5, 1), Decimal("-12.9")),
        ({"type": "array", "items": "int"}, [], pa.list_(pa.int64()), []),
        ({"type": "array", "items": ["int", "null"]}, [1, None], pa.list_(pa.int64()), [1, None]),
        (
            {"type": "map", "values": {"type": "array", "items": "string"}},
            {"a": ["b"], "c": []},
            pa.map_(pa.string(), pa.list_(pa.string())),
            {"a": ["b"], "c": []},
        ),
        (
            {"type": "record", "name": "r", "fields": [{"name": "b", "type": "int"}]},
            {"b": 1},
            pa.struct([("a", pa.string()), ("b", pa.int64())]),
            {"a": None, "b": 1},
        ),
    ],
)
def test_a_column_holds_what_was_written(
    written: Any, value: Any, kind: pa.DataType, read: Any
) -> None:
    schema = record(before="string", c=written, behind="long")
    values = encoded(schema, [{"before": "x", "c": value, "behind": n} for n in (1, -300)])
    assert decoded(schema, values, c=kind, behind=pa.int64()) == [
        {"c": read, "behind": 1},
        {"c": read, "behind": -300},
    ]
    # What no column wants is passed over.
    assert decoded(schema, values, behind=pa.int64(), gone=pa.string()) == [
        {"behind": 1, "gone": None},
        {"behind": -300, "gone": None},
    ]


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        ("long", 300, pa.int8()),
        ("double", 0.5, pa.float32()),
        ("string", "1", pa.int64()),
        ("boolean", True, pa.int64()),
        ("bytes", b"\xff", pa.string()),
        (["int", "string"], "x", pa.int64()),
        (BYTES_DECIMAL, Decimal("1.28"), pa.decimal128(9, 1)),
        (BYTES_DECIMAL, Decimal("1000.00"), pa.decimal128(5, 2)),
        ("bytes", b"", pa.decimal128(5, 2)),
        ("bytes", b"\1" * 17, pa.decimal128(38, 2)),
        ("bytes", b"\x7f" * 16, pa.decimal128(38, 2)),
        ("bytes", b"\0" + b"\xff" * 16, pa.decimal128(38, 2)),
        ({"type": "map", "values": "int"}, {"a": 1}, pa.map_(pa.int64(), pa.int64())),
        ({"type": "int", "logicalType": "time-millis"}, 86_400_000, pa.time64("us")),
        (MILLIS, 2**62, US),
    ],
)
def test_what_a_column_cannot_hold_is_an_error(written: Any, value: Any, kind: pa.DataType) -> None:
    schema = record(c=written)
    values = encoded(schema, [{"c": value}])
    with pytest.raises(ValueError, match=r".+"):
        decoded(schema, values, c=kind)
    assert decoded(schema, [], c=kind) == []


def test_records_that_do_not_end_where_they_should_are_errors() -> None:
    schema = record(
        s="string", l={"type": "array", "items": "long"}, u=["null", "int"], f="double", e=ENUM
    )
    types = {
        "s": pa.string(),
        "l": pa.list_(pa.int64()),
        "u": pa.int32(),
        "f": pa.float64(),
        "e": pa.string(),
    }
    row = {"s": "text", "l": [1, 2, 3], "u": 5, "f": 0.5, "e": "B"}
    good = encoded(schema, [row])[0]
    assert decoded(schema, [good], **types) == [row]
    for length in range(len(good)):
        with pytest.raises(ValueError, match=r".+"):
            decoded(schema, [good[:length], good], **types)
    with pytest.raises(ValueError, match="more than its records"):
        decoded(schema, [good + b"\0"], **types)
    huge = b"\0" + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"
    with pytest.raises(ValueError, match="impossible length"):
        decoded(schema, [huge], **types)
    with pytest.raises(ValueError, match="longer than its record"):
        decoded(schema, [b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"], **types)
    with pytest.raises(ValueError, match="longer than 64 bits"):
        decoded(schema, [b"\x80" * 10 + b"\1"], **types)


def test_blocks_of_a_list_may_say_their_size() -> None:
    schema = record(l={"type": "array", "items": "long"}, m={"type": "map", "values": "long"})
    value = bytes.fromhex("03040204" + "0206" + "00" + "01060261" + "08" + "00")
    expected = schemaless_reader(io.BytesIO(value), parse_schema(schema))
    assert expected == {"l": [1, 2, 3], "m": {"a": 4}}
    types = {"l": pa.list_(pa.int64()), "m": pa.map_(pa.string(), pa.int64())}
    assert decoded(schema, [value] * 2, **types) == [expected] * 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ('"what"', "names a type 'what'"),
        ('{"type": "record", "name": "r"}', "without fields"),
        ('{"type": "record", "fields": []}', "without the name"),
        ('{"type": "record", "name": "r", "fields": [{"type": "int"}]}', "field without a name"),
        ('{"type": "fixed", "name": "f", "size": -1}', "fixed of size"),
        ("7", "has a type 7"),
        (
            '{"type": "record", "name": "r", "fields": [{"name": "n", "type": ["null", "r"]}]}',
            "contains itself",
        ),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_schemas_that_are_none_are_errors(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_avro_schema(text)


def test_types_are_found_by_their_names() -> None:
    inner = '{"type": "record", "name": "b.I", "fields": [{"name": "x", "type": "int"}]}'
    outer = (
        '{"type": "record", "name": "O", "namespace": "b", "fields": [{"name": "i", "type": "I"}, '
        '{"name": "f", "type": {"type": "fixed", "name": "a.F", "size": 1}}, '
        '{"name": "g", "type": "a.F"}]}'
    )
    with pytest.raises(ValueError, match="names a type 'I'"):
        parse_avro_schema(outer)
    found = parse_avro_schema(outer, [inner])
    assert isinstance(found, AvroRecord)
    assert found.fields[0].type == parse_avro_schema(inner)
    assert found.fields[1].type == found.fields[2].type


PLAIN: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "string": (pa.string(), st.text(max_size=5)),
    "binary": (pa.binary(), st.binary(max_size=5)),
    "date": (pa.date32(), st.dates()),
    "time": (
        pa.time64("us"),
        st.times().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    ),
    "zoned": (US, st.datetimes(timezones=st.just(UTC))),
    "decimal": (
        pa.decimal128(38, 4),
        st.integers(-(10**38) + 1, 10**38 - 1).map(
            lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -4))
        ),
    ),
}


@st.composite
def kinds(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """A type, and values of it as both libraries have them."""
    shape = draw(st.sampled_from(["plain"] * 3 + (["list", "map", "struct"] if depth else [])))
    if shape == "plain":
        return PLAIN[draw(st.sampled_from(sorted(PLAIN)))]
    if shape == "struct":
        names = draw(
            st.lists(st.sampled_from(string.ascii_letters), min_size=1, max_size=3, unique=True)
        )
        children = {name: draw(fields(depth - 1)) for name in names}
        kind = pa.struct(
            [pa.field(n, k, nullable=is_nullable) for n, (k, is_nullable, _) in children.items()]
        )
        return kind, st.fixed_dictionaries({n: values for n, (_, _, values) in children.items()})
    inner, is_nullable, values = draw(fields(depth - 1))
    if shape == "list":
        element = pa.field("element", inner, nullable=is_nullable)
        return pa.list_(element), st.lists(values, max_size=3)
    item = pa.field("value", inner, nullable=is_nullable)
    return pa.map_(pa.string(), item), st.dictionaries(st.text(max_size=3), values, max_size=3)


@st.composite
def fields(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, bool, st.SearchStrategy[Any]]:
    kind, values = draw(kinds(depth))
    is_nullable = draw(st.booleans())
    return kind, is_nullable, st.none() | values if is_nullable else values


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_both_libraries_write_and_read_the_same(data: st.DataObject) -> None:
    drawn = data.draw(st.lists(fields(), min_size=1, max_size=4))
    columns = [
        pa.field(f"c{place}", kind, nullable=is_nullable)
        for place, (kind, is_nullable, _) in enumerate(drawn)
    ]
    row = st.fixed_dictionaries({f"c{n}": values for n, (_, _, values) in enumerate(drawn)})
    rows = data.draw(st.lists(row, max_size=5))
    schema: Any = derived_schema(columns, "micros")
    text = json.dumps(schema)
    parsed = parse_avro_schema(text)
    assert isinstance(parsed, AvroRecord)
    theirs = pa.array(encoded(schema, rows), pa.large_binary())
    arrays = AvroReader(parsed, columns).decoded_values(theirs)
    found = pa.table(arrays, pa.schema(columns)).to_pylist(maps_as_pydicts="strict")
    assert found == rows
    ours = AvroWriter.of(parsed, columns).encoded(arrays)
    reader = parse_schema(schema)
    assert [schemaless_reader(io.BytesIO(v), reader) for v in ours.to_pylist()] == rows


def test_decimals_are_as_short_as_java_writes_them() -> None:
    column = pa.field("d", pa.decimal128(38, 0), nullable=False)
    numbers = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**63, -(2**63), 10**38 - 1, -(10**38) + 1]
    values = pa.array([Decimal(n) for n in numbers], column.type)
    schema = parse_avro_schema(json.dumps(derived_schema([column], "millis")))
    found = AvroWriter.of(schema, [column]).encoded([values]).to_pylist()
    for number, value in zip(numbers, found, strict=True):
        octets = value[1:]
        assert int.from_bytes(octets, "big", signed=True) == number
        # `BigInteger.toByteArray`: the bits of the number, and one for the sign.
        assert len(octets) == (number if number >= 0 else ~number).bit_length() // 8 + 1


def test_less_than_a_millisecond_is_cut_off_towards_the_past() -> None:
    column = pa.field("t", US, nullable=False)
    schema: Any = derived_schema([column], "millis")
    values = pa.array([-1, 0, 999, -1000, 1001], pa.int64()).cast(US)
    encoded_ = AvroWriter.of(parse_avro_schema(json.dumps(schema)), [column]).encoded([values])
    plain = parse_schema(record(t="long"))
    found = [schemaless_reader(io.BytesIO(v), plain) for v in encoded_.to_pylist()]
    assert found == [{"t": number} for number in (-1, 0, 0, -1, 1)]
