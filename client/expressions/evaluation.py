"""Evaluates expressions on record batches.

`and`, `or`, `case` and `coalesce` compute an argument only for the rows that need it, as Spark
does: `b <> 0 AND a / b > 1` divides by no zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_store.client.errors import ExpressionFailedError
from table_store.client.expressions.expression import Call, Column, Expression, Literal
from table_store.client.expressions.kernels import KERNELS, Values
from table_store.storage.kernel.types import to_arrow

LAZY: Final = frozenset({"and", "or", "case", "coalesce"})

_Rows: TypeAlias = pa.RecordBatch


def evaluated(expression: Expression, rows: pa.RecordBatch, *, sql: str) -> pa.Array:
    """Return the value of an expression for each row, in the expression's type.

    Args:
        expression: on columns of `rows`; its type is known.
        rows: any number.
        sql: its text, for errors.

    Raises:
        ExpressionFailedError: a row has no result: an overflow, a division by zero, a letter
            whose case is not known.
    """
    try:
        values = _values(expression, rows)
    except pa.ArrowInvalid as error:
        raise ExpressionFailedError(
            expression=sql, reason=str(error).strip().rstrip(".")
        ) from error
    return _as_array(values, rows.num_rows)


def holding(expression: Expression, rows: pa.RecordBatch, *, sql: str) -> pa.RecordBatch:
    """Return the rows for which a condition is true; NULL is not."""
    mask = evaluated(expression, rows, sql=sql)
    return rows if mask.true_count == rows.num_rows else rows.filter(mask)


def _values(expression: Expression, rows: _Rows) -> Values:
    match expression:
        case Literal(value=value, type=data_type):
            kind = pa.bool_() if data_type is None else to_arrow(data_type)
            return pa.scalar(value, kind)
        case Column(name):
            return rows.column(name)
        case Call("and" | "or" as function, (left, right), _):
            return _connected(function == "and", left, right, rows)
        case Call("case", arguments, data_type):
            return _case(arguments, rows, to_arrow(data_type))
        case Call("coalesce", arguments, data_type):
            return _coalesced(arguments, rows, to_arrow(data_type))
        case Call(function, arguments, data_type):
            found = [_values(argument, rows) for argument in arguments]
            return KERNELS[function](found, to_arrow(data_type))


def _connected(is_and: bool, left: Expression, right: Expression, rows: _Rows) -> Values:
    first = _as_array(_values(left, rows), rows.num_rows)
    # False decides an AND, and true an OR.
    is_open = pc.coalesce(first if is_and else pc.invert(first), pa.scalar(True))
    if is_open.true_count == rows.num_rows:
        second = _values(right, rows)
    else:
        second = _scattered(right, rows, is_open, pa.bool_())
    return pc.and_kleene(first, second) if is_and else pc.or_kleene(first, second)


def _case(arguments: Sequence[Expression], rows: _Rows, kind: pa.DataType) -> Values:
    """Return the first value whose condition is true: condition, value, …, default."""
    *pairs, default = arguments
    result = pa.nulls(rows.num_rows, kind)
    is_open = _as_array(pa.scalar(True), rows.num_rows)
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        verdict = pc.coalesce(_scattered(condition, rows, is_open, pa.bool_()), pa.scalar(False))
        result = _filled(result, value, rows, verdict)
        is_open = pc.and_(is_open, pc.invert(verdict))
    return _filled(result, default, rows, is_open)


def _coalesced(arguments: Sequence[Expression], rows: _Rows, kind: pa.DataType) -> Values:
    result = pa.nulls(rows.num_rows, kind)
    for argument in arguments:
        result = _filled(result, argument, rows, result.is_null())
    return result


def _scattered(expression: Expression, rows: _Rows, mask: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an expression's values where the mask is true, and NULL elsewhere."""
    return _filled(pa.nulls(rows.num_rows, kind), expression, rows, mask)


def _filled(result: pa.Array, expression: Expression, rows: _Rows, mask: pa.Array) -> pa.Array:
    """Return `result` with an expression's values where the mask is true."""
    count = mask.true_count
    if not count:
        return result
    chosen = rows if count == rows.num_rows else rows.filter(mask)
    values = _as_array(_values(expression, chosen), count)
    return values if count == rows.num_rows else pc.replace_with_mask(result, mask, values)


def _as_array(values: Values, count: int) -> pa.Array:
    return pa.repeat(values, count) if isinstance(values, pa.Scalar) else values
