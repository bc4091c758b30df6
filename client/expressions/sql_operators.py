"""Reads columns, literals and operators."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from table_store.client.errors import InvalidExpressionError
from table_store.client.expressions.coercion import (
    INTEGRAL,
    NotKnownError,
    cast,
    check_sign,
    negated,
    number_literal,
    operands,
    result_type,
)
from table_store.client.expressions.comparison import among, is_char
from table_store.client.expressions.expression import Call, Expression, Literal, connected
from table_store.client.expressions.sql_reader import Read, Reader, check_only, given
from table_store.storage.kernel.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    DataType,
    DecimalType,
)

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_PREDICATES: Final = (
    *(exp.Is, exp.In, exp.Between, exp.Not),
    *(exp.Like, exp.Escape, exp.ILike, exp.RegexpLike, exp.NullSafeNEQ),
)
_NUMBERS: Final = (*INTEGRAL, FLOAT, DOUBLE)


def _column(reader: Reader, node: exp.Expr) -> Expression:
    names, name = reader.names, node.name.lower()
    if set(given(node)) != {"this"}:
        raise NotKnownError(f"the field {node.sql(dialect='spark')} inside of a column")
    if name in names.refused:
        raise NotKnownError(names.refused[name])
    if name not in names.columns:
        known = ", ".join(column.name for column in names.columns.values())
        reason = f"there is no column {node.name!r}" + (f"; there are {known}" if known else "")
        raise InvalidExpressionError(expression=reader.sql, reason=reason)
    return names.columns[name]


def _literal(_: Reader, node: exp.Expr) -> Expression:
    return Literal(node.name, STRING) if node.is_string else number_literal(node.name)


def _comparison(operator: str) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        check_only(node, "this", "expression")
        # Spark reads `a = b IS NULL` as `(a = b) IS NULL`, and `a = b < c` from left to right.
        if isinstance(node.this, _PREDICATES) or isinstance(
            node.expression, (*_PREDICATES, *_COMPARISONS)
        ):
            raise NotKnownError(f"{node.sql(dialect='spark')}; put brackets around its sides")
        # Around what stands behind <=> sqlglot puts brackets of its own, where Spark has none.
        if isinstance(node, exp.NullSafeEQ) and isinstance(
            node.expression.unnest(), (*_PREDICATES, *_COMPARISONS)
        ):
            raise NotKnownError("a comparison or predicate behind <=>; put it in front")
        return reader.compared(operator, reader.read(node.this), reader.read(node.expression))

    return read


def _logical(function: str) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        # A long chain is a deep tree to the left.
        terms: list[exp.Expr] = []
        rest: exp.Expr = node
        while type(rest) is type(node):
            terms.append(rest.expression)
            rest = rest.this
        return connected(function, [reader.condition(term) for term in [rest, *reversed(terms)]])

    return read


def _not(reader: Reader, node: exp.Expr) -> Expression:
    return Call("not", (reader.condition(node.this),), BOOLEAN)


def _is(reader: Reader, node: exp.Expr) -> Expression:
    check_only(node, "this", "expression")
    if not isinstance(node.expression, exp.Null):
        if not isinstance(node.expression, exp.Boolean):
            raise NotKnownError(node.sql(dialect="spark"))
        is_true = Literal(bool(node.expression.this), BOOLEAN)
        return Call("<=>", (reader.condition(node.this), is_true), BOOLEAN)
    return Call("is null", (reader.read(node.this),), BOOLEAN)


def _in(reader: Reader, node: exp.Expr) -> Expression:
    parts = set(given(node))
    if parts == {"this"}:
        raise InvalidExpressionError(expression=reader.sql, reason="a list of IN is empty")
    if parts != {"this", "expressions"}:
        raise NotKnownError(f"{node.sql(dialect='spark')} has a subquery")
    value = reader.read(node.this)
    return among(value, [reader.read(item) for item in node.expressions], reader.names.zone)


def _between(reader: Reader, node: exp.Expr) -> Expression:
    check_only(node, "this", "low", "high")
    value, low, high = (reader.read(node.args[part]) for part in ("this", "low", "high"))
    if any(map(is_char, (value, low, high))):
        raise NotKnownError("BETWEEN of a CHAR, which Spark does not pad; write >= and <=")
    sides = reader.compared(">=", value, low), reader.compared("<=", value, high)
    return Call("and", sides, BOOLEAN)


def _arithmetic(operator: str) -> Read:
    def read(reader: Reader, node: exp.Expr) -> Expression:
        check_only(node, "this", "expression")
        given = reader.read(node.this), reader.read(node.expression)
        for side in given:
            is_number = side.type in (None, *_NUMBERS) or isinstance(side.type, DecimalType)
            if not is_number:
                raise NotKnownError(f"{operator} of other values than numbers")
        if all(side.type is None for side in given):
            return Literal(None, None)
        left, right = operands(*given)
        return Call(operator, (left, right), result_type(operator, left.type, right.type))

    return read


def _division(function: str, target: DataType | None) -> Read:
    """Read a division, whose sides become `target`, or with None keep their integer type."""

    def read(reader: Reader, node: exp.Expr) -> Expression:
        check_only(node, "this", "expression", "typed", "safe")
        left, right = reader.read(node.this), reader.read(node.expression)
        known = (*INTEGRAL, DOUBLE) if target == DOUBLE else INTEGRAL
        if left.type is None or left.type not in known or right.type not in known:
            raise NotKnownError(f"{node.sql(dialect='spark')} divides by other rules than integers")
        if target is None:
            left, right = operands(left, right)
            return Call(function, (left, right), left.type or LONG)
        sides = cast(left, target, None), cast(right, target, None)
        return Call(function, sides, target)

    return read


def _negative(reader: Reader, node: exp.Expr) -> Expression:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return number_literal("-" + node.this.name)
    inner = reader.read(node.this)
    if isinstance(inner, Literal) and isinstance(inner.value, int | float | Decimal):
        return negated(inner)
    return _sign("negative", inner)


def _abs(reader: Reader, node: exp.Expr) -> Expression:
    return _sign("abs", reader.read(node.this))


def _sign(function: str, inner: Expression) -> Expression:
    is_number = inner.type in _NUMBERS or isinstance(inner.type, DecimalType)
    if inner.type is None or not is_number:
        raise NotKnownError(f"{function} of another value than a number")
    check_sign(inner.type)
    return Call(function, (inner,), inner.type)


OPERATORS: Final[Mapping[type[exp.Expr], Read]] = {
    exp.Column: _column,
    exp.Paren: lambda reader, node: reader.read(node.this),
    exp.Literal: _literal,
    exp.Null: lambda _, __: Literal(None, None),
    exp.Boolean: lambda _, node: Literal(bool(node.this), BOOLEAN),
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("!="),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("<=>"),
    exp.And: _logical("and"),
    exp.Or: _logical("or"),
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _division("/", DOUBLE),
    exp.IntDiv: _division("div", LONG),
    exp.Mod: _division("%", None),
    exp.Neg: _negative,
    exp.Abs: _abs,
}
"""What reads each of them."""
