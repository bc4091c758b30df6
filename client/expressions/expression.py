"""The closed set of expressions that are evaluated without Spark: three kinds of nodes with types.

Whoever makes a node has checked it: `evaluation.py` knows what every call means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from table_store.storage.kernel.types import BOOLEAN, DataType
from table_store.storage.kernel.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A value; NULL without a type of its own has the type None.

    `is_folded` marks the value of a computation, as of a CAST. Spark types a written integer by its
    digits where it meets a DECIMAL, and a computed one by its type.
    """

    value: Value
    type: DataType | None
    is_folded: bool = field(default=False, compare=False)


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


def as_folded(expression: Expression) -> Expression:
    """Return a literal as one that was computed; everything else as it is."""
    return replace(expression, is_folded=True) if isinstance(expression, Literal) else expression


def columns_of(expression: Expression) -> frozenset[str]:
    """Return the names of the columns in an expression."""
    return frozenset(node.name for node in _nodes(expression) if isinstance(node, Column))


def depth_of(expression: Expression) -> int:
    """Return how many calls are nested in each other."""
    depth, level = 0, [expression]
    while level := [a for one in level if isinstance(one, Call) for a in one.arguments]:
        depth += 1
    return depth


def _nodes(expression: Expression) -> Iterator[Expression]:
    nodes = [expression]
    while nodes:
        node = nodes.pop()
        yield node
        if isinstance(node, Call):
            nodes.extend(node.arguments)


def connected(function: str, conditions: Sequence[Expression]) -> Expression:
    """Return `and` or `or` of at least one condition, as a tree of little depth."""
    terms = list(conditions)
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [Call(function, tuple(p), BOOLEAN) if len(p) == 2 else p[0] for p in pairs]
    return terms[0]
