"""Which part of a condition storage evaluates itself: it leaves out files, row groups and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from table_store.client.expressions.expression import (
    Call,
    Column,
    Expression,
    Literal,
    connected,
)
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    conjunction,
)
from table_store.storage.kernel.types import BOOLEAN, FLOAT, STRING

_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}

_PUSHED_MAX: Final = 256
"""Of comparisons: Arrow turns a conjunction into a list that it follows by recursion."""


@dataclass(frozen=True, slots=True)
class DividedCondition:
    """A condition that holds where `pushed` and `rest` do; None holds everywhere."""

    pushed: Predicate | None = None
    rest: Expression | None = None


def divided(condition: Expression) -> DividedCondition:
    """Return the terms of a condition that storage evaluates, and the others."""
    pushed: list[Predicate] = []
    rest: list[Expression] = []
    left = _PUSHED_MAX
    for term in _terms(condition):
        count = _comparisons(term)
        predicate = None if count > left else _predicate(term)
        if predicate is None:
            rest.append(term)
        else:
            pushed.append(predicate)
            left -= count
    return DividedCondition(conjunction(pushed), connected("and", rest) if rest else None)


def _comparisons(term: Expression) -> int:
    """Return how many conditions a term connects."""
    count, terms = 0, [term]
    while terms:
        one = terms.pop()
        if isinstance(one, Call) and one.function in ("and", "or"):
            terms.extend(one.arguments)
        else:
            count += 1
    return count


def _terms(condition: Expression) -> Iterator[Expression]:
    match condition:
        case Call("and", (left, right), _):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield condition


def _predicate(term: Expression) -> Predicate | None:
    match term:
        case Call("not", (Call("is null", (Column(name),), _),), _):
            return IsNotNull(name)
        case Call("is null", (Column(name),), _):
            return IsNull(name)
        case Call("not", (inner,), _):
            found = _predicate(inner)
            return None if found is None else Not(found)
        case Call("and" | "or" as function, (left, right), _):
            return _both(function, left, right)
        case Call("in", (Column(name), *listed), _):
            return In(name, tuple(one.value for one in listed if isinstance(one, Literal)))
        case Call("startswith", (Column(name), Literal(str(prefix), _)), _):
            return StartsWith(name, prefix)
        case Call(operator, (Column() as column, Literal() as literal), _):
            return _comparison(column, operator, literal)
        case Call(operator, (Literal() as literal, Column() as column), _):
            return _comparison(column, _MIRRORED.get(operator, ""), literal)
        case Column(name, data_type) if data_type == BOOLEAN:
            return Comparison(name, "=", True)
    return None


def _both(function: str, left: Expression, right: Expression) -> Predicate | None:
    first, second = _predicate(left), _predicate(right)
    if first is None or second is None:
        return None
    return And(first, second) if function == "and" else Or(first, second)


def _comparison(column: Column, operator: str, literal: Literal) -> Predicate | None:
    if operator not in _MIRRORED or literal.value is None or literal.type != column.type:
        return None
    if column.type == FLOAT or (column.type == STRING and "\0" in str(literal.value)):
        return None
    return Comparison(column.name, operator, literal.value)
