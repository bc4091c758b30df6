"""Rows as Avro messages: the schema of a table's columns, and how rows are written with a schema.

Source: the schema is the one that Flink's `AvroSchemaConverter` derives from a table, so that
either side reads what the other writes without a registry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.formats.avro_encoding import NULL_IS_LAST, AvroType, encoded_rows
from table_store.storage.formats.avro_schema import (
    AVRO_NAME,
    NULL,
    AvroArray,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
)
from table_store.storage.formats.avro_schema import AvroType as Written
from table_store.storage.kernel.nested_array import list_of, map_of, struct_of

RECORD_NAME: Final = "org.apache.flink.avro.generated.record"
MILLIS: Final = "millis"
MICROS: Final = "micros"
_DECIMAL_BYTES: Final = 16

Conversion = Callable[[pa.Array], pa.Array]


def derived_schema(fields: Sequence[pa.Field], time_unit: str) -> AvroType:
    """Return the schema of rows with these columns.

    Args:
        fields: the columns.
        time_unit: of times: with `MILLIS` those without a zone and those with one are the same, as
            in Flink's older mapping; with `MICROS` only those with one are points in time.

    Raises:
        ValueError: Avro has no such name, or no such type.
    """
    return _record(fields, RECORD_NAME, time_unit)


def _record(fields: Sequence[pa.Field], name: str, time_unit: str) -> AvroType:
    described: list[Any] = []
    for field in fields:
        if not AVRO_NAME.fullmatch(field.name):
            raise ValueError(
                f"{field.name!r} is no name of a field, which has letters, digits and '_' alone"
            )
        inner = _described(field, f"{name}_{field.name}", time_unit)
        default: dict[str, Any] = {"default": None} if field.nullable else {}
        described.append({"name": field.name, "type": inner, **default})
    namespace, _, own = name.rpartition(".")
    return {"type": "record", "name": own, "namespace": namespace, "fields": described}


def _described(field: pa.Field, name: str, time_unit: str) -> AvroType:
    kind = field.type
    inner: AvroType
    if pa.types.is_struct(kind):
        inner = _record(list(kind), name, time_unit)
    elif pa.types.is_list(kind):
        inner = {"type": "array", "items": _described(kind.value_field, name, time_unit)}
    elif pa.types.is_map(kind):
        if not pa.types.is_string(kind.key_type):
            raise ValueError("the keys of a map are STRING")
        inner = {"type": "map", "values": _described(kind.item_field, name, time_unit)}
    elif pa.types.is_decimal(kind):
        precision, scale = kind.precision, kind.scale
        inner = {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": precision,
            "scale": scale,
        }
    elif pa.types.is_timestamp(kind):
        is_local = kind.tz is None and time_unit == MICROS
        logical = f"{'local-' if is_local else ''}timestamp-{time_unit}"
        inner = {"type": "long", "logicalType": logical}
    elif pa.types.is_time(kind):
        inner = {"type": "int", "logicalType": "time-millis"}
    elif pa.types.is_date32(kind):
        inner = {"type": "int", "logicalType": "date"}
    else:
        inner = _PLAIN[kind]
    return ["null", inner] if field.nullable else inner


_PLAIN: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}


@dataclass(frozen=True, slots=True)
class AvroWriter:
    """Writes columns with a schema.

    Attributes:
        places: for each field of the schema, the place of its column.
        fields: the types in which the columns are encoded.
        conversions: what brings them there.
    """

    places: tuple[int, ...]
    fields: tuple[pa.Field, ...]
    conversions: tuple[Conversion, ...]

    @classmethod
    def of(cls, schema: Written, columns: Sequence[pa.Field]) -> AvroWriter:
        """Return what writes columns with a schema that has each of them as a field, and no other.

        Raises:
            ValueError: it has not, or not such a type.
        """
        if not isinstance(schema, AvroRecord):
            raise ValueError(f"it is {schema.shown()}, and no record")
        places = _places(schema, columns, "")
        stored = [
            _stored(columns[place], field.type, field.name)
            for place, field in zip(places, schema.fields, strict=True)
        ]
        return cls(places, tuple(f for f, _ in stored), tuple(c for _, c in stored))

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """Return each row as one value."""
        converted = [
            convert(columns[place])
            for place, convert in zip(self.places, self.conversions, strict=True)
        ]
        return encoded_rows(converted, self.fields)


def _places(record: AvroRecord, columns: Sequence[pa.Field], path: str) -> tuple[int, ...]:
    names = [column.name for column in columns]
    there = [field.name for field in record.fields]
    for name in names:
        if name not in there:
            raise ValueError(f"it has no field {path}{name}")
    for name in there:
        if name not in names:
            raise ValueError(f"its field {path}{name} is no column")
    return tuple(names.index(name) for name in there)


def _stored(column: pa.Field, written: Written, path: str) -> tuple[pa.Field, Conversion]:
    """Return the field as which a column is encoded, and what converts its values."""
    metadata = None
    may_be_null = False
    if isinstance(written, AvroUnion):
        if len(written.branches) != 2 or NULL not in written.branches:
            raise ValueError(f"its field {path} is a union, but not of null and one type")
        place = written.branches.index(NULL)
        metadata = {NULL_IS_LAST: b""} if place else None
        may_be_null, written = True, written.branches[1 - place]
    elif column.nullable:
        raise ValueError(f"its field {path} has no null, which the column may be")
    found = _stored_type(column.type, written, path)
    if found is None:
        raise ValueError(f"its field {path} is {written.shown()}, and the column {column.type}")
    kind, convert = found
    return pa.field(column.name, kind, nullable=may_be_null, metadata=metadata), convert


def _stored_type(
    kind: pa.DataType, written: Written, path: str
) -> tuple[pa.DataType, Conversion] | None:
    match written:
        case AvroRecord(fields) if pa.types.is_struct(kind):
            children = list(kind)
            places = _places(written, children, f"{path}.")
            stored = [
                _stored(children[place], field.type, f"{path}.{field.name}")
                for place, field in zip(places, fields, strict=True)
            ]
            struct = pa.struct([field for field, _ in stored])
            conversions = [convert for _, convert in stored]
            return struct, partial(_struct_stored, struct, places, conversions)
        case AvroArray(items) if pa.types.is_list(kind):
            element, convert = _stored(kind.value_field, items, path)
            listed = pa.list_(element)
            return listed, lambda values: list_of(values, convert, listed)
        case AvroMap(of) if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
            item, convert = _stored(kind.item_field, of, path)
            mapped = pa.map_(kind.key_field, item)
            return mapped, lambda values: map_of(values, _as_it_is, convert, mapped)
        case AvroPrimitive() | AvroFixed():
            return _stored_plain(kind, written)
    return None


def _stored_plain(
    kind: pa.DataType, written: AvroPrimitive | AvroFixed
) -> tuple[pa.DataType, Conversion] | None:
    if pa.types.is_decimal(kind):
        return _stored_decimal(kind, written)
    if isinstance(written, AvroFixed):
        return None
    name, unit = written.name, written.logical.rpartition("-")[2]
    if pa.types.is_timestamp(kind):
        if name != "long" or not written.logical.endswith(("timestamp-millis", "timestamp-micros")):
            return None
        return pa.int64(), partial(_in_unit, unit, pa.int64())
    if pa.types.is_time(kind):
        if written.logical not in ("time-millis", "time-micros"):
            return None
        stored = pa.int32() if unit == MILLIS else pa.int64()
        return stored, partial(_in_unit, unit, stored)
    if pa.types.is_date32(kind):
        return (kind, _as_it_is) if written.logical == "date" else None
    if written.logical:
        return None
    own = _PLAIN.get(kind)
    if name != own and (own, name) not in (("int", "long"), ("float", "double")):
        return None
    widened = pa.float64() if name == "double" else kind
    return widened, lambda values: values.cast(widened)


def _stored_decimal(
    kind: pa.Decimal128Type, written: AvroPrimitive | AvroFixed
) -> tuple[pa.DataType, Conversion] | None:
    if written.logical != "decimal" or written.scale != kind.scale:
        return None
    if isinstance(written, AvroPrimitive):
        return (pa.binary(), _shortest) if written.name == "bytes" else None
    size = written.size
    if 10**kind.precision > 1 << (8 * size - 1):
        return None
    return pa.binary(size), partial(_of_size, size)


def _as_it_is(values: pa.Array) -> pa.Array:
    return values


def _struct_stored(
    kind: pa.StructType,
    places: Sequence[int],
    conversions: Sequence[Conversion],
    values: pa.StructArray,
) -> pa.StructArray:
    children = [
        convert(values.field(place)) for place, convert in zip(places, conversions, strict=True)
    ]
    return struct_of(values, children, kind)


def _in_unit(unit: str, stored: pa.DataType, values: pa.Array) -> pa.Array:
    """Return times as numbers; what is less than the unit is cut off, towards the past."""
    numbers = values.cast(pa.int64())
    if unit == MILLIS:
        whole = pc.subtract(numbers, pc.if_else(pc.less(numbers, 0), 999, 0))
        numbers = pc.divide(whole, 1000)
    return numbers.cast(stored)


def _big_endian(values: pa.Decimal128Array) -> np.ndarray:
    stored = np.frombuffer(values.buffers()[1], np.uint8)
    start = values.offset * _DECIMAL_BYTES
    little = stored[start : start + len(values) * _DECIMAL_BYTES]
    return little.reshape(-1, _DECIMAL_BYTES)[:, ::-1]


def _shortest(values: pa.Decimal128Array) -> pa.BinaryArray:
    """Return unscaled values in as few bytes as Java's `BigInteger.toByteArray` takes."""
    octets = _big_endian(values)
    sign = np.where(octets[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    # A byte can go as long as all before it, and the first bit behind it, say the sign alone.
    is_sign = octets[:, :-1] == sign
    goes_on = (octets[:, 1:] >= 0x80) == (sign == 0xFF)
    dropped = np.logical_and.accumulate(is_sign & goes_on, axis=1).sum(axis=1)
    is_kept = np.arange(_DECIMAL_BYTES) >= dropped[:, None]
    offsets = np.concatenate([[0], np.cumsum(_DECIMAL_BYTES - dropped)]).astype(np.int32)
    content = pa.py_buffer(octets[is_kept])
    found = pa.BinaryArray.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(offsets), content]
    )
    return _null_where(values, found)


def _of_size(size: int, values: pa.Decimal128Array) -> pa.FixedSizeBinaryArray:
    octets = _big_endian(values)
    if size <= _DECIMAL_BYTES:
        sized = octets[:, _DECIMAL_BYTES - size :]
    else:
        sign = np.where(octets[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
        filled = np.repeat(sign, size - _DECIMAL_BYTES, axis=1)
        sized = np.concatenate([filled, octets], axis=1)
    content = pa.py_buffer(np.ascontiguousarray(sized))
    found = pa.Array.from_buffers(pa.binary(size), len(values), [None, content])
    return _null_where(values, found)


def _null_where(values: pa.Array, found: pa.Array) -> pa.Array:
    if not values.null_count:
        return found
    return pc.if_else(values.is_valid(), found, pa.scalar(None, found.type))
