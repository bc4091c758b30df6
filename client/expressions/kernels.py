"""What the functions of expressions compute, on whole Arrow arrays.

A kernel gets arrays or scalars in the types that the parser has seen to, and the type of the
result. It raises `pyarrow.ArrowInvalid` where Spark in ANSI mode raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.time_zone import clock_times

Values: TypeAlias = "pa.Array | pa.Scalar"
Kernel: TypeAlias = Callable[[Sequence[Values], pa.DataType], Values]


def _cast(arguments: Sequence[Values], kind: pa.DataType) -> Values:
    (values,) = arguments
    if pa.types.is_decimal(kind):
        is_integer = pa.types.is_integer(values.type)
        return _rescaled(values.cast(pa.decimal128(19, 0)) if is_integer else values, kind)
    if pa.types.is_timestamp(values.type) and pa.types.is_date32(kind):
        return pc.floor_temporal(values, unit="day").cast(kind)
    # An integer of 64 bits becomes the nearest floating-point number.
    return values.cast(kind, safe=not pa.types.is_floating(kind))


def _rescaled(values: Values, kind: pa.DataType) -> Values:
    """Return decimals of another scale, rounded half up as in Spark."""
    if kind.scale < values.type.scale:
        # With 38 digits Arrow rounds 9.9 to something else than 10.
        wide = pa.decimal256(values.type.precision + 1, values.type.scale)
        values = pc.round(values.cast(wide), ndigits=kind.scale, round_mode="half_towards_infinity")
    return values.cast(kind)


def _date_in_zone(arguments: Sequence[Values], kind: pa.DataType) -> Values:
    moments, zone = arguments
    if isinstance(moments, pa.Scalar):
        return _date_in_zone([pa.repeat(moments, 1), zone], kind)[0]
    return _cast([clock_times(moments, zone.as_py())], kind)


def _is_nan(values: Values) -> Values | None:
    return pc.is_nan(values) if pa.types.is_floating(values.type) else None


def _equal(arguments: Sequence[Values], _: pa.DataType) -> Values:
    left, right = arguments
    found = pc.equal(left, right)
    left_nan, right_nan = _is_nan(left), _is_nan(right)
    if left_nan is None or right_nan is None:
        return found
    return pc.or_kleene(found, pc.and_kleene(left_nan, right_nan))


def _less(arguments: Sequence[Values], _: pa.DataType) -> Values:
    """Return `left < right`, where NaN is greater than all others and equal to itself."""
    left, right = arguments
    found = pc.less(left, right)
    left_nan, right_nan = _is_nan(left), _is_nan(right)
    if left_nan is None or right_nan is None:
        return found
    return pc.or_kleene(found, pc.and_kleene(pc.invert(left_nan), right_nan))


def _same(arguments: Sequence[Values], kind: pa.DataType) -> Values:
    left, right = arguments
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.coalesce(_equal(arguments, kind), pa.scalar(False)))


def _in(arguments: Sequence[Values], _: pa.DataType) -> Values:
    values, *listed = arguments
    found = pc.is_in(values, value_set=pa.array([one.as_py() for one in listed], values.type))
    return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), found)


def _checked(kernel: Callable[[Values, Values], Values]) -> Kernel:
    def run(arguments: Sequence[Values], kind: pa.DataType) -> Values:
        return reduce(kernel, arguments).cast(kind)

    return run


def _divide(arguments: Sequence[Values], _: pa.DataType) -> Values:
    left, right = arguments
    _refuse_zero(left, right)
    return pc.divide(left, right)


def _whole_divide(arguments: Sequence[Values], _: pa.DataType) -> Values:
    left, right = arguments
    _refuse_zero(left, right)
    return pc.divide_checked(left, right)


def _remainder(arguments: Sequence[Values], kind: pa.DataType) -> Values:
    left, right = arguments
    _refuse_zero(left, right)
    # The smallest integer divided by -1 is none, but its remainder is 0.
    divisor = pc.if_else(pc.equal(right, pa.scalar(-1, right.type)), pa.scalar(1, kind), right)
    return pc.subtract(left, pc.multiply(pc.divide(left, divisor), divisor))


def _refuse_zero(left: Values, right: Values) -> None:
    """Refuse a zero below a number; below a NULL it does no harm."""
    is_zero = pc.and_kleene(pc.equal(right, pa.scalar(0, right.type)), pc.is_valid(left))
    if pc.any(is_zero, min_count=0).as_py() if isinstance(is_zero, pa.Array) else is_zero.as_py():
        raise pa.ArrowInvalid("division by zero")


def _negate(arguments: Sequence[Values], _: pa.DataType) -> Values:
    (values,) = arguments
    is_integer = pa.types.is_integer(values.type)
    return pc.negate_checked(values) if is_integer else pc.negate(values)


def _abs(arguments: Sequence[Values], _: pa.DataType) -> Values:
    (values,) = arguments
    return pc.abs_checked(values) if pa.types.is_integer(values.type) else pc.abs(values)


def _in_ascii(kernel: Callable[[Values], Values]) -> Kernel:
    """Upper and lower case of other letters follow tables that Arrow and Java have otherwise."""

    def run(arguments: Sequence[Values], _: pa.DataType) -> Values:
        (texts,) = arguments
        is_plain = pc.string_is_ascii(texts)
        plain = pc.all(is_plain, min_count=0) if isinstance(texts, pa.Array) else is_plain
        if plain.as_py() is False:
            raise pa.ArrowInvalid("the upper and lower case of letters beyond ASCII is Spark's")
        return kernel(texts)

    return run


def _concat(arguments: Sequence[Values], _: pa.DataType) -> Values:
    return pc.binary_join_element_wise(*arguments, "", null_handling="emit_null")


def _substring(arguments: Sequence[Values], _: pa.DataType) -> Values:
    """Return `length` characters from a position, which counts from the end where it is negative.

    A position in front of the text counts, too: `substring('ab', -3, 2)` is `a`. Source:
    `UTF8String.substringSQL` of Spark.
    """
    texts, position, length = (arguments[0], arguments[1].as_py(), arguments[2].as_py())
    start = position - 1 if position > 0 else position
    if length <= 0:
        return pc.utf8_slice_codeunits(texts, 0, 0)
    if start >= 0:
        return pc.utf8_slice_codeunits(texts, start, start + length)
    # A negative end counts from the end, too; one at or behind the last character is none.
    stop = start + length
    return pc.utf8_slice_codeunits(texts, start, stop if stop < 0 else None)


def _padded(arguments: Sequence[Values], _: pa.DataType) -> Values:
    texts, length = arguments
    return pc.utf8_rpad(texts, width=length.as_py(), padding=" ")


def _like(arguments: Sequence[Values], _: pa.DataType) -> Values:
    texts, pattern = arguments
    return pc.match_like(texts, pattern.as_py())


def _part(kernel: Callable[[Values], Values]) -> Kernel:
    return lambda arguments, kind: kernel(arguments[0]).cast(kind)


def _swapped(kernel: Kernel) -> Kernel:
    return lambda arguments, kind: kernel(arguments[::-1], kind)


def _inverted(kernel: Kernel) -> Kernel:
    return lambda arguments, kind: pc.invert(kernel(arguments, kind))


KERNELS: Final[Mapping[str, Kernel]] = {
    "=": _equal,
    "!=": _inverted(_equal),
    "<": _less,
    ">": _swapped(_less),
    ">=": _inverted(_less),
    "<=": _inverted(_swapped(_less)),
    "<=>": _same,
    "in": _in,
    "not": lambda arguments, _: pc.invert(arguments[0]),
    "is null": lambda arguments, _: pc.is_null(arguments[0]),
    "+": _checked(pc.add_checked),
    "-": _checked(pc.subtract_checked),
    "*": _checked(pc.multiply_checked),
    "/": _divide,
    "div": _whole_divide,
    "%": _remainder,
    "negative": _negate,
    "abs": _abs,
    "cast": _cast,
    "date_in_zone": _date_in_zone,
    "upper": _in_ascii(pc.utf8_upper),
    "lower": _in_ascii(pc.utf8_lower),
    "concat": _concat,
    "length": _part(pc.utf8_length),
    "trim": lambda arguments, _: pc.utf8_trim(arguments[0], characters=" "),
    "ltrim": lambda arguments, _: pc.utf8_ltrim(arguments[0], characters=" "),
    "rtrim": lambda arguments, _: pc.utf8_rtrim(arguments[0], characters=" "),
    "substring": _substring,
    "padded": _padded,
    "like": _like,
    "startswith": lambda arguments, _: pc.starts_with(arguments[0], arguments[1].as_py()),
    "endswith": lambda arguments, _: pc.ends_with(arguments[0], arguments[1].as_py()),
    "contains": lambda arguments, _: pc.match_substring(arguments[0], arguments[1].as_py()),
    "year": _part(pc.year),
    "month": _part(pc.month),
    "day": _part(pc.day),
}
"""Every function whose arguments are all computed first; `evaluation.py` has the others."""
