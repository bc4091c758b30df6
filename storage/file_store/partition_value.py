"""Partition values from text: of a statement, a folder name, or Spark's internal form."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation

from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import DataType, DecimalType, PrimitiveType, TimeType
from table_store.storage.kernel.values import Value

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a zone is added where there is one
_INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def parse_partition_value(text: str | None, data_type: DataType) -> Value:
    """Return the value of a partition column that `text` stands for; None is null.

    Dates may be ISO text or days since 1970, timestamps ISO text or microseconds since then
    (UTC), times ISO text or nanoseconds since midnight: the forms of SQL and of Spark's internal
    rows. Numbers stand for dates and timestamps beyond the years of Python, as in manifests.

    Raises:
        InvalidSchemaError: the text is no value of the type.
    """
    if text is None:
        return None
    try:
        return _parsed(text, data_type)
    except (ValueError, InvalidOperation) as error:
        raise InvalidSchemaError(
            reason=f"{text!r} is no {data_type.sql_name()} to name a partition with"
        ) from error


def _parsed(text: str, data_type: DataType) -> Value:
    if isinstance(data_type, DecimalType):
        return Decimal(text).quantize(Decimal(1).scaleb(-data_type.scale))
    if isinstance(data_type, TimeType):
        if text.isdigit():
            return (_EPOCH + dt.timedelta(microseconds=int(text) // 1000)).time()
        return dt.time.fromisoformat(text)
    assert isinstance(data_type, PrimitiveType), "partition columns have orderable types"
    match data_type.name:
        case name if name in _INTEGERS:
            return _bounded(int(text), _INTEGERS[data_type.name])
        case "float" | "double":
            return float(text)
        case "boolean":
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        case "date":
            return _date(text)
        case "timestamp":
            instant = _instant(text)
            return instant if isinstance(instant, int) else instant.replace(tzinfo=dt.UTC)
        case "timestamp_ntz":
            return _instant(text)
        case "binary":
            return text.encode()
    return text


def _date(text: str) -> dt.date | int:
    if not text.lstrip("-").isdigit():
        return dt.date.fromisoformat(text)
    try:
        return (_EPOCH + dt.timedelta(days=int(text))).date()
    except OverflowError:
        return _bounded(int(text), 32)


def _instant(text: str) -> dt.datetime | int:
    if not text.lstrip("-").isdigit():
        return dt.datetime.fromisoformat(text)
    try:
        return _EPOCH + dt.timedelta(microseconds=int(text))
    except OverflowError:
        return _bounded(int(text), 64)


def _bounded(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(number)
    return number
