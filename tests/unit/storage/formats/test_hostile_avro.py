"""Goal: whatever the bytes say, reading Avro ends soon, in rows or with an error that has a name.

Without limits some of these take hours, or all memory.
"""

from __future__ import annotations

import io
import json
import random
import time
import tracemalloc
import uuid
from datetime import UTC, datetime

import fastavro
import pyarrow as pa
import pytest

from table_store.storage.formats.avro_container import (
    CODEC_KEY,
    SCHEMA_KEY,
    block,
    header,
    packed,
    unpacked,
)
from table_store.storage.formats.avro_container_rows import avro_rows
from table_store.storage.formats.avro_resolution import AvroReader
from table_store.storage.formats.avro_schema import AvroRecord, parse_avro_schema

LONG = [pa.field("a", pa.int64())]


def varint(number: int) -> bytes:
    octets = bytearray()
    rest = number << 1
    while rest >= 0x80:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*octets, rest))


def record(**fields: object) -> dict[str, object]:
    described = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": "r", "fields": described}


def file_of(schema: dict[str, object], *parts: bytes) -> pa.BufferReader:
    begin, sync = header({CODEC_KEY: b"null", SCHEMA_KEY: json.dumps(schema).encode()})
    return pa.BufferReader(begin + b"".join(parts).replace(b"SYNC", sync))


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("long", varint(1) + varint(40 << 30), "ends too early"),
        ("long", varint(1) + varint(1 << 61), "ends too early"),
        ("long", varint(1 << 62) + varint(1) + b"\x00SYNC", "impossible length"),
        ("null", varint(1 << 30) + varint(0) + b"SYNC", "more records than there can be"),
        (record() | {"name": "e"}, varint(1 << 30) + varint(0) + b"SYNC", "more records than"),
    ],
)
def test_lengths_that_cannot_be(kind: object, content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(avro_rows(file_of(record(a=kind), content), [], "millis"))


@pytest.mark.parametrize("kind", ["null", {"type": "array", "items": "null"}])
def test_lists_of_nothing(kind: object) -> None:
    """Many blocks, and lists in lists, of items that take no bytes."""
    schema = parse_avro_schema(json.dumps(record(a={"type": "array", "items": kind})))
    assert isinstance(schema, AvroRecord)
    inner = b"" if kind == "null" else varint(65_536) + b"\0"
    hostile = (varint(1) + inner if inner else varint(65_536)) * 100 + b"\0"
    honest = varint(3) + 3 * (varint(2) + b"\0" if inner else b"") + b"\0"
    element = pa.null() if kind == "null" else pa.list_(pa.null())
    wanting = AvroReader(schema, [pa.field("a", pa.list_(element))])
    other = AvroReader(schema, [pa.field("b", pa.int64())])
    (found,) = wanting.decoded_values(pa.array([honest] * 9, pa.large_binary()))
    assert found.to_pylist() == [[[None] * 2 if inner else None] * 3] * 9
    assert other.decoded_values(pa.array([honest] * 9, pa.large_binary()))[0].null_count == 9
    with pytest.raises(ValueError, match="more items than"):
        wanting.decoded_values(pa.array([hostile], pa.large_binary()))
    # Who does not want them pays for their bytes alone.
    assert other.decoded_values(pa.array([hostile], pa.large_binary()))[0].null_count == 1


@pytest.mark.parametrize("items", ["null", record() | {"name": "e"}])
def test_many_items_without_bytes_are_read(items: object) -> None:
    schema = record(a={"type": "array", "items": items}, i="long")
    empty: object = None if items == "null" else {}
    rows = [{"a": [empty] * (n % 1000), "i": n} for n in range(400)]
    stream = io.BytesIO()
    fastavro.writer(stream, schema, rows)
    element = pa.null() if items == "null" else pa.struct([])
    fields = [pa.field("a", pa.list_(element)), pa.field("i", pa.int64())]
    ((columns, count),) = avro_rows(pa.BufferReader(stream.getvalue()), fields, "millis")
    assert count == len(rows)
    assert pa.table(columns, ["a", "i"]).to_pylist() == rows


def doubled(leaf: object, levels: int) -> object:
    """A type of which a few names make 2 ** levels leaves."""
    inner = leaf
    for level in range(levels):
        second = f"r{level - 1}" if level else leaf
        inner = record(x=inner, y=second) | {"name": f"r{level}"}
    return inner


@pytest.mark.parametrize(
    ("kind", "value", "rows"),
    [
        (doubled("null", 15), b"", 3000),
        (doubled({"type": "array", "items": "null"}, 8), (varint(65_536) + b"\0") * 256, 20),
        (["null", doubled("long", 14)], b"\0", 3000),
        (["int", doubled("long", 14)], b"\0\2", 3000),
        ({"type": "array", "items": ["null", doubled("long", 14)]}, varint(99) + b"\0" * 100, 99),
    ],
)
def test_names_that_stand_for_many_columns(kind: object, value: bytes, rows: int) -> None:
    """The time follows from the bytes, not from the columns that have none there."""
    content = (value + b"\1") * rows
    file = file_of(
        {**record(a=kind, b="boolean"), "name": "top"},
        varint(rows) + varint(len(content)) + content + b"SYNC",
    )
    begin = time.process_time()
    ((columns, count),) = avro_rows(file, [pa.field("b", pa.bool_())], "millis")
    assert (count, columns[0].to_pylist()) == (rows, [True] * rows)
    assert time.process_time() - begin < 5


def test_names_that_nest_too_deeply() -> None:
    """Each type is shallow where it stands, but not what its names stand for."""
    fields: dict[str, object] = {}
    part: object = "null"
    for level in range(40):
        for _ in range(60):
            part = {"type": "array", "items": part}
        fields[f"f{level}"] = record(x=part) | {"name": f"n{level}"}
        part = f"n{level}"
    schema = parse_avro_schema(json.dumps({**record(**fields), "name": "top"}))
    assert isinstance(schema, AvroRecord)
    with pytest.raises(ValueError, match="nested too deeply"):
        AvroReader(schema, LONG).decoded_values(pa.array([b"\0"], pa.large_binary()))


@pytest.mark.parametrize("codec", ["bzip2", "xz"])
def test_blocks_of_several_streams(codec: str) -> None:
    """As those have them who compress in parallel; other bytes behind a stream are ignored."""
    streams = packed(codec, b"abc" * 99) + packed(codec, b"") + packed(codec, b"def")
    for rest in (b"", b"\xff\xff\xff\xff"):
        assert unpacked(codec, streams + rest) == b"abc" * 99 + b"def"
    with pytest.raises(ValueError, match="too early"):
        unpacked(codec, streams[:-1])


@pytest.mark.parametrize("content", [b"\xff" * 300_000, b"\xff\xff\xff\xff\x0f\0\0"])
def test_sizes_of_snappy(content: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be decompressed"):
        unpacked("snappy", content)


def test_types_that_double() -> None:
    inner: object = "long"
    for level in range(26):
        inner = record(x=inner, y="long" if level == 0 else f"r{level - 1}") | {"name": f"r{level}"}
    with pytest.raises(ValueError, match="too many parts"):
        parse_avro_schema(json.dumps(inner))


def test_a_fixed_is_limited() -> None:
    for size in (1 << 25, 1 << 28, 1 << 31):
        fixed = {"type": "fixed", "name": "f", "size": size}
        with pytest.raises(ValueError, match="fixed of size"):
            parse_avro_schema(json.dumps(record(x=fixed)))
    large = {"type": "fixed", "name": "f", "size": 1 << 24}
    schema = parse_avro_schema(json.dumps(record(x=["null", large])))
    assert isinstance(schema, AvroRecord)
    (found,) = AvroReader(schema, [pa.field("x", pa.binary())]).decoded_values(
        pa.array([b"\0"], pa.large_binary())
    )
    assert found.to_pylist() == [None]


def test_a_long_decimal_is_refused() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    schema = parse_avro_schema(json.dumps(record(x=kind)))
    assert isinstance(schema, AvroRecord)
    reader = AvroReader(schema, [pa.field("x", pa.decimal128(9, 2))])
    padded = [varint(n) + b"\0" * (n - 1) + b"\x05" for n in (1, 20, 256)]
    (found,) = reader.decoded_values(pa.array(padded, pa.large_binary()))
    assert [str(value) for value in found.to_pylist()] == ["0.05"] * 3
    with pytest.raises(ValueError, match="too large"):
        reader.decoded_values(pa.array([varint(257) + b"\0" * 257], pa.large_binary()))


def test_texts_take_little_more_than_their_bytes() -> None:
    size = 1 << 20
    texts = ["x" * (size // 8)] * 8 + [""] * 1000
    schema = record(a="string")
    stream = io.BytesIO()
    fastavro.writer(stream, schema, [{"a": text} for text in texts], sync_interval=size // 2)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    (found,) = avro_rows(pa.BufferReader(stream.getvalue()), [pa.field("a", pa.string())], "millis")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found[0][0].to_pylist() == texts
    assert peak + pa.total_allocated_bytes() - before < 8 * size


def test_blocks_of_all_sizes() -> None:
    """Texts and fixed values come in their order, whichever block is the longest."""
    chance = random.Random(5)
    schema = record(a="string", b={"type": "fixed", "name": "f", "size": 3})
    begin, sync = header({CODEC_KEY: b"null", SCHEMA_KEY: json.dumps(schema).encode()})
    rows, parts = [], [begin]
    for _ in range(40):
        some = [
            {"a": "".join(chance.choices("aéx", k=chance.randrange(5))), "b": chance.randbytes(3)}
            for _ in range(chance.randrange(1, 9))
        ]
        stream = io.BytesIO()
        for row in some:
            fastavro.schemaless_writer(stream, schema, row)
        parts.append(block(len(some), stream.getvalue(), sync))
        rows += some
    fields = [pa.field("a", pa.string()), pa.field("b", pa.binary())]
    ((columns, count),) = avro_rows(pa.BufferReader(b"".join(parts)), fields, "millis")
    assert count == len(rows)
    assert pa.table(columns, ["a", "b"]).to_pylist() == rows


def test_what_logical_types_mean() -> None:
    """UUIDs of 16 bytes are texts; unknown types are ignored; a time of day is no moment."""
    number = uuid.UUID(int=0x0123456789ABCDEF_FEDCBA9876543210)
    schema = record(
        u={"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"},
        l={"type": "long", "logicalType": "epoch-of-ours"},
        t={"type": "int", "logicalType": "time-millis"},
    )
    parsed = parse_avro_schema(json.dumps(schema))
    assert isinstance(parsed, AvroRecord)
    value = number.bytes + varint(1000) + varint(5)
    values = pa.array([value] * 3, pa.large_binary()).slice(1)
    asked = [pa.field("u", pa.string()), pa.field("l", pa.timestamp("us", "UTC"))]
    texts, times = AvroReader(parsed, asked).decoded_values(values)
    assert texts.to_pylist() == [str(number)] * 2
    assert times.to_pylist() == [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)] * 2
    with pytest.raises(ValueError, match="field t is time-millis"):
        AvroReader(parsed, [pa.field("t", pa.timestamp("us"))]).decoded_values(values)


def test_damaged_files_have_an_error_or_rows() -> None:
    """Any bit may have flipped: nothing but errors with a name, and no more rows than before."""
    rows = [{"a": n, "b": [f"{n}"] * (n % 3), "c": None if n % 2 else 0.5} for n in range(300)]
    schema = record(a="long", b={"type": "array", "items": "string"}, c=["null", "double"])
    stream = io.BytesIO()
    fastavro.writer(stream, schema, rows, codec="deflate", sync_interval=900)
    data = stream.getvalue()
    chance = random.Random(6)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        fields = [pa.field("a", pa.int64()), pa.field("b", pa.list_(pa.string()))]
        try:
            found = list(avro_rows(pa.BufferReader(bytes(damaged)), fields, "millis"))
        except (ValueError, OSError, pa.ArrowException):
            refused += 1
        else:
            assert sum(count for _, count in found) <= len(rows)
    assert refused > 200
