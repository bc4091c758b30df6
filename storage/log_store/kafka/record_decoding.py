"""Kafka's record batches (message format 2) read column by column.

Source: Kafka's protocol documentation, "Record Batch". A record's length tells where the next one
begins, so that one step for each record walks over a batch; all else is done for a whole batch at
once. `record_batch` is what writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.log_store.kafka.record_batch import (
    AFTER_CRC,
    BEFORE_CRC,
    LENGTH_COUNTED_FROM,
    MAGIC,
    TRANSACTIONAL,
)

Places: TypeAlias = npt.NDArray[np.int64]

HEADERS: Final = pa.map_(pa.string(), pa.binary())

_CONTROL: Final = 0x20
_APPEND_TIME: Final = 0x08
_COMPRESSION: Final = 0x07
_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
_CODECS: Final = {_GZIP: "gzip", _LZ4: "lz4", _ZSTD: "zstd"}
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16
_ABORT: Final = 0
_VARINT_BYTES_MAX: Final = 10


class UnreadableBatchError(Exception):
    """A batch is not as the protocol has it; `offset` is that of its first record."""

    def __init__(self, offset: int, reason: str) -> None:
        self.offset = offset
        self.reason = reason
        super().__init__(f"offset {offset}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records of one partition, in order; `headers` are there only if they were asked for."""

    offsets: Places
    times_ms: Places
    keys: pa.LargeBinaryArray
    values: pa.LargeBinaryArray
    headers: pa.MapArray | None

    def __len__(self) -> int:
        return len(self.offsets)

    def between(self, start: int, end: int) -> Records:
        """Return those from an offset to before another one."""
        first, last = map(int, np.searchsorted(self.offsets, [start, end]))
        return self.slice(first, last - first)

    def slice(self, first: int, count: int) -> Records:
        """Return so many of them, from a place on."""
        return Records(
            offsets=self.offsets[first : first + count],
            times_ms=self.times_ms[first : first + count],
            keys=self.keys.slice(first, count),
            values=self.values.slice(first, count),
            headers=None if self.headers is None else self.headers.slice(first, count),
        )

    def taken(self, places: Places) -> Records:
        """Return those at some places."""
        at = pa.array(places)
        return Records(
            offsets=self.offsets[places],
            times_ms=self.times_ms[places],
            keys=self.keys.take(at),
            values=self.values.take(at),
            headers=None if self.headers is None else self.headers.take(at),
        )

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """Return the records of parts, which are all with headers or all without."""
        headers = [part.headers for part in parts if part.headers is not None]
        return cls(
            offsets=np.concatenate([part.offsets for part in parts]),
            times_ms=np.concatenate([part.times_ms for part in parts]),
            keys=pa.concat_arrays([part.keys for part in parts]),
            values=pa.concat_arrays([part.values for part in parts]),
            headers=pa.concat_arrays(headers) if headers else None,
        )


@dataclass(frozen=True, slots=True)
class _Batch:
    """The header of a batch, and its records as they were sent."""

    base: int
    last: int
    attributes: int
    time_ms: int
    time_max_ms: int
    producer: int
    count: int
    packed: bytes


def decoded(
    data: bytes,
    aborted: Sequence[tuple[int, int]],
    checksum: Callable[[bytes], int],
    *,
    with_headers: bool,
) -> Iterator[tuple[int, Records | None]]:
    """Yield for each batch the offset behind it, and its records.

    There are none of a batch of an aborted transaction, or that ends one. A batch that is cut off
    at the end is left out.

    Args:
        data: as a broker sends it.
        aborted: the transactions that were aborted: producer and first offset.
        checksum: CRC-32C.
        with_headers: whether headers are read.

    Raises:
        UnreadableBatchError: a batch is of an older format or damaged.
    """
    left = sorted(aborted, key=lambda transaction: transaction[1])
    producers: set[int] = set()
    for batch in _batches(data, checksum):
        while left and left[0][1] <= batch.last:
            producers.add(left.pop(0)[0])
        records = None
        if batch.attributes & _CONTROL:
            if _control_type(batch) == _ABORT:
                producers.discard(batch.producer)
        elif not (batch.attributes & TRANSACTIONAL and batch.producer in producers):
            records = _records(batch, with_headers=with_headers)
        yield batch.last + 1, records


def _batches(data: bytes, checksum: Callable[[bytes], int]) -> Iterator[_Batch]:
    at, headers = 0, BEFORE_CRC.size + AFTER_CRC.size
    while at + headers <= len(data):
        base, length, _, magic, crc = BEFORE_CRC.unpack_from(data, at)
        end = at + LENGTH_COUNTED_FROM + length
        if end > len(data):
            return
        if magic != MAGIC:
            raise UnreadableBatchError(base, f"message format {magic} is older than Kafka 0.11")
        begin = at + BEFORE_CRC.size
        if checksum(data[begin:end]) != crc:
            raise UnreadableBatchError(base, "the checksum of its batch is wrong")
        attributes, delta, time_ms, time_max_ms, producer, _, _, count = AFTER_CRC.unpack_from(
            data, begin
        )
        packed = data[begin + AFTER_CRC.size : end]
        last = base + delta
        yield _Batch(base, last, attributes, time_ms, time_max_ms, producer, count, packed)
        at = end


def _control_type(batch: _Batch) -> int:
    keys = _records(batch, with_headers=False).keys
    return int.from_bytes(keys[0].as_py()[2:4]) if len(keys) else _ABORT + 1


def _records(batch: _Batch, *, with_headers: bool) -> Records:
    try:
        body = _unpacked(batch.packed, batch.attributes & _COMPRESSION)
        octets = np.frombuffer(body, np.uint8)
        at = _starts(body, batch.count) + 1  # behind the attributes, which say nothing yet
        time_deltas, at = _varints(octets, at)
        offset_deltas, at = _varints(octets, at)
        key_lengths, at = _varints(octets, at)
        keys, at = at, at + np.maximum(key_lengths, 0)
        value_lengths, at = _varints(octets, at)
        values, at = at, at + np.maximum(value_lengths, 0)
        if len(at) and at.max() > len(octets):
            raise IndexError
        times = np.full(batch.count, batch.time_max_ms)
        return Records(
            offsets=batch.base + offset_deltas,
            times_ms=times if batch.attributes & _APPEND_TIME else batch.time_ms + time_deltas,
            keys=_slices(body, keys, key_lengths),
            values=_slices(body, values, value_lengths),
            headers=_headers(body, octets, at) if with_headers else None,
        )
    except (IndexError, OSError, pa.ArrowInvalid) as error:
        raise UnreadableBatchError(batch.base, "its batch is damaged") from error


def _unpacked(packed: bytes, compression: int) -> bytes:
    if not compression:
        return packed
    if compression == _SNAPPY:
        return _unpacked_snappy(packed)
    if compression not in _CODECS:
        raise OSError(f"compression {compression}")
    stream = pa.CompressedInputStream(pa.BufferReader(packed), _CODECS[compression])
    found: bytes = stream.read()
    return found


def _unpacked_snappy(packed: bytes) -> bytes:
    """Return one block, or those of the framing of Java's library, each behind its length."""
    if not packed.startswith(_XERIAL):
        return _unpacked_block(packed)
    found, at = [], _XERIAL_HEADER
    while at < len(packed):
        length = int.from_bytes(packed[at : at + 4])
        found.append(_unpacked_block(packed[at + 4 : at + 4 + length]))
        at += 4 + length
    return b"".join(found)


def _unpacked_block(block: bytes) -> bytes:
    size = shift = 0
    for octet in block[:_VARINT_BYTES_MAX]:
        size |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    found: bytes = pa.Codec("snappy").decompress(block, size, asbytes=True)
    return found


def _starts(body: bytes, count: int) -> Places:
    """Return where each record begins, behind its length."""
    starts, at = [], 0
    for _ in range(count):
        octet = body[at]
        at += 1
        length, shift = octet & 0x7F, 7
        while octet >= 0x80:
            octet = body[at]
            at += 1
            length |= (octet & 0x7F) << shift
            shift += 7
        starts.append(at)
        at += length >> 1
    return np.array(starts, np.int64)


def _varints(octets: npt.NDArray[np.uint8], at: Places) -> tuple[Places, Places]:
    """Return the zigzag varints at places, and the places behind them."""
    found = np.zeros(len(at), np.uint64)
    behind = at.copy()
    going = np.arange(len(at))
    for step in range(_VARINT_BYTES_MAX):
        read = octets[behind[going]].astype(np.uint64)
        found[going] |= (read & np.uint64(0x7F)) << np.uint64(7 * step)
        behind[going] += 1
        going = going[read >= np.uint64(0x80)]
        if not len(going):
            half = (found >> np.uint64(1)).view(np.int64)
            return half ^ -(found & np.uint64(1)).view(np.int64), behind
    raise IndexError


def _slices(body: bytes, starts: Places, lengths: Places) -> pa.LargeBinaryArray:
    """Return parts of the body that follow one another; NULL where the length is below 0."""
    if not len(starts):
        return pa.array([], pa.large_binary())
    # Between two parts is a gap, which is a value of its own until it is left out.
    bounds = np.stack([starts, starts + np.maximum(lengths, 0)], axis=1).ravel()
    buffers = [None, pa.py_buffer(bounds.astype(np.int64)), pa.py_buffer(body)]
    with_gaps = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
    found = with_gaps.take(pa.array(np.arange(0, len(bounds) - 1, 2)))
    is_null = lengths < 0
    return pc.if_else(pa.array(~is_null), found, None) if is_null.any() else found


def _headers(body: bytes, octets: npt.NDArray[np.uint8], at: Places) -> pa.MapArray:
    counts, at = _varints(octets, at)
    counts = np.maximum(counts, 0)
    going = np.flatnonzero(counts)
    owners, parts = [], []
    at = at[going]
    for step in range(int(counts.max(initial=0))):
        name_lengths, names = _varints(octets, at)
        value_lengths, values = _varints(octets, names + name_lengths)
        at = values + np.maximum(value_lengths, 0)
        owners.append(going)
        parts.append(np.stack([names, name_lengths, values, value_lengths], axis=1))
        stays = counts[going] > step + 1
        going, at = going[stays], at[stays]
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    if not parts:
        empty = pa.array([], pa.string()), pa.array([], pa.binary())
        return pa.MapArray.from_arrays(offsets, *empty, type=HEADERS)
    in_order = np.argsort(np.concatenate(owners), kind="stable")
    names, name_lengths, values, value_lengths = np.concatenate(parts)[in_order].T
    return pa.MapArray.from_arrays(
        offsets,
        _slices(body, names, name_lengths).cast(pa.binary()).cast(pa.string()),
        _slices(body, values, value_lengths).cast(pa.binary()),
        type=HEADERS,
    )
