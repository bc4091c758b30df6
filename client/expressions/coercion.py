"""Which types meet in an expression, and what they become: the rules of Spark in ANSI mode.

Sources: "ANSI Compliance" in the Spark 4.2 SQL reference, and `DecimalType` and
`DecimalPrecisionTypeCoercion` of its Catalyst. What is not certain here is refused, so a result is
Spark's or there is none.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from table_store.client.expressions.expression import Call, Expression, Literal
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.kernel.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

INTEGRAL: Final = (BYTE, SHORT, INTEGER, LONG)
"""Integers, narrow ones first."""

_BITS: Final[Mapping[DataType, int]] = {BYTE: 8, SHORT: 16, INTEGER: 32, LONG: 64}
_DIGITS: Final[Mapping[DataType, int]] = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 20}
_SIGNED_DIGITS: Final = 34
_DATE_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME_TEXT: Final = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?"
)
_INTEGER_TEXT: Final = re.compile(r"[+-]?\d{1,19}")


class NotKnownError(ValueError):
    """Types meet for which there is no rule here; `args[0]` is a clause that says which."""


def number_literal(text: str) -> Literal:
    """Return the literal of a number as Spark types it: INT, BIGINT, DECIMAL or DOUBLE.

    Args:
        text: digits, with a minus, a point or an exponent; the minus belongs to the literal, as in
            `-2147483648`, which is an INT.

    Raises:
        NotKnownError: no type of numbers holds it.
    """
    if re.search(r"[eE]", text):
        number = float(text)
        if math.isinf(number):
            raise NotKnownError(f"{text} is beyond the range of DOUBLE")
        return Literal(number, DOUBLE)
    if text.removeprefix("-").isdigit():
        return _integer(int(text))
    return _decimal(Decimal(text))


def negated(literal: Literal) -> Literal:
    """Return a minus applied to the value of a number's literal.

    Raises:
        NotKnownError: it has no result in its type, as of the smallest integer.
    """
    value, kind = literal.value, literal.type
    if isinstance(value, int) and kind in INTEGRAL and _fits(-value, kind):
        return Literal(-value, kind, is_folded=True)
    if isinstance(value, float):
        return Literal(-value, kind, is_folded=True)
    if isinstance(value, Decimal):
        check_sign(kind)
        return Literal(value.copy_negate(), kind, is_folded=True)
    raise NotKnownError(f"a minus in front of {value!r}")


def check_sign(kind: DataType | None) -> None:
    """Refuse a minus or `abs` of decimals with so many digits that Spark rounds the result.

    Raises:
        NotKnownError: there are more than 34 digits, which Scala's `BigDecimal` keeps.
    """
    if isinstance(kind, DecimalType) and kind.precision > _SIGNED_DIGITS:
        raise NotKnownError(f"a minus or abs of {kind.sql_name()} is rounded to 34 digits")


def unified(left: Expression, right: Expression, zone: str | None) -> tuple[Expression, Expression]:
    """Return both sides of a comparison in one type.

    Raises:
        NotKnownError: there is no such type.
    """
    if left.type is None or right.type is None:
        known = left.type or right.type or BOOLEAN
        return retyped(left, known), retyped(right, known)
    if left.type == right.type:
        return left, right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal) and one.type == STRING and other.type in _TEMPORAL:
            moment = temporal_literal(str(one.value), other.type, zone)
            return (moment, right) if one is left else (left, moment)
    target = _common_number(left, right)
    return cast(left, target, zone), cast(right, target, zone)


def retyped(expression: Expression, data_type: DataType) -> Expression:
    """Return a NULL without a type as one of this type, and everything else as it is."""
    return Literal(None, data_type) if expression.type is None else expression


def operands(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Return both sides of `+`, `-` or `*` in the types in which they are computed.

    Raises:
        NotKnownError: they are no numbers, or none that are computed here.
    """
    if left.type is None or right.type is None:
        known = left.type or right.type
        if known is None:
            raise NotKnownError("NULL is computed with NULL")
        left, right = retyped(left, known), retyped(right, known)
    if isinstance(left.type, DecimalType) and isinstance(right.type, DecimalType):
        return left, right
    if FLOAT in (left.type, right.type) and left.type != right.type:
        raise NotKnownError("FLOAT is computed with another type; cast it to DOUBLE")
    target = _common_number(left, right)
    if isinstance(target, DecimalType):
        return _as_decimal(left), _as_decimal(right)
    return cast(left, target, None), cast(right, target, None)


def result_type(operator: str, left: DataType | None, right: DataType | None) -> DataType:
    """Return the type of `left operator right`, for `+`, `-` and `*` of `operands`.

    Raises:
        NotKnownError: a decimal would need more than 38 digits.
    """
    if not (isinstance(left, DecimalType) and isinstance(right, DecimalType)):
        if left is None:
            raise NotKnownError("NULL is computed with NULL")
        return left
    if operator == "*":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        whole = max(left.precision - left.scale, right.precision - right.scale)
        precision = whole + scale + 1
    return _bounded(precision, scale)


def cast(expression: Expression, target: DataType, zone: str | None) -> Expression:
    """Return the expression in another type; nothing where it has it.

    Raises:
        NotKnownError: this conversion is not known here.
    """
    source = expression.type
    if source == target:
        return expression
    if isinstance(expression, Literal):
        converted = _converted(expression, target, zone)
        if converted is not None:
            return replace(converted, is_folded=True)
    if source == TIMESTAMP and target == DATE:
        if zone is None:
            raise NotKnownError("the date of a TIMESTAMP depends on a time zone; give time_zone")
        return Call("date_in_zone", (expression, Literal(zone, STRING)), DATE)
    if not _can_cast(source, target):
        shown = "NULL" if source is None else source.sql_name()
        raise NotKnownError(f"{shown} becomes {target.sql_name()}")
    return Call("cast", (expression,), target)


def temporal_literal(text: str, target: DataType | None, zone: str | None) -> Literal:
    """Return the date or timestamp that a text means.

    Raises:
        NotKnownError: the text is none in ISO's form, or needs a zone that is not known.
    """
    try:
        if target == DATE and _DATE_TEXT.fullmatch(text):
            return Literal(dt.date.fromisoformat(text), DATE)
        if target in (TIMESTAMP, TIMESTAMP_NTZ) and _TIME_TEXT.fullmatch(text):
            moment = dt.datetime.fromisoformat(text)
            if target == TIMESTAMP_NTZ and moment.tzinfo is None:
                return Literal(moment, TIMESTAMP_NTZ)
            if target == TIMESTAMP:
                return Literal(_moment(moment, zone), TIMESTAMP)
    except (ValueError, OverflowError) as error:
        raise NotKnownError(f"{text!r} is no date or time ({error})") from error
    raise NotKnownError(f"the text {text!r} is read as a date or time; write it as 2026-01-31")


def _moment(moment: dt.datetime, zone: str | None) -> dt.datetime:
    if moment.tzinfo is None and zone is None:
        raise NotKnownError(
            f"{moment} has no time zone; write it behind the time, as in "
            "'2026-01-31 12:00:00+01:00', or give time_zone"
        )
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=find_zone(zone or ""))
    return moment.astimezone(dt.UTC)


_TEMPORAL: Final = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def _integer(value: int) -> Literal:
    for data_type in (INTEGER, LONG):
        if _fits(value, data_type):
            return Literal(value, data_type)
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Literal:
    return Literal(value, _own_type(value))


def _own_type(value: Decimal) -> DecimalType:
    """Return the narrowest type that holds a number, which is that of its literal."""
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale)
    return _bounded(precision, scale)


def _bounded(precision: int, scale: int) -> DecimalType:
    if precision > DECIMAL_PRECISION_MAX:
        raise NotKnownError(
            f"a result needs {precision} digits, and a DECIMAL has {DECIMAL_PRECISION_MAX}"
        )
    return DecimalType(precision, scale)


def _fits(value: int, data_type: DataType) -> bool:
    bound = 1 << (_BITS[data_type] - 1)
    return -bound <= value < bound


def _common_number(left: Expression, right: Expression) -> DataType:
    kinds = (left.type, right.type)
    if all(kind in INTEGRAL for kind in kinds):
        return max((kind for kind in kinds if kind is not None), key=INTEGRAL.index)
    if any(kind in (FLOAT, DOUBLE) for kind in kinds):
        return DOUBLE if DOUBLE in kinds or _is_small_number(left, right) else _refused(*kinds)
    decimals = [_as_decimal(side).type for side in (left, right)]
    if all(isinstance(kind, DecimalType) for kind in decimals):
        scale = max(kind.scale for kind in decimals if isinstance(kind, DecimalType))
        whole = max(k.precision - k.scale for k in decimals if isinstance(k, DecimalType))
        return _bounded(whole + scale, scale)
    return _refused(*kinds)


def _is_small_number(left: Expression, right: Expression) -> bool:
    """Whether one side is a FLOAT and the other a number that FLOAT and DOUBLE both hold."""
    for side in (left, right):
        if isinstance(side, Literal) and isinstance(side.value, int | Decimal):
            return abs(Decimal(side.value)) <= 1 << 24
    return False


def _as_decimal(side: Expression) -> Expression:
    if isinstance(side.type, DecimalType):
        return side
    if isinstance(side, Literal) and isinstance(side.value, int) and not side.is_folded:
        return _decimal(Decimal(side.value))
    if side.type is not None and side.type in _DIGITS:
        return Call("cast", (side,), DecimalType(_DIGITS[side.type], 0))
    return side


def _refused(left: DataType | None, right: DataType | None) -> DataType:
    names = " and ".join("NULL" if t is None else t.sql_name() for t in (left, right))
    raise NotKnownError(f"{names} meet; cast one of them")


def _converted(literal: Literal, target: DataType, zone: str | None) -> Literal | None:
    """Return a literal as one of another type; None if it must be cast like other values."""
    value = literal.value
    if value is None:
        return Literal(None, target)
    if isinstance(value, str):
        return _from_text(value, target, zone)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if target in INTEGRAL and value == int(value):
        return Literal(int(value), target) if _fits(int(value), target) else None
    if target == DOUBLE:
        return Literal(float(value) + 0.0, DOUBLE)  # a DECIMAL has no negative zero
    if isinstance(target, DecimalType):
        number = Decimal(value)
        own = _own_type(number)
        if own.scale <= target.scale and own.precision - own.scale <= (
            target.precision - target.scale
        ):
            return Literal(number, target)
    return None


def _from_text(text: str, target: DataType, zone: str | None) -> Literal | None:
    if target in _TEMPORAL:
        return temporal_literal(text, target, zone)
    if target in INTEGRAL and _INTEGER_TEXT.fullmatch(text) and _fits(int(text), target):
        return Literal(int(text), target)
    return None


def _can_cast(source: DataType | None, target: DataType) -> bool:
    if source in INTEGRAL:
        return target in (*INTEGRAL, DOUBLE, STRING) or isinstance(target, DecimalType)
    if isinstance(source, DecimalType):
        return isinstance(target, DecimalType)
    return (source, target) in (
        (FLOAT, DOUBLE),
        (BOOLEAN, STRING),
        (DATE, STRING),
        (TIMESTAMP_NTZ, DATE),
    )
