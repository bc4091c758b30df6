"""Arrow columns as Avro's binary encoding, and Avro's schema of them, vectorised.

Source: Apache Avro 1.11 specification, "Binary Encoding". Each column becomes one binary value
per row; joining these row by row is the encoding of the records. NULL is the first branch of a
union, unless a field's metadata say `NULL_IS_LAST`. Maps are arrays of key-value records (logical
type `map`), since Avro's own have text keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.nested_array import map_entries

AvroType: TypeAlias = "str | dict[str, Any] | list[AvroType]"

DECIMAL_BYTES: Final = 16
"""Decimals of any precision are fixed of this size, two's complement, big-endian."""

NULL_IS_LAST: Final = b"avro.null-is-last"
"""Key of a field's metadata: its union has the type first, and then NULL."""

_VARINT_BYTES_MAX: Final = 10
_NAME_PART: Final = re.compile(r"[^A-Za-z0-9_]")


def avro_record(fields: Sequence[pa.Field], name: str) -> AvroType:
    """Return the Avro schema of rows with these columns; names are made valid and unique."""
    described = []
    for i, field in enumerate(fields):
        plain = _NAME_PART.sub("_", field.name)
        unique = plain if re.match(r"[A-Za-z_]", plain) and plain == field.name else f"f{i}_{plain}"
        inner = _avro_type(field.type, f"{name}_{unique}")
        described.append({"name": unique, "type": ["null", inner] if field.nullable else inner})
    return {"type": "record", "name": name, "fields": described}


def _avro_type(kind: pa.DataType, name: str) -> AvroType:
    if pa.types.is_struct(kind):
        return avro_record(list(kind), name)
    if is_repeated(kind):
        element = element_field(kind)
        inner = _avro_type(element.type, f"{name}_element")
        array: dict[str, Any] = {
            "type": "array",
            "items": ["null", inner] if element.nullable else inner,
        }
        return {**array, "logicalType": "map"} if pa.types.is_map(kind) else array
    if pa.types.is_decimal(kind):
        return {
            "type": "fixed",
            "name": name,
            "size": DECIMAL_BYTES,
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if pa.types.is_timestamp(kind):
        logical = "local-timestamp-micros" if kind.tz is None else "timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if pa.types.is_time(kind):
        return {"type": "long", "logicalType": "time-micros"}
    if pa.types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    plain = {
        pa.bool_(): "boolean",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.int64(): "long",
        pa.string(): "string",
        pa.binary(): "bytes",
    }
    return plain.get(kind, "int")


def is_repeated(kind: pa.DataType) -> bool:
    """Whether values are a list, or a map, which is a list of pairs here."""
    return bool(pa.types.is_list(kind) or pa.types.is_map(kind))


def element_field(kind: pa.DataType) -> pa.Field:
    """Return the field of a list's elements; of a map, that of its pairs."""
    if pa.types.is_map(kind):
        return pa.field("pair", pa.struct([kind.key_field, kind.item_field]), nullable=False)
    return kind.value_field


def encoded_rows(columns: Sequence[pa.Array], fields: Sequence[pa.Field]) -> pa.LargeBinaryArray:
    """Return the encoding of each row, all columns joined; there is at least one column."""
    return _joined([_encoded(c, f) for c, f in zip(columns, fields, strict=True)])


def _encoded(values: pa.Array, field: pa.Field) -> pa.LargeBinaryArray:
    if not field.nullable:
        return _encoded_valid(values, field.type)
    is_valid = values.is_valid()
    is_last = field.metadata is not None and NULL_IS_LAST in field.metadata
    null, other = (2, 0) if is_last else (0, 2)
    chosen = np.where(is_valid.to_numpy(zero_copy_only=False), other, null)
    branch = _fixed(chosen.astype(np.uint8), 1)
    encoded = _encoded_valid(values.drop_null(), field.type)
    if values.null_count:
        places = np.cumsum(is_valid.to_numpy(zero_copy_only=False)) - 1
        at = pc.if_else(is_valid, pa.array(places, pa.int64()), pa.scalar(None, pa.int64()))
        encoded = encoded.take(at).fill_null(b"")
    return _joined([branch, encoded])


def _encoded_valid(values: pa.Array, kind: pa.DataType) -> pa.LargeBinaryArray:
    if pa.types.is_struct(kind):
        if not len(values) or not kind.num_fields:
            return _fixed(np.zeros(0, np.uint8), 0, len(values))
        return encoded_rows([values.field(i) for i in range(kind.num_fields)], list(kind))
    if is_repeated(kind):
        return _encoded_lists(values, element_field(kind))
    if pa.types.is_decimal(kind):
        stored = np.frombuffer(values.buffers()[1], np.uint8)
        start = values.offset * DECIMAL_BYTES
        little = stored[start : start + len(values) * DECIMAL_BYTES].reshape(-1, DECIMAL_BYTES)
        return _fixed(little[:, ::-1], DECIMAL_BYTES)
    if pa.types.is_fixed_size_binary(kind):
        stored = np.frombuffer(values.buffers()[1], np.uint8)
        start = values.offset * kind.byte_width
        return _fixed(stored[start : start + len(values) * kind.byte_width], kind.byte_width)
    if pa.types.is_floating(kind):
        numbers = np.ascontiguousarray(values.to_numpy(zero_copy_only=False))
        return _fixed(numbers.view(np.uint8), numbers.dtype.itemsize)
    if pa.types.is_boolean(kind):
        return _fixed(values.to_numpy(zero_copy_only=False).astype(np.uint8), 1)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = pc.binary_length(values).to_numpy(zero_copy_only=False)
        return _joined([_varints(lengths), values.cast(pa.large_binary())])
    if pa.types.is_temporal(kind):
        values = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return _varints(values.to_numpy(zero_copy_only=False))


def _encoded_lists(values: pa.Array, element: pa.Field) -> pa.LargeBinaryArray:
    """One block of all elements, where there are any, and the empty block that ends a list."""
    if pa.types.is_map(values.type):
        values = map_entries(values)
    counts = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    elements = _encoded(values.flatten(), element)
    starts = np.concatenate([[0], np.cumsum(counts)])
    offsets = _offsets(elements)[starts]
    blocks = _binary(len(values), offsets, elements.buffers()[2])
    heads = pc.if_else(pa.array(counts > 0), _varints(counts), pa.scalar(b"", pa.large_binary()))
    return _joined([heads, blocks, _fixed(np.zeros(len(values), np.uint8), 1)])


def _varints(numbers: npt.NDArray[Any]) -> pa.LargeBinaryArray:
    """Return zig-zag variable-length integers, seven bits a byte, least significant first."""
    signed = numbers.astype(np.int64)
    zigzag = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    lengths: IntArray = np.ones(len(zigzag), np.int64)
    for count in range(1, _VARINT_BYTES_MAX):
        lengths += zigzag >= np.uint64(1 << (7 * count))
    width = int(lengths.max(initial=1))
    shifts = (np.arange(width) * 7).astype(np.uint64)
    octets = (zigzag[:, None] >> shifts).astype(np.uint8) & np.uint8(0x7F)
    places = np.arange(width)
    octets |= np.where(places < lengths[:, None] - 1, np.uint8(0x80), np.uint8(0))
    data = octets[places < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return _binary(len(lengths), offsets, pa.py_buffer(data))


def _fixed(data: npt.NDArray[np.uint8], width: int, count: int | None = None) -> Any:
    flat = np.ascontiguousarray(data).reshape(-1)
    count = len(flat) // width if count is None else count
    return _binary(count, np.arange(count + 1) * width, pa.py_buffer(flat))


def _binary(count: int, offsets: npt.NDArray[Any], data: pa.Buffer | None) -> pa.LargeBinaryArray:
    starts = pa.py_buffer(np.ascontiguousarray(offsets, np.int64))
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, [None, starts, data])


def _offsets(values: pa.LargeBinaryArray) -> IntArray:
    offsets: IntArray = np.frombuffer(values.buffers()[1], np.int64)
    return offsets[values.offset : values.offset + len(values) + 1]


def _joined(parts: Sequence[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))
