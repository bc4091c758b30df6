"""Which generator makes the values of a field, by its type and its options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.datagen.field_options import (
    COUNT,
    KIND,
    LENGTH,
    NUMBER,
    RATE,
    AllFieldOptions,
    FieldOptions,
)
from table_store.catalog.connectors.datagen.generators import (
    Generator,
    Lists,
    Maps,
    PastTime,
    RandomBoolean,
    RandomBytes,
    RandomDecimal,
    RandomFloat,
    RandomInteger,
    Sequence,
    Struct,
    WithNulls,
)
from table_store.catalog.connectors.datagen.random_numbers import RandomBits
from table_store.catalog.definition.declared_type import CHAR_VARCHAR
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    TimeType,
    to_arrow,
)
from table_store.storage.options.options import BOOLEAN as BOOLEAN_OPTION
from table_store.storage.options.options import DURATION

_INTEGER_BITS: Final[Mapping[DataType, int]] = {BYTE: 8, SHORT: 16, INTEGER: 32, LONG: 64}
_WHOLE_BITS: Final[Mapping[DataType, int]] = {**_INTEGER_BITS, FLOAT: 25, DOUBLE: 54}
_FLOAT_MAX: Final[Mapping[DataType, float]] = {
    FLOAT: float(np.finfo(np.float32).max),
    DOUBLE: float(np.finfo(np.float64).max),
}
_DIGITS: Final = 400
_TEXT_LENGTH: Final = 100
_ELEMENTS: Final = 3
_PAST: Final = timedelta(0)
_LENGTH_IN_TYPE: Final = re.compile(r"(?:var)?char\(\s*(\d+)\s*\)", re.I)
_BOUNDS: Final = ("kind", "null-rate", "min", "max")
_LENGTHS: Final = ("kind", "null-rate", "length", "var-len")


def field_paths(field: Field | StructField) -> Iterator[str]:
    """Yield the path of a field, and of those inside, as `fields.<path>.<option>` has it."""
    return _paths(field.name, field.type)


def field_generator(
    field: Field | StructField, options: AllFieldOptions, path: str
) -> tuple[Generator, int | None]:
    """Return what makes a field's values, and after how many rows it ends; None: it does not.

    Raises:
        InvalidOptionError: an option has no such value, or is none of a field of this type.
        UnsupportedTypeError: `datagen` makes no values of the type.
    """
    declared = next((json.loads(text) for key, text in field.metadata if key == CHAR_VARCHAR), "")
    length = _LENGTH_IN_TYPE.fullmatch(str(declared).strip())
    most = _TEXT_LENGTH if length is None else int(length[1])
    if not field.nullable:
        _check_no_nulls(options.of(path), "it is NOT NULL")
    return _generator(field.type, options, path, most)


def _check_no_nulls(own: FieldOptions, why: str) -> None:
    if own.get("null-rate", RATE, 0.0):
        raise own.refusal("null-rate", why)


def _paths(path: str, data_type: DataType) -> Iterator[str]:
    yield path
    match data_type:
        case StructType(fields):
            for field in fields:
                yield from _paths(f"{path}.{field.name}", field.type)
        case ArrayType(element=element):
            yield from _paths(f"{path}.element", element)
        case MapType(key=key, value=value):
            yield from _paths(f"{path}.key", key)
            yield from _paths(f"{path}.value", value)


def _generator(
    data_type: DataType, options: AllFieldOptions, path: str, length: int
) -> tuple[Generator, int | None]:
    own = options.of(path)
    if own.get("kind", KIND, "random") == "sequence":
        return _sequence(data_type, own)
    for suffix in ("start", "end"):
        if suffix in own.given:
            raise own.refusal(suffix, f"it needs '{own.path}.kind' = 'sequence'")
    found = _random(data_type, options, own, path, length)
    rate = own.get("null-rate", RATE, 0.0)
    return (WithNulls(found, RandomBits.of(f"{path} null"), rate) if rate else found), None


def _sequence(data_type: DataType, own: FieldOptions) -> tuple[Generator, int]:
    is_number = data_type in _INTEGER_BITS or data_type in _FLOAT_MAX
    if not (is_number or isinstance(data_type, DecimalType) or data_type in (STRING, BINARY)):
        raise own.refusal("kind", f"{data_type.sql_name()} has no sequence; use 'random'")
    own.check_only(("kind", "start", "end"), "a sequence does not take it")
    for suffix in ("start", "end"):
        if suffix not in own.given:
            raise own.refusal("kind", f"a sequence also needs '{own.path}.{suffix}'")
    start, end = (own.get(suffix, COUNT, 0) for suffix in ("start", "end"))
    if end < start:
        raise own.refusal("end", f"it is less than '{own.path}.start'")
    lowest, highest = _integer_range(data_type)
    for suffix, value in (("start", start), ("end", end)):
        if not lowest <= value <= highest:
            raise own.refusal(suffix, f"{data_type.sql_name()} cannot hold it")
    return Sequence(start, to_arrow(data_type)), end - start + 1


def _integer_range(data_type: DataType) -> tuple[int, int]:
    """The least and the greatest whole number that a sequence of the type may have."""
    if isinstance(data_type, DecimalType):
        most = 10 ** (data_type.precision - data_type.scale) - 1
        return -most, most
    bits = _WHOLE_BITS.get(data_type, 64)
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _random(
    data_type: DataType, options: AllFieldOptions, own: FieldOptions, path: str, length: int
) -> Generator:
    bits, lengths, arrow = RandomBits.of(path), RandomBits.of(f"{path} length"), to_arrow(data_type)
    no_such = f"a random {data_type.sql_name()} does not take it"
    match data_type:
        case ArrayType(element=element):
            own.check_only(_LENGTHS, no_such)
            if not data_type.contains_null:
                _check_no_nulls(options.of(f"{path}.element"), "an element here cannot be NULL")
            inner = _inner(element, options, f"{path}.element")
            return Lists(inner, lengths, *_length(own, _ELEMENTS), arrow)
        case MapType(key=key, value=value):
            own.check_only(_LENGTHS, no_such)
            _check_no_nulls(options.of(f"{path}.key"), "a key cannot be NULL")
            if not data_type.value_contains_null:
                _check_no_nulls(options.of(f"{path}.value"), "a value here cannot be NULL")
            keys, values = (
                _inner(part, options, f"{path}.{name}")
                for part, name in ((key, "key"), (value, "value"))
            )
            return Maps(keys, values, lengths, *_length(own, _ELEMENTS), arrow)
        case StructType(fields):
            own.check_only(("kind", "null-rate"), no_such)
            parts = (_inner_field(field, options, f"{path}.{field.name}") for field in fields)
            return Struct(tuple(parts), arrow)
    if data_type in (STRING, BINARY):
        own.check_only(_LENGTHS, no_such)
        return RandomBytes(bits, lengths, *_length(own, length), arrow)
    if data_type in (DATE, TIMESTAMP, TIMESTAMP_NTZ) or isinstance(data_type, TimeType):
        is_moment = data_type in (TIMESTAMP, TIMESTAMP_NTZ)
        taken = ("kind", "null-rate", *(("max-past",) if is_moment else ()))
        own.check_only(taken, no_such)
        past = own.get("max-past", DURATION, _PAST)
        return PastTime(bits, past // timedelta(microseconds=1), arrow)
    if data_type == BOOLEAN:
        own.check_only(("kind", "null-rate"), no_such)
        return RandomBoolean(bits)
    own.check_only(_BOUNDS, no_such)
    return _random_number(data_type, own, bits, arrow)


def _random_number(
    data_type: DataType, own: FieldOptions, bits: RandomBits, arrow: pa.DataType
) -> Generator:
    if data_type in _FLOAT_MAX:
        most = Decimal(_FLOAT_MAX[data_type])
        low, high = _bounds(own, Decimal(0), -most, most)
        return RandomFloat(bits, float(low), float(high), arrow)
    scale = data_type.scale if isinstance(data_type, DecimalType) else 0
    if isinstance(data_type, DecimalType):
        with localcontext(prec=_DIGITS):
            most = Decimal(10**data_type.precision - 1).scaleb(-scale)
        low, high = _bounds(own, -most, -most, most)
    elif data_type in _INTEGER_BITS:
        least, greatest = map(Decimal, _integer_range(data_type))
        low, high = _bounds(own, least, least, greatest)
    else:
        raise UnsupportedTypeError(type_name=data_type.sql_name())
    with localcontext(prec=_DIGITS):
        first = int(low.scaleb(scale).to_integral_value(ROUND_CEILING))
        last = int(high.scaleb(scale).to_integral_value(ROUND_FLOOR))
    if last < first:
        raise own.refusal("max", f"no {data_type.sql_name()} is between both bounds")
    kind = RandomDecimal if isinstance(data_type, DecimalType) else RandomInteger
    return kind(bits, first, last, arrow)


def _bounds(
    own: FieldOptions, default: Decimal, least: Decimal, greatest: Decimal
) -> tuple[Decimal, Decimal]:
    """The bounds of random numbers; without `min` they begin with `default`."""
    high = own.get("max", NUMBER, greatest)
    low = own.get("min", NUMBER, min(default, high))
    for suffix, value in (("min", low), ("max", high)):
        if not least <= value <= greatest:
            raise own.refusal(suffix, "the column's type cannot hold it")
    if high < low:
        suffix = "max" if "max" in own.given else "min"
        raise own.refusal(suffix, f"the greatest value, {high}, is less than the least, {low}")
    return low, high


def _length(own: FieldOptions, default: int) -> tuple[int, bool]:
    return own.get("length", LENGTH, default), own.get("var-len", BOOLEAN_OPTION, False)


def _inner_field(field: StructField, options: AllFieldOptions, path: str) -> Generator:
    return _without_end(field_generator(field, options, path), options, path)


def _inner(data_type: DataType, options: AllFieldOptions, path: str) -> Generator:
    return _without_end(_generator(data_type, options, path, _TEXT_LENGTH), options, path)


def _without_end(
    found: tuple[Generator, int | None], options: AllFieldOptions, path: str
) -> Generator:
    generator, end = found
    if end is not None:
        raise options.of(path).refusal("kind", "only a column can be a sequence")
    return generator
