"""Converts Spark's pushed-down predicates to storage's predicates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.read.internal_values import READERS, ValueReader
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

_COMPARISONS = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


def necessary(predicates: Sequence[SparkExpression]) -> Predicate | None:
    """A storage predicate that holds for every row that satisfies all `predicates`.

    Parts that storage cannot express are left out, so this is only a necessary condition; Spark
    evaluates all `predicates` again. None means no condition.
    """
    parts = [part for part in map(_necessary, predicates) if part is not None]
    return conjunction(parts)


def exact(predicates: Sequence[SparkExpression]) -> Predicate | None:
    """The storage predicate equal to the conjunction of `predicates`; None if there is none."""
    parts = [_exact(predicate) for predicate in predicates]
    known = [part for part in parts if part is not None]
    return conjunction(known) if known and len(known) == len(parts) else None


def _necessary(expression: SparkExpression) -> Predicate | None:
    if expression.get("name") == "AND":
        return necessary(expression["children"])
    return _exact(expression)


def _exact(expression: SparkExpression) -> Predicate | None:
    name, children = expression.get("name"), expression.get("children", [])
    if name in ("AND", "OR"):
        left, right = _exact(children[0]), _exact(children[1])
        if left is None or right is None:
            return None
        return And(left, right) if name == "AND" else Or(left, right)
    if name == "NOT":
        inner = _exact(children[0])
        return None if inner is None else Not(inner)
    if name in _COMPARISONS:
        return _comparison(_COMPARISONS[name], children[0], children[1])
    if not children or _column(children[0]) is None:
        return None
    if "values" in expression:
        return _one_of(str(_column(children[0])), expression["values"], expression["type"])
    return _unary(str(name), str(_column(children[0])), children[1:])


def _comparison(op: str, left: SparkExpression, right: SparkExpression) -> Predicate | None:
    if _column(left) is None:
        op, left, right = _FLIPPED[op], right, left
    column, (known, value) = _column(left), _literal(right)
    if column is None or not known:
        return None
    if value is None:
        return IsNull(column) if op == "<=>" else None
    return Comparison(column, op, value)


def _unary(name: str, column: str, arguments: list[SparkExpression]) -> Predicate | None:
    if name == "IS_NULL":
        return IsNull(column)
    if name == "IS_NOT_NULL":
        return IsNotNull(column)
    values = [_literal(argument) for argument in arguments]
    if not all(known and value is not None for known, value in values):
        return None
    if name == "STARTS_WITH":
        return StartsWith(column, values[0][1])
    return None


def _one_of(column: str, values: Sequence[str | None], type_json: str) -> Predicate | None:
    value_of = _reader(type_json)
    texts = [text for text in values if text is not None]
    if value_of is None or len(texts) < len(values):
        return None
    return In(column, tuple(map(value_of, texts)))


def _column(expression: SparkExpression) -> str | None:
    path = expression.get("column")
    return path[0] if path is not None and len(path) == 1 else None


def _literal(expression: SparkExpression) -> tuple[bool, Any]:
    """(whether the expression is a literal that storage can compare, its value)."""
    if "literal" not in expression:
        return False, None
    text, value_of = expression["literal"], _reader(expression["type"])
    if text is None:
        return True, None
    return (False, None) if value_of is None else (True, value_of(text))


@lru_cache(maxsize=64)
def _reader(type_json: str) -> ValueReader | None:
    """What reads literals of a type, given in JSON; None if storage cannot compare them."""
    kind = json.loads(type_json)
    if not isinstance(kind, str) or kind == "binary":
        return None
    return Decimal if kind.startswith("decimal") else READERS.get(kind)
