"""Comparisons of two values, each with Spark's rules for the types that meet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from table_store.client.expressions.coercion import NotKnownError, unified
from table_store.client.expressions.expression import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    connected,
)
from table_store.storage.kernel.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    STRING,
    DataType,
    is_orderable,
)

COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=", "<=>")


def compared(operator: str, left: Expression, right: Expression, zone: str | None) -> Expression:
    """Return `left operator right`; a CHAR is compared with its padding, as Spark does.

    Raises:
        NotKnownError: values of these types are not compared here.
    """
    length = _char_length(left, right)
    left, right = unified(left, right, zone)
    _check_order(left.type)
    if length:
        left, right = _padded(left, length), _padded(right, length)
    return Call(operator, (left, right), BOOLEAN)


def among(value: Expression, items: Sequence[Expression], zone: str | None) -> Expression:
    """Return `value IN (items)`; all of them become one type, as in Spark.

    Raises:
        NotKnownError: see `compared`.
    """
    if not items:
        return Literal(False, BOOLEAN)
    _check_char_list(value, items)
    common = reduce(lambda left, right: unified(left, right, zone)[0], items, value)
    value, *items = (unified(one, common, zone)[0] for one in (value, *items))
    terms = [compared("=", value, item, zone) for item in items]
    sides = [term.arguments for term in terms if isinstance(term, Call)]
    listed = [right for left, right in sides if left == value]
    is_plain = all(isinstance(one, Literal) and one.value is not None for one in listed)
    if is_plain and len(listed) == len(terms) and value.type not in (FLOAT, DOUBLE):
        return Call("in", (value, *listed), BOOLEAN)
    return connected("or", terms)


def is_char(expression: Expression) -> bool:
    """Return whether this is a CHAR column."""
    return isinstance(expression, Column) and bool(expression.length)


def _check_char_list(value: Expression, items: Sequence[Expression]) -> None:
    """Refuse lists in which Spark does not pad a CHAR, or pads it in part."""
    sides = (value, *items)
    if not any(map(is_char, sides)) or all(map(is_char, sides)):
        return
    if not is_char(value) or not all(isinstance(one, Literal) and one.value for one in items):
        raise NotKnownError("a CHAR is in a list of IN with other values than plain texts")


def _check_order(data_type: DataType | None) -> None:
    if data_type is not None and not is_orderable(data_type):
        raise NotKnownError(f"values of type {data_type.sql_name()} are compared")


def _char_length(*sides: Expression) -> int:
    """Return to which length both sides are padded if one is a CHAR column; 0 if none is."""
    lengths = [side.length or 0 for side in sides if isinstance(side, Column)]
    if not any(lengths):
        return 0
    if any(isinstance(side, Call) and not columns_of(side) for side in sides):
        # Whether Spark pads it depends on what its analyzer can compute already.
        raise NotKnownError("a CHAR meets a text that is computed from constants; write the text")
    texts = [str(side.value) for side in sides if isinstance(side, Literal)]
    return max([*lengths, *map(len, texts)])


def _padded(side: Expression, length: int) -> Expression:
    if isinstance(side, Literal):
        return side if side.value is None else Literal(str(side.value).ljust(length), STRING)
    if isinstance(side, Column) and side.length not in (None, length):
        return Call("padded", (side, Literal(length, INTEGER)), STRING)
    return side
