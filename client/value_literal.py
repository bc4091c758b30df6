"""A value of Python, numpy, pandas or Arrow as the literal that it is in SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa

from table_store.client.errors import InvalidExpressionError
from table_store.client.expressions.coercion import NotKnownError, number_literal
from table_store.client.expressions.expression import Literal
from table_store.client.expressions.sql_text import NO_TEXT
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
)

_MISSING = ("NAType", "NaTType")
"""Classes of the values by which pandas says NULL; pandas need not be installed."""


def value_literal(value: object, *, shown: str) -> Literal:
    """Return the literal of exactly this value.

    Args:
        value: also a scalar of numpy, pandas or Arrow; NaT and NA are NULL.
        shown: the filter or assignment that has it, for errors.

    Raises:
        InvalidExpressionError: no literal has this value: a nanosecond is finer than the
            microseconds of a TIMESTAMP, a year lies beyond Python's, a text is not UTF-8.
    """
    try:
        return _literal(_plain(value))
    except UnicodeError as error:
        raise InvalidExpressionError(expression=shown, reason=NO_TEXT) from error
    except (ValueError, OverflowError, pa.ArrowException) as error:
        reason = str(error) if isinstance(error, NotKnownError) else f"{value!r} has no exact form"
        raise InvalidExpressionError(expression=shown, reason=reason) from error


def _plain(value: object) -> object:
    """Return a value of Python's own; NaN, NA and NaT of other libraries included."""
    if isinstance(value, pa.Scalar):
        if not value.is_valid:
            return None
        scalar = value
        if pa.types.is_timestamp(scalar.type):
            scalar = scalar.cast(pa.timestamp("us", scalar.type.tz))
        value = scalar.as_py()
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, np.datetime64):
        return _of_datetime64(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    return value


def _of_datetime64(value: np.datetime64) -> dt.datetime | dt.date | None:
    if np.isnat(value):
        return None
    is_day = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
    exact = value.astype("datetime64[D]" if is_day else "datetime64[us]")
    if exact != value:
        raise NotKnownError(f"{value} has nanoseconds, and a TIMESTAMP has microseconds")
    found = exact.item()
    if not isinstance(found, dt.date):
        raise NotKnownError(f"the year of {value} is not between 1 and 9999")
    return found


def _literal(value: object) -> Literal:
    match value:
        case None:
            return Literal(None, None)
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            return number_literal(str(value))
        case float():
            return Literal(value, DOUBLE)
        case Decimal() if value.is_finite():
            # Neither a minus nor abs: they round to the digits of Python's context.
            text = f"{value:f}"
            return number_literal(text if "." in text else f"{text}.")
        case str():
            value.encode()
            return Literal(value, STRING)
        case bytes():
            return Literal(value, BINARY)
        case dt.datetime():
            if getattr(value, "nanosecond", 0):
                raise NotKnownError(f"{value} has nanoseconds, and a TIMESTAMP has microseconds")
            moment: dt.datetime = getattr(value, "to_pydatetime", lambda: value)()
            if moment.tzinfo is None:
                return Literal(moment, TIMESTAMP_NTZ)
            return Literal(moment.astimezone(dt.UTC), TIMESTAMP)
        case dt.date():
            return Literal(value, DATE)
    raise NotKnownError(f"a {type(value).__name__} is no value of a column")
