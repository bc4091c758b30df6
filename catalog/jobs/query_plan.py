"""A query's plan as far as rules look at it: kinds of nodes, their keys, and which are tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ROW_BY_ROW: Final = frozenset(("Filter", "Project"))
_LIMITS: Final = frozenset(("GlobalLimit", "LocalLimit", "Offset"))
_AROUND_LIMITS: Final = _ROW_BY_ROW | _LIMITS | {"Sort"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOrigin:
    """A column of a table that a plan reads, by the table's number."""

    source: int
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryNode:
    """One node of a plan, whose nodes are numbered from the root on, parents before children.

    Attributes:
        kind: ``Project``, ``Filter``, ``Join Inner``, …, as Spark calls the node; ``Source`` for a
            managed table; ``Subquery`` for a node with a subquery among its expressions;
            ``SessionWindow`` for an aggregate whose groups are merged where they meet.
        parent: the number of its parent; -1 for the root.
        source: of a ``Source`` which of the query's sources it is.
        keys: how many expressions of its children's rows say which rows of a child a row of its
            result depends on: grouping, partitioning or join keys; 0 if it depends on all.
        rounded: a function whose result may depend on the order of rows; None if there is none.
        state: of an aggregate whose groups can be held in a table, the columns of the table, as
            Spark writes them in JSON; the first one is the key.
        key_columns: of each of `keys` the columns of tables below the node that have its value,
            be it because a join lets them.
    """

    kind: str
    parent: int
    source: int | None = None
    keys: int = 0
    rounded: str | None = None
    state: str | None = None
    key_columns: tuple[tuple[ColumnOrigin, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A plan as a list of its nodes in order of their numbers.

    `kept_keys` has the columns of the result that are the keys of its top, if all of them are.
    """

    nodes: Sequence[QueryNode]
    kept_keys: Sequence[int] = ()

    def children(self, number: int) -> list[int]:
        """Return the numbers of a node's children, the leftmost first."""
        return [i for i, node in enumerate(self.nodes) if node.parent == number]

    def sources(self, number: int = 0) -> frozenset[int]:
        """Return the numbers of the tables in a node's subtree."""
        if self.nodes[number].source is not None:
            return frozenset((number,))
        return frozenset().union(*map(self.sources, self.children(number)))

    @property
    def top(self) -> int:
        """The number of the first node, from the root on, that is no projection and no filter."""
        return next(i for i, node in enumerate(self.nodes) if node.kind not in _ROW_BY_ROW)

    @property
    def limited(self) -> int | None:
        """The number of the node of whose rows a LIMIT, the last step of the plan, takes some.

        None if there is no such LIMIT, or if no groups can be held from which those rows follow.
        """
        below = next(i for i, node in enumerate(self.nodes) if node.kind not in _AROUND_LIMITS)
        is_limited = any(node.kind in _LIMITS for node in self.nodes[:below])
        is_held = any(node.state is not None for node in self.nodes[below:])
        return below if is_limited and is_held else None
