"""Single column values: how they come out of Arrow, and a JSON form that keeps their type.

They are partition values, key ranges and column bounds of files, and literals of predicates. A
date or timestamp outside of Python's years 1 to 9999 is a plain integer instead: the days or
microseconds since 1970.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from table_store.storage.kernel.errors import TableStoreError

Value: TypeAlias = (
    bool | int | float | str | bytes | Decimal | dt.date | dt.datetime | dt.time | None
)
JsonValue: TypeAlias = bool | int | str | dict[str, str | int] | None

EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EPOCH = EPOCH_UTC.replace(tzinfo=None)
_MICROSECOND = dt.timedelta(microseconds=1)


def python_value(scalar: pa.Scalar) -> Value:
    """Return the value; a date or timestamp outside of Python's range is an integer."""
    try:
        value: Value = scalar.as_py()
    except (ValueError, OverflowError):
        width = pa.int32() if scalar.type.bit_width == 32 else pa.int64()
        number: int = scalar.cast(width).as_py()
        return number
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.replace(tzinfo=dt.UTC)
    return value


def python_values(column: pa.ChunkedArray) -> list[Value]:
    """Return the values, each as `python_value` does: whatever else is in the column."""
    try:
        values: list[Value] = column.to_pylist()
    except (ValueError, OverflowError):
        values = [python_value(scalar) for scalar in column]
    return values


def binary32(text: str) -> float:
    """Return the FLOAT nearest to a decimal number, in full: `0.1` is 0.10000000149011612.

    Raises:
        ValueError: it is no number.
    """
    return float(np.float32(text))


def value_to_json(value: Value) -> JsonValue:
    """Return `value` for `json.dumps`: itself, or a one-entry mapping named after its type."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": value.hex()}
        case bytes():
            return {"bytes": base64.b64encode(value).decode("ascii")}
        case Decimal():
            return {"decimal": str(value)}
        case dt.datetime() if value.tzinfo is None:
            return {"timestamp_ntz": (value - EPOCH) // _MICROSECOND}
        case dt.datetime():
            return {"timestamp": (value - EPOCH_UTC) // _MICROSECOND}
        case dt.date():
            return {"date": value.isoformat()}
        case dt.time():
            return {"time": value.isoformat()}


def value_from_json(item: object) -> Value:
    """Return the value that `value_to_json` was given.

    Raises:
        TableStoreError: `item` is not such a form.
    """
    if item is None or isinstance(item, bool | int | str):
        return item
    if isinstance(item, Mapping) and len(item) == 1:
        ((kind, raw),) = item.items()
        match kind, raw:
            case "float", str():
                return float.fromhex(raw)
            case "bytes", str():
                return base64.b64decode(raw)
            case "decimal", str():
                return Decimal(raw)
            case "timestamp_ntz", int():
                return EPOCH + raw * _MICROSECOND
            case "timestamp", int():
                return EPOCH_UTC + raw * _MICROSECOND
            case "date", str():
                return dt.date.fromisoformat(raw)
            case "time", str():
                return dt.time.fromisoformat(raw)
    raise TableStoreError(f"Not the JSON form of a column value: {item!r}.")


def naming_value(value: Value) -> Value:
    """Return the value as it names a partition: -0.0 as 0.0, and NaN as one object.

    Spark takes -0.0 and 0.0 for one value, and all NaNs for another. A dict finds a NaN only
    by its identity.
    """
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    return value


def order_key(values: tuple[Value, ...]) -> tuple[object, ...]:
    """Return a form of non-null values that Python orders as Spark does.

    It differs from Python's own order: NaN is greater than all numbers, and dates and
    timestamps can be compared with their integer forms.
    """
    for value in values:
        if type(value) not in _ORDERED_AS_THEY_ARE:
            return tuple(_ordered(value) for value in values)
    return values


_ORDERED_AS_THEY_ARE = frozenset({int, str, bytes, bool, Decimal, dt.time})


def _ordered(value: Value) -> object:
    match value:
        case float():
            return (1, 0.0) if value != value else (0, value)
        case dt.datetime() if value.tzinfo is None:
            return (value - EPOCH) // _MICROSECOND
        case dt.datetime():
            return (value - EPOCH_UTC) // _MICROSECOND
        case dt.date():
            return value.toordinal() - EPOCH.toordinal()
    return value
