"""A query's plan as far as rules look at it: kinds of nodes, and which of them are tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryNode:
    """One node of a plan, whose nodes are numbered from the root on, parents before children.

    Attributes:
        kind: ``Project``, ``Filter``, ``Join Inner``, …, as Spark calls the node; ``Source`` for a
            managed table; ``Subquery`` for a node with a subquery among its expressions.
        parent: the number of its parent; -1 for the root.
        source: of a ``Source`` which of the query's sources it is.
    """

    kind: str
    parent: int
    source: int | None = None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A plan as a list of its nodes in order of their numbers."""

    nodes: Sequence[QueryNode]

    def children(self, number: int) -> list[int]:
        """Return the numbers of a node's children, the leftmost first."""
        return [i for i, node in enumerate(self.nodes) if node.parent == number]

    def ancestors(self, number: int) -> Iterator[int]:
        """Yield a node's parent, the parent's parent, …, the root."""
        while (number := self.nodes[number].parent) >= 0:
            yield number

    def source_of(self, number: int) -> int:
        """Return which of the query's sources a ``Source`` is."""
        source = self.nodes[number].source
        assert source is not None, "it is called with numbers of `sources`"
        return source

    def sources(self) -> list[int]:
        """Return the numbers of the tables, the leftmost first."""
        return [i for i, node in enumerate(self.nodes) if node.source is not None]
