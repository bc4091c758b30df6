"""Which bucket a row belongs to: Spark's own `pmod(hash(columns), buckets)`, vectorised.

Source: `Murmur3Hash` and `Murmur3_x86_32` of Spark 4.2 (seed 42; columns chained; a null
leaves the hash as it is; the bytes after the last whole word are mixed one by one, signed).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.types import (
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructType,
)
from table_store.storage.kernel.whole_array import whole_array

UIntArray: TypeAlias = npt.NDArray[np.uint32]

HASH_OF_NOTHING: Final = 42
"""Spark's seed: the hash of no columns, or of NULL."""

_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_BLOCK_ROWS: Final = 1 << 15
"""Rows hashed at a time, so that the intermediate results stay in the processor's cache."""

_LONG_DIGITS: Final = 18
"""Decimals with more digits are hashed as bytes, those with fewer as their unscaled long."""


def bucket_columns(schema: TableSchema) -> tuple[str, ...]:
    """Return the columns whose hash decides the bucket: the key, or the whole row without key.

    Maps and variants are left out: Spark does not hash them, for equal ones may differ in bytes.
    The result can so be empty; then all rows are in bucket `HASH_OF_NOTHING` mod count.
    """
    if schema.primary_key:
        return schema.primary_key
    return tuple(f.name for f in schema.fields if _is_hashable(f.type))


def _is_hashable(data_type: DataType) -> bool:
    match data_type:
        case ArrayType():
            return _is_hashable(data_type.element)
        case StructType(fields):
            return all(_is_hashable(f.type) for f in fields)
    return not isinstance(data_type, MapType) and data_type != VARIANT


def bucket_ids(rows: pa.Table, columns: Sequence[str], count: int) -> npt.NDArray[np.int32]:
    """Return the bucket of every row, 0 to `count` - 1, by the hash of `columns` in order.

    About 50 ns a row and number, 8 ns a byte of text.
    """
    hashes = spark_hash([rows[name] for name in columns], rows.num_rows)
    return np.mod(hashes.view(np.int32), np.int32(count)).astype(np.int32)


def spark_hash(columns: Sequence[pa.ChunkedArray | pa.Array], length: int) -> UIntArray:
    """Return Spark's `hash(columns…)` of every row, as unsigned bits."""
    whole = [whole_array(column) for column in columns]
    hashes = np.full(length, HASH_OF_NOTHING, np.uint32)
    for start in range(0, length, _BLOCK_ROWS):
        block = hashes[start : start + _BLOCK_ROWS]
        for column in whole:
            block = _chain(column.slice(start, _BLOCK_ROWS), block)
        hashes[start : start + _BLOCK_ROWS] = block
    return hashes


def _chain(column: pa.Array, seeds: UIntArray) -> UIntArray:
    """The hash of each value with the hash so far as its seed; nulls keep their seed."""
    hashed = _hash_values(column, seeds)
    if not column.null_count:
        return hashed
    return np.where(column.is_null().to_numpy(zero_copy_only=False), seeds, hashed)


def _hash_values(column: pa.Array, seeds: UIntArray) -> UIntArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _hash_values(column.dictionary_decode(), seeds)
    if pa.types.is_decimal(kind):
        return _hash_decimal(column, seeds)
    if pa.types.is_struct(kind):
        for child in column.flatten():
            seeds = _chain(child, seeds)
        return seeds
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _hash_list(column, seeds)
    if pa.types.is_floating(kind):
        return _hash_float(column, seeds)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind):
        return _hash_int(_filled(column.cast(pa.int32())), seeds)
    if pa.types.is_integer(kind) and kind.bit_width <= 32:
        return _hash_int(_filled(column), seeds)
    if pa.types.is_time(kind):
        # Spark keeps a time of day as nanoseconds.
        return _hash_long(_filled(column.cast(pa.time64("ns")).cast(pa.int64())), seeds)
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        return _hash_long(_filled(column.cast(pa.int64())), seeds)
    return _hash_bytes(column, seeds)


def _hash_float(column: pa.Array, seeds: UIntArray) -> UIntArray:
    """-0.0 hashes as 0.0, and every NaN as the one that Java's `floatToIntBits` returns."""
    values = _filled(column)
    values = np.where(np.isnan(values), values.dtype.type(np.nan), values + values.dtype.type(0))
    if values.dtype == np.float32:
        return _hash_int(values.view(np.int32), seeds)
    return _hash_long(values.view(np.int64), seeds)


def _filled(column: pa.Array) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return values


def _rotate(values: UIntArray, bits: int) -> UIntArray:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _mix(words: UIntArray, hashes: UIntArray) -> UIntArray:
    mixed = hashes ^ (_rotate(words * _C1, 15) * _C2)
    return _rotate(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(hashes: UIntArray, lengths: npt.NDArray[Any] | int) -> UIntArray:
    hashes = hashes ^ np.asarray(lengths).astype(np.uint32)
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _hash_int(values: npt.NDArray[Any], seeds: UIntArray) -> UIntArray:
    return _finish(_mix(values.astype(np.int32).view(np.uint32), seeds), 4)


def _hash_long(values: npt.NDArray[Any], seeds: UIntArray) -> UIntArray:
    bits = np.ascontiguousarray(values, np.int64).view(np.uint64)
    low = (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (bits >> np.uint64(32)).astype(np.uint32)
    return _finish(_mix(high, _mix(low, seeds)), 8)


def _hash_decimal(column: pa.Array, seeds: UIntArray) -> UIntArray:
    words = np.frombuffer(column.buffers()[1], np.int64)
    words = words[2 * column.offset : 2 * (column.offset + len(column))]
    if column.type.precision <= _LONG_DIGITS:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        return _hash_long(np.where(valid, words[0::2], 0), seeds)
    return _hash_bytes(_two_complement(words, column), seeds)


def _two_complement(words: npt.NDArray[np.int64], column: pa.Array) -> pa.Array:
    """Unscaled values as Java's `BigInteger.toByteArray`: big-endian, as short as can be."""
    big = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 16)[:, ::-1]
    sign = np.where(big[:, :1] >= 128, np.uint8(255), np.uint8(0))
    is_sign = big == sign
    # A leading byte goes when it and the top bit of the next one are only the sign.
    redundant = is_sign[:, :-1] & ((big[:, 1:] >= 128) == (sign >= 128))
    skipped = np.cumprod(redundant, axis=1).sum(axis=1)
    keep = np.arange(16)[None, :] >= skipped[:, None]
    offsets = np.concatenate([[0], np.cumsum(16 - skipped)]).astype(np.int32)
    data = big[keep].tobytes()
    return pa.Array.from_buffers(
        pa.binary(), len(column), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def _hash_list(column: pa.Array, seeds: UIntArray) -> UIntArray:
    """Elements chained one after the other; vectorised over the rows, position by position."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    elements = column.flatten()
    hashes = seeds.copy()
    for position in range(int(lengths.max(initial=0))):
        at = np.flatnonzero(lengths > position)
        hashes[at] = _chain(elements.take(pa.array(starts[at] + position)), hashes[at])
    return hashes


def _hash_bytes(column: pa.Array, seeds: UIntArray) -> UIntArray:
    """Whole words of all rows position by position, then up to three bytes that are left."""
    if not len(column):
        return seeds
    column = column.cast(pa.large_binary())
    offsets = np.frombuffer(column.buffers()[1], np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    # The four bytes from any position on as one little-endian word, without copying.
    words = np.ndarray(len(data) + 1, "<u4", padded, strides=(1,))
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    if column.null_count:
        lengths = np.where(column.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    hashes = seeds.copy()
    for position in range(int(lengths.max()) // 4):
        at = np.flatnonzero(lengths >= 4 * position + 4)
        hashes[at] = _mix(words[starts[at] + 4 * position], hashes[at])
    for byte in range(3):
        at = np.flatnonzero(lengths % 4 > byte)
        signed = padded[starts[at] + lengths[at] // 4 * 4 + byte].view(np.int8).astype(np.int32)
        hashes[at] = _mix(signed.view(np.uint32), hashes[at])
    return _finish(hashes, lengths)
