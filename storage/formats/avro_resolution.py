"""Values that were written with any Avro schema, as the columns of a table.

Source: Apache Avro 1.11 specification, "Schema Resolution": fields are found by name, what the
table does not have is passed over, and numbers become wider ones. Instead of the reader's logical
type that of the writer says what a number means, so that no unit is mistaken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.formats.avro_columns import (
    AvroColumn,
    Converted,
    FixedWidth,
    Integers,
    Nothing,
    Refused,
    Text,
)
from table_store.storage.formats.avro_decoding import PADDING_BYTES, decode_columns
from table_store.storage.formats.avro_nested import Optional, Record, Repeated, Union
from table_store.storage.formats.avro_schema import (
    NULL,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from table_store.storage.kernel.arrays import IntArray

_DECIMAL_BYTES: Final = 16
_DECIMAL_BYTES_MAX: Final = 256
"""A longer one is refused even if most of its bytes say nothing."""

_DECIMAL_DIGITS: Final = 38
_MICROS: Final = {"millis": 1000, "micros": 1}
_NANOS: Final = "nanos"
_UUID_BYTES: Final = 16
_HEX_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_DAY_MICROS: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Reads records of one schema as columns.

    Attributes:
        schema: with which they were written.
        fields: the columns of a table, found by name.
        time_unit: `millis` or `micros`, of a TIMESTAMP that was written as a mere number.
    """

    schema: AvroRecord
    fields: Sequence[pa.Field]
    time_unit: str = "millis"

    def decoded(
        self, data: npt.NDArray[np.uint8], starts: IntArray, ends: IntArray, counts: IntArray
    ) -> list[pa.Array]:
        """Return the columns of all blocks; see `decode_columns` for these.

        A column that the records do not have is NULL.

        Raises:
            ValueError: the content is not that of such records, or a column cannot hold a value.
            pyarrow.ArrowInvalid: a column cannot hold a value.
        """
        try:
            return self._decoded(data, starts, ends, counts)
        except RecursionError as error:
            raise ValueError("its schema is nested too deeply") from error

    def _decoded(
        self, data: npt.NDArray[np.uint8], starts: IntArray, ends: IntArray, counts: IntArray
    ) -> list[pa.Array]:
        read, found = _members(self.schema, self.fields, self.time_unit)
        there = [column for column in found if column is not None]
        arrays = iter(decode_columns(data, starts, ends, counts, read, there))
        count = int(counts.sum())
        return [
            pa.nulls(count, field.type) if column is None else next(arrays)
            for field, column in zip(self.fields, found, strict=True)
        ]

    def decoded_values(self, values: pa.LargeBinaryArray, skipped: int = 0) -> list[pa.Array]:
        """Return the columns of values, each of one record behind so many bytes. None is NULL.

        Raises:
            ValueError, pyarrow.ArrowInvalid: see `decoded`.
        """
        offsets = np.frombuffer(values.buffers()[1], np.int64)
        offsets = offsets[values.offset : values.offset + len(values) + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        content = np.frombuffer(values.buffers()[2] or b"", np.uint8)[first:last]
        data = np.concatenate([content, np.zeros(PADDING_BYTES, np.uint8)])
        starts, ends = offsets[:-1] - first + skipped, offsets[1:] - first
        return self.decoded(data, starts, ends, np.ones(len(values), np.int64))


def _members(
    record: AvroRecord, fields: Sequence[pa.Field], time_unit: str
) -> tuple[list[AvroColumn], list[AvroColumn | None]]:
    """Return what reads all fields of a record, and of these those of some columns.

    Fields without bytes that no column wants are left out: any number of them costs no bytes.
    """
    kinds = {field.name: field.type for field in fields}
    read = {
        field.name: _column(field.type, kinds[field.name], time_unit, field.name)
        if field.name in kinds
        else _passed_over(field.type)
        for field in record.fields
    }
    needed = [column for name, column in read.items() if name in kinds or not column.takes_no_bytes]
    return needed, [read.get(field.name) for field in fields]


def _column(written: AvroType, kind: pa.DataType, time_unit: str, path: str) -> AvroColumn:
    """Return what reads values of a type as an Arrow type."""
    match written:
        case AvroUnion(branches):
            columns = [_column(branch, kind, time_unit, path) for branch in branches]
            if len(branches) == 2 and NULL in branches:
                place = branches.index(NULL)
                return Optional(columns[1 - place], place)
            return Union(columns)
        case AvroPrimitive("null"):
            return Nothing(kind)
        case AvroRecord() if pa.types.is_struct(kind):
            read, wanted = _members(written, list(kind), time_unit)
            return Record(kind, read, wanted)
        case AvroArray(items) if pa.types.is_list(kind):
            return Repeated(kind=kind, element=_column(items, kind.value_type, time_unit, path))
        case AvroMap(values) if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
            pair = pa.struct([kind.key_field, kind.item_field])
            members = [Text(pa.string()), _column(values, kind.item_type, time_unit, path)]
            return Repeated(kind=kind, element=Record(pair, members, members))
        case AvroEnum(symbols) if pa.types.is_string(kind):
            return Converted(Integers(pa.int64()), partial(_symbols, symbols))
        case AvroPrimitive() | AvroFixed():
            found = _plain(written, kind, time_unit)
            if found is not None:
                return found
    return Refused(f"field {path} is {written.shown()}, and its column {kind}", kind)


def _plain(
    written: AvroPrimitive | AvroFixed, kind: pa.DataType, time_unit: str
) -> AvroColumn | None:
    """Return what reads values without parts; None if the type cannot hold them."""
    if isinstance(written, AvroFixed) or written.name in ("bytes", "string"):
        return _octets(written, kind)
    if written.name == "boolean":
        return FixedWidth(kind) if pa.types.is_boolean(kind) else None
    if written.name in ("float", "double"):
        own = pa.float32() if written.name == "float" else pa.float64()
        if not pa.types.is_floating(kind) or kind.bit_width < own.bit_width:
            return None
        return Converted(FixedWidth(own), lambda values: values.cast(kind))
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        meaning, _, unit = written.logical.rpartition("-")
        if meaning not in ("", "time") if pa.types.is_time(kind) else meaning == "time":
            return None
        unit = unit or time_unit
        if unit not in _MICROS and unit != _NANOS:
            return None
        if pa.types.is_time(kind) and not written.logical:
            unit = "millis" if written.name == "int" else "micros"
        return Converted(Integers(pa.int64()), partial(_times, unit, kind))
    if pa.types.is_date32(kind):
        return Integers(kind) if written.logical in ("", "date") else None
    if pa.types.is_integer(kind):
        return Integers(kind)
    if pa.types.is_floating(kind):  # as Avro says, though not each `long` has a neighbour
        return Converted(Integers(pa.int64()), lambda values: values.cast(kind, safe=False))
    return None


def _octets(written: AvroPrimitive | AvroFixed, kind: pa.DataType) -> AvroColumn | None:
    """Return what reads bytes and texts."""
    inner: AvroColumn
    if isinstance(written, AvroFixed):
        inner = Converted(
            FixedWidth(pa.binary(written.size)), lambda values: values.cast(pa.binary())
        )
    else:
        inner = Text(pa.binary())
    if pa.types.is_binary(kind):
        return inner
    if pa.types.is_string(kind) and isinstance(written, AvroFixed) and written.logical == "uuid":
        return Converted(inner, _uuids) if written.size == _UUID_BYTES else None
    if pa.types.is_string(kind) and written.logical != "decimal":
        return Converted(inner, lambda values: values.cast(kind))
    if pa.types.is_decimal(kind) and not (
        isinstance(written, AvroPrimitive) and written.name == "string"
    ):
        scale = written.scale if written.logical == "decimal" else kind.scale
        return Converted(inner, partial(_decimals, scale, kind))
    return None


def _uuids(values: pa.BinaryArray) -> pa.Array:
    """Return the texts of numbers of 16 bytes. Source: RFC 9562, section 4."""
    content = values.cast(pa.large_binary())
    offsets = np.frombuffer(content.buffers()[1], np.int64)
    first = int(offsets[content.offset])
    octets = np.frombuffer(content.buffers()[2] or b"", np.uint8)
    octets = octets[first : first + _UUID_BYTES * len(values)].reshape(-1, _UUID_BYTES)
    digits = _HEX_DIGITS[np.stack([octets >> 4, octets & 15], axis=2).reshape(len(values), -1)]
    dash = np.full((len(values), 1), ord("-"), np.uint8)
    parts = [digits[:, low:high] for low, high in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
    text = np.concatenate([x for part in parts for x in (part, dash)][:-1], axis=1)
    ends = np.arange(len(values) + 1, dtype=np.int32) * text.shape[1]
    content = pa.py_buffer(np.ascontiguousarray(text))
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), content)


def _symbols(symbols: Sequence[str], numbers: pa.Array) -> pa.Array:
    if not _are_between(numbers, 0, len(symbols)):
        raise ValueError("an enum has a symbol that it cannot have")
    return pa.array(symbols, pa.string()).take(numbers)


def _are_between(numbers: pa.Array, first: int, end: int) -> bool:
    return bool(((numbers.to_numpy() >= first) & (numbers.to_numpy() < end)).all())


def _times(unit: str, kind: pa.DataType, numbers: pa.Array) -> pa.Array:
    if unit == _NANOS:
        places = numbers.to_numpy() // 1000
        numbers = pa.array(places)
    else:
        numbers = pc.multiply_checked(numbers, _MICROS[unit])
    if pa.types.is_time(kind) and not _are_between(numbers, 0, _DAY_MICROS):
        raise ValueError("a time is not one of a day")
    return numbers.cast(kind)


def _decimals(scale: int, kind: pa.Decimal128Type, values: pa.BinaryArray) -> pa.Array:
    """Return decimals of unscaled values: two's complement, big-endian, of any length."""
    if not 0 <= scale <= _DECIMAL_DIGITS:
        raise ValueError(f"a decimal has the scale {scale}")
    offsets = np.frombuffer(values.buffers()[1], np.int32)
    offsets = offsets[values.offset : values.offset + len(values) + 1].astype(np.int64)
    content = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    if (lengths == 0).any():
        raise ValueError("a decimal has no bytes")
    if (lengths > _DECIMAL_BYTES_MAX).any():
        raise ValueError("a decimal is too large")
    signs = np.where(content[offsets[:-1]] >= 0x80, np.uint8(0xFF), np.uint8(0))
    little = np.empty((len(values), _DECIMAL_BYTES), np.uint8)
    for place in range(int(lengths.max(initial=_DECIMAL_BYTES))):
        is_there = place < lengths
        octets = np.where(is_there, content[np.where(is_there, offsets[1:] - 1 - place, 0)], signs)
        if place < _DECIMAL_BYTES:
            little[:, place] = octets
        elif (octets != signs).any():
            raise ValueError("a decimal is too large")
    if ((little[:, -1] >= 0x80) != (signs == 0xFF)).any():
        raise ValueError("a decimal is too large")
    widest = pa.decimal128(_DECIMAL_DIGITS, scale)
    found = pa.Array.from_buffers(widest, len(values), [None, pa.py_buffer(little)])
    found.validate(full=True)
    return found.cast(kind)


def _passed_over(written: AvroType) -> AvroColumn:
    """Return what reads values that nobody wants."""
    kind = pa.null()
    match written:
        case AvroUnion(branches):
            return Union([_passed_over(branch) for branch in branches])
        case AvroRecord(fields):
            parts = [_passed_over(field.type) for field in fields]
            return Record(pa.struct([]), [part for part in parts if not part.takes_no_bytes], [])
        case AvroArray(items):
            return Repeated(kind=kind, element=_passed_over(items), is_wanted=False)
        case AvroMap(values):
            members = [Text(pa.binary()), _passed_over(values)]
            pair = Record(pa.struct([]), members, [])
            return Repeated(kind=kind, element=pair, is_wanted=False)
        case AvroEnum():
            return Integers(pa.int64())
        case AvroFixed(size):
            return FixedWidth(pa.binary(size))
    return _PASSED_OVER[written.name]()


_PASSED_OVER: Final[dict[str, Callable[[], AvroColumn]]] = {
    "null": lambda: Nothing(pa.null()),
    "boolean": lambda: FixedWidth(pa.bool_()),
    "int": lambda: Integers(pa.int64()),
    "long": lambda: Integers(pa.int64()),
    "float": lambda: FixedWidth(pa.float32()),
    "double": lambda: FixedWidth(pa.float64()),
    "bytes": lambda: Text(pa.binary()),
    "string": lambda: Text(pa.binary()),
}
