"""Kafka's record batches (message format 2), built column by column.

Source: Kafka's protocol documentation, "Record Batch". The batch's own checksum is CRC-32C from
the attributes on; records are compressed as one block.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.log_store.encoding.debezium_json import LogMessages

BATCH_BYTES_MAX: Final = 1_000_000
"""Greatest length of a batch, a little below what a broker takes by default."""

SNAPSHOT_HEADER: Final = "snapshot"
BUCKET_HEADER: Final = "bucket"
SEQUENCE_HEADER: Final = "sequence"

_RAW_BYTES_MAX: Final = 4 << 20
MAGIC: Final = 2
_ZSTD, TRANSACTIONAL = 4, 0x10
_COMPRESSION_LEVEL: Final = 1
AFTER_CRC: Final = struct.Struct(">hiqqqhii")
BEFORE_CRC: Final = struct.Struct(">qiibI")
LENGTH_COUNTED_FROM: Final = 12
_BINARY: Final = pa.large_binary()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """The producer's id and epoch from the broker, and how many records each partition got."""

    producer_id: int
    epoch: int
    is_transactional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOrigin:
    """What the headers of records say: snapshot, bucket, and the number of the first record."""

    snapshot_id: int
    bucket: int
    first_sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBatch:
    """One encoded batch."""

    data: bytes
    count: int


def record_batches(
    messages: LogMessages,
    origin: RecordOrigin | None,
    producer: ProducerState,
    *,
    base_sequence: int,
    time_ms: int,
    checksum: Callable[[bytes], int],
) -> Iterator[RecordBatch]:
    """Yield the messages as batches that a broker takes, in order.

    Args:
        messages: in order.
        origin: for their headers; None: they have none.
        producer: who writes them.
        base_sequence: records that the producer wrote to the partition before, in this epoch.
        time_ms: of all records.
        checksum: CRC-32C.
    """
    ends = np.cumsum(_value_lengths(messages))
    start = 0
    while start < len(messages):
        limit = _RAW_BYTES_MAX + (ends[start - 1] if start else 0)
        stop = max(start + 1, int(np.searchsorted(ends, limit, side="right")))
        pending = [(start, stop - start)]
        while pending:
            begin, count = pending.pop()
            body = _records(messages.slice(begin, count), origin, begin)
            packed = pa.Codec("zstd", compression_level=_COMPRESSION_LEVEL).compress(body)
            if packed.size > BATCH_BYTES_MAX and count > 1:
                half = count // 2
                pending += [(begin + half, count - half), (begin, half)]
                continue
            data = _framed(packed, count, producer, base_sequence + begin, time_ms, checksum)
            yield RecordBatch(data=data, count=count)
        start = stop


def varints(numbers: npt.NDArray[np.int64]) -> pa.LargeBinaryArray:
    """Return signed numbers of up to 35 bits as zigzag varints."""
    zigzag = (numbers << 1) ^ (numbers >> 63)
    shifts = np.arange(5, dtype=np.int64) * 7
    groups = zigzag[:, None] >> shifts
    is_used = (groups != 0) | (shifts == 0)
    lengths = is_used.sum(axis=1)
    is_last = np.arange(5) == (lengths - 1)[:, None]
    octets = ((groups & 0x7F) | np.where(is_last, 0, 0x80)).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(octets[is_used].tobytes())]
    return pa.Array.from_buffers(_BINARY, len(numbers), buffers)


def _records(messages: LogMessages, origin: RecordOrigin | None, begin: int) -> pa.Buffer:
    """Return records one after the other: each its length, then its fields."""
    numbers = np.arange(len(messages), dtype=np.int64)
    fields: list[pa.Array | pa.Scalar] = [
        _constant(b"\x00\x00"),  # no attributes, the time of the batch
        varints(numbers),
        *_sized(messages.keys),
        *_sized(messages.values),
        *_headers(numbers, origin, begin),
    ]
    bodies = pc.binary_join_element_wise(*fields, _constant(b""))
    lengths = pc.binary_length(bodies).to_numpy(zero_copy_only=False).astype(np.int64)
    records = pc.binary_join_element_wise(varints(lengths), bodies, _constant(b""))
    return _content(records)


def _headers(
    numbers: npt.NDArray[np.int64], origin: RecordOrigin | None, begin: int
) -> tuple[pa.Array | pa.Scalar, ...]:
    if origin is None:
        return (_constant(_varint(0)),)
    sequences = pa.array(numbers + origin.first_sequence + begin).cast(pa.large_string())
    constant = _constant(
        _varint(3)
        + _header(SNAPSHOT_HEADER, str(origin.snapshot_id))
        + _header(BUCKET_HEADER, str(origin.bucket))
        + _varint(len(SEQUENCE_HEADER))
        + SEQUENCE_HEADER.encode()
    )
    return constant, *_sized(sequences.cast(_BINARY))


def _sized(values: pa.LargeBinaryArray | None) -> tuple[pa.Array | pa.Scalar, ...]:
    if values is None:
        return (_constant(_varint(-1)),)
    lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False)
    return varints(lengths.astype(np.int64)), pc.fill_null(values, b"")


def _framed(
    packed: pa.Buffer,
    count: int,
    producer: ProducerState,
    base_sequence: int,
    time_ms: int,
    checksum: Callable[[bytes], int],
) -> bytes:
    attributes = _ZSTD | (TRANSACTIONAL if producer.is_transactional else 0)
    after = AFTER_CRC.pack(
        attributes,
        count - 1,
        time_ms,
        time_ms,
        producer.producer_id,
        producer.epoch,
        base_sequence % (1 << 31),
        count,
    ) + memoryview(packed)
    length = BEFORE_CRC.size + len(after) - LENGTH_COUNTED_FROM
    return BEFORE_CRC.pack(0, length, -1, MAGIC, checksum(after)) + after


def _header(name: str, value: str) -> bytes:
    return _varint(len(name)) + name.encode() + _varint(len(value)) + value.encode()


def _varint(number: int) -> bytes:
    encoded: bytes = varints(np.array([number], np.int64))[0].as_py()
    return encoded


def _constant(data: bytes) -> pa.Scalar:
    return pa.scalar(data, _BINARY)


def _content(values: pa.LargeBinaryArray) -> pa.Buffer:
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    return values.buffers()[2].slice(0, int(offsets[len(values)]))


def _value_lengths(messages: LogMessages) -> npt.NDArray[np.int64]:
    lengths: npt.NDArray[np.int64] = _lengths(messages.values)
    if messages.keys is not None:
        lengths = lengths + _lengths(messages.keys)
    return lengths


def _lengths(values: pa.LargeBinaryArray) -> npt.NDArray[np.int64]:
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    found: npt.NDArray[np.int64] = lengths.astype(np.int64)
    return found
