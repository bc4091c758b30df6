"""The closed set of expressions that are evaluated without Spark: three kinds of nodes with types.

Whoever makes a node has checked it: `evaluation.py` knows what every call means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from table_store.storage.kernel.types import BOOLEAN, DataType
from table_store.storage.kernel.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A value; NULL without a type of its own has the type None."""

    value: Value
    type: DataType | None


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column; `length` is that of a CHAR column, whose values are padded."""

    name: str
    type: DataType
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the arguments; `evaluation.py` and `kernels.py` have all names."""

    function: str
    arguments: tuple[Expression, ...]
    type: DataType


Expression: TypeAlias = Literal | Column | Call


def columns_of(expression: Expression) -> frozenset[str]:
    """Return the names of the columns in an expression."""
    return frozenset(node.name for node in _nodes(expression) if isinstance(node, Column))


def _nodes(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _nodes(argument)


def connected(function: str, conditions: Sequence[Expression]) -> Expression:
    """Return `and` or `or` of at least one condition, as a tree of little depth."""
    terms = list(conditions)
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [Call(function, tuple(p), BOOLEAN) if len(p) == 2 else p[0] for p in pairs]
    return terms[0]
