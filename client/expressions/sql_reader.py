"""What reads one node of a parsed text, and the columns that it may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from sqlglot import exp

from table_store.client.errors import InvalidExpressionError
from table_store.client.expressions.coercion import NotKnownError, retyped, unified
from table_store.client.expressions.comparison import compared
from table_store.client.expressions.expression import Column, Expression, as_folded
from table_store.storage.kernel.types import BOOLEAN, STRING


@dataclass(frozen=True, slots=True)
class Names:
    """What an expression may name: columns by their lower-case names, and the time zone.

    `refused` has columns with the reason why expressions cannot use them.
    """

    columns: Mapping[str, Column]
    refused: Mapping[str, str]
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the nodes of one text; `readers` knows them by their classes."""

    sql: str
    names: Names
    readers: Mapping[type[exp.Expr], Read]

    def read(self, node: exp.Expr) -> Expression:
        """Return the expression of a node.

        Raises:
            NotKnownError: it, or a part of it, is evaluated by Spark only.
            InvalidExpressionError: it names no column.
        """
        reader = self.readers.get(type(node))
        if reader is None:
            raise NotKnownError(f"{node.sql(dialect='spark')} ({type(node).__name__})")
        return reader(self, node)

    def compared(self, operator: str, left: Expression, right: Expression) -> Expression:
        """Return `left operator right`; see `comparison.compared`."""
        return compared(operator, left, right, self.names.zone)

    def condition(self, node: exp.Expr) -> Expression:
        """Return a node that is true or false; see `read` and `as_condition`."""
        return as_condition(node.sql(dialect="spark"), self.read(node))

    def text(self, node: exp.Expr) -> Expression:
        """Return a node that is a text; see `read`."""
        read = retyped(self.read(node), STRING)
        if read.type != STRING:
            raise NotKnownError(f"{node.sql(dialect='spark')} stands where a text must")
        return read

    def all(self, nodes: Sequence[exp.Expr]) -> list[Expression]:
        """Read values that come out of one CASE or COALESCE, all in one type."""
        # Here Spark types an integer by its type, also a written one that meets a DECIMAL.
        read = [as_folded(self.read(node)) for node in nodes]
        # Of two decimals the common type may have more digits than both: so it is found first.
        widest = reduce(lambda left, right: unified(left, right, self.names.zone)[0], read)
        return [unified(one, widest, self.names.zone)[0] for one in read]


Read: TypeAlias = Callable[[Reader, exp.Expr], Expression]


def as_condition(sql: str, expression: Expression) -> Expression:
    """Return an expression that is true or false.

    Raises:
        InvalidExpressionError: it has another type.
    """
    if expression.type not in (None, BOOLEAN):
        raise InvalidExpressionError(
            expression=sql,
            reason=f"a condition is BOOLEAN, and this is {expression.type.sql_name()}",
        )
    return retyped(expression, BOOLEAN)


def given(node: exp.Expr) -> list[str]:
    """Return the names of the parts that a node has."""
    return [key for key, value in node.args.items() if value not in (None, [], False)]


def check_only(node: exp.Expr, *known: str) -> None:
    """Refuse a node with a part that is not read."""
    if set(given(node)) - set(known):
        raise NotKnownError(node.sql(dialect="spark"))
