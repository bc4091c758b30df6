"""Rows of Avro's object container files, whoever writes them.

Blocks are decoded side by side, as many as fit into memory: the more a file has, and the fewer
records are in each, the faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.formats.avro_container import (
    CODEC_KEY,
    SCHEMA_KEY,
    AvroContainer,
    Readable,
    block,
    header,
    packed,
    side_by_side,
    unpacked,
)
from table_store.storage.formats.avro_resolution import AvroReader
from table_store.storage.formats.avro_schema import AvroRecord, parse_avro_schema
from table_store.storage.formats.spark_calendar import SparkCalendar

_TOGETHER_ROWS: Final = 1 << 18
_TOGETHER_BYTES: Final = 64 << 20
_BLOCK_ROWS: Final = 256
"""Few enough to decode many blocks side by side."""


def avro_rows(
    source: Readable, fields: Sequence[pa.Field], time_unit: str
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield the rows of a file in some columns, in its order, and how many they are.

    Args:
        source: the file.
        fields: the columns; see `AvroReader`.
        time_unit: see `AvroReader`.

    Raises:
        ValueError, pyarrow.ArrowInvalid: it is damaged, or a column cannot hold a value.
    """
    container = AvroContainer.of(source)
    schema = parse_avro_schema(container.header.get(SCHEMA_KEY, b"").decode())
    if not isinstance(schema, AvroRecord):
        raise ValueError(f"its schema is {schema.shown()}, and no record")
    reader = AvroReader(schema, fields, time_unit)
    calendar = SparkCalendar.of({key.encode(): text for key, text in container.header.items()})

    def decode() -> tuple[list[pa.Array], int]:
        data, starts, ends = side_by_side(contents)
        arrays = reader.decoded(data, starts, ends, np.array(counts, np.int64))
        for field, values in zip(fields, arrays, strict=True):
            calendar.check(values, field.name)
        return arrays, rows

    counts: list[int] = []
    contents: list[bytes] = []
    rows = size = 0
    for count, content in container.blocks():
        contents.append(unpacked(container.codec, content))
        counts.append(count)
        rows += count
        size += len(contents[-1])
        if rows >= _TOGETHER_ROWS or size >= _TOGETHER_BYTES:
            yield decode()
            counts, contents, rows, size = [], [], 0, 0
    if rows:
        yield decode()


def container_of(schema: str, values: Iterable[pa.LargeBinaryArray], codec: str) -> bytes:
    """Return a file with records that are encoded with a schema; the same for the same ones."""
    begin, sync = header({CODEC_KEY: codec.encode(), SCHEMA_KEY: schema.encode()})
    parts = [begin]
    for encoded in values:
        offsets = np.frombuffer(encoded.buffers()[1], np.int64)
        offsets = offsets[encoded.offset : encoded.offset + len(encoded) + 1]
        data = memoryview(encoded.buffers()[2] or b"")
        for first in range(0, len(encoded), _BLOCK_ROWS):
            end = min(first + _BLOCK_ROWS, len(encoded))
            content = bytes(data[offsets[first] : offsets[end]])
            parts.append(block(end - first, packed(codec, content), sync))
    return b"".join(parts)
