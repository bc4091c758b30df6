"""Goal: object container files are read whoever writes them, and others read ours.

Oracle: `fastavro`.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastavro import parse_schema, reader, writer

from table_store.storage.formats import avro_container_rows
from table_store.storage.formats.avro_container import CODECS, packed, unpacked
from table_store.storage.formats.avro_container_rows import avro_rows, container_of
from table_store.storage.formats.avro_messages import AvroWriter, derived_schema
from table_store.storage.formats.avro_schema import parse_avro_schema

FIELDS = [pa.field("id", pa.int64(), nullable=False), pa.field("s", pa.string())]
SCHEMA: Any = derived_schema(FIELDS, "millis")
ROWS = [{"id": n, "s": None if n % 7 == 0 else "text " * (n % 9)} for n in range(5000)]
INSTALLED = ("null", "deflate", "bzip2", "xz")


def read(content: bytes, fields: list[pa.Field]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for arrays, count in avro_rows(io.BytesIO(content), fields, "millis"):
        part = pa.table(arrays, pa.schema(fields))
        assert part.num_rows == count
        found += part.to_pylist()
    return found


@pytest.mark.parametrize("codec", INSTALLED)
@pytest.mark.parametrize("together", [1 << 18, 700])
def test_files_of_others(codec: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_container_rows, "_TOGETHER_ROWS", together)
    out = io.BytesIO()
    writer(out, parse_schema(SCHEMA), ROWS, codec=codec, sync_interval=3000)
    assert read(out.getvalue(), FIELDS) == ROWS
    assert read(out.getvalue(), FIELDS[1:]) == [{"s": row["s"]} for row in ROWS]


@pytest.mark.parametrize("codec", INSTALLED)
def test_others_read_ours(codec: str) -> None:
    table = pa.Table.from_pylist(ROWS, pa.schema(FIELDS))
    text = json.dumps(SCHEMA)
    own = AvroWriter.of(parse_avro_schema(text), FIELDS)
    values = [own.encoded(batch.columns) for batch in table.to_batches(1500)]
    content = container_of(text, values, codec)
    assert list(reader(io.BytesIO(content))) == ROWS
    assert read(content, FIELDS) == ROWS
    assert container_of(text, values, codec) == content


@pytest.mark.parametrize("codec", CODECS)
def test_codecs(codec: str) -> None:
    content = np.random.default_rng(1).bytes(300) * 9
    stored = packed(codec, content)
    assert unpacked(codec, stored) == content
    if codec != "null":
        assert len(stored) < len(content)
        with pytest.raises(ValueError, match="cannot be decompressed"):
            unpacked(codec, stored[:-1] + bytes([stored[-1] ^ 1]) if codec == "snappy" else b"\x07")


def test_snappy_is_as_the_specification_has_it() -> None:
    # Raw Snappy: the size, a literal of four bytes; the checksum behind it is that of the content.
    assert unpacked("snappy", b"\x04\x0cabcd" + bytes.fromhex("ed82cd11")) == b"abcd"


def test_damage_is_noticed() -> None:
    out = io.BytesIO()
    writer(out, parse_schema(SCHEMA), ROWS[:50])
    content = out.getvalue()
    for length in (0, 3, 40, 200, len(content) - 1):
        with pytest.raises(ValueError, match=r"too early|does not begin"):
            read(content[:length], FIELDS)
    with pytest.raises(ValueError, match="marker"):
        read(content[:-1] + b"\0\0", FIELDS)
    with pytest.raises(ValueError, match="codec 'lzo'"):
        read(content.replace(b"\x08null", b"\x06lzo"), FIELDS)
    plain = io.BytesIO()
    writer(plain, "string", ["text"])
    with pytest.raises(ValueError, match="is string, and no record"):
        read(plain.getvalue(), FIELDS)
