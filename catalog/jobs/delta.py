"""The change of a query's result by the changes of its tables, node by node.

Let Q be a node over children R1 … Rn that change to R1' … Rn'. The change goes from one state to
the other in steps, each of which lets one child change: by telescoping,

    Q(R') - Q(R) = Σi [ Q(R1 … Ri-1, Ri', Ri+1' … Rn') - Q(R1 … Ri-1, Ri, Ri+1' … Rn') ]

as bags with signs. Of each step there are three kinds.

- Linear: Q distributes over the change of the child, which is put in the child's place:
  projections, filters, generators, unions, inner joins, and the kept side of outer and semi joins.
- Keyed: a row of the result depends on the rows of the child with one key alone. Only the keys of
  the changes are looked at, NULL among them, in the state after and in the state before. More keys
  than necessary do no harm.
- Whole: Q is evaluated in both states.

An aggregate whose groups a table holds adds the changes of its child to them. The rows that a LIMIT
takes are found again from such groups, and compared with those that it took.

Sources: A. Gupta, I. S. Mumick, V. S. Subrahmanian, "Maintaining Views Incrementally", SIGMOD 1993,
for the linear steps; T. Griffin, B. Kumar, "Algebraic Change Propagation for Semijoin and Outerjoin
Queries", SIGMOD Record 27(3), 1998, for joins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from functools import partial
from typing import Final, Protocol, TypeAlias, TypeVar

from table_store.catalog.jobs.query_plan import QueryNode, QueryPlan

Rows = TypeVar("Rows")
Keys = TypeVar("Keys")
Delta: TypeAlias = "list[tuple[Rows, int]]"
"""A sum of bags, each of which adds its rows (1) or takes them away (-1)."""


class Way(Enum):
    """How a node's result follows a change of one of its children."""

    LINEAR = "linear"
    KEYED = "keyed"
    WHOLE = "whole"


_LEAVES: Final = frozenset(("LocalRelation", "OneRowRelation", "Range", "Source"))
_CHAIN: Final = frozenset(
    ("Expand", "Filter", "Generate", "Project", "ResolvedHint", "SubqueryAlias", "View")
)
_KEYED: Final = frozenset(("Aggregate", "Window"))
_LINEAR_PLACES: Final[Mapping[str, frozenset[int]]] = {
    "Join Cross": frozenset((0, 1)),
    "Join Existence": frozenset((0,)),
    "Join Full Outer": frozenset(),
    "Join Inner": frozenset((0, 1)),
    "Join Left Anti": frozenset((0,)),
    "Join Left Outer": frozenset((0,)),
    "Join Left Semi": frozenset((0,)),
    "Join Right Outer": frozenset((1,)),
}


class Evaluator(Protocol[Rows, Keys]):
    """What bags of rows are to the rules: nodes are named by their numbers in the plan."""

    def changes(self, node: int) -> Delta[Rows]:
        """Return how the table of a node has changed."""

    def each(self, steps: Sequence[Callable[[], Delta[Rows]]]) -> list[Delta[Rows]]:
        """Return what each of some steps returns; none of them needs another one."""

    def evaluated(self, node: int, old: Set[int], cut: int, keys: Keys | None) -> Rows:
        """Return a node's rows, cut to the keys of the node `cut` if there are any.

        `old` has the tables that are read as they were; others are read as they are.
        """

    def replaced(self, node: int, place: int, changes: Delta[Rows], old: Set[int]) -> Delta[Rows]:
        """Return a node's rows if each of `changes` stands for one of its children.

        Of a union they are those of this child alone.
        """

    def keys(self, node: int, changes: Mapping[int, Delta[Rows]]) -> Keys | None:
        """Return the keys of the changes of children, by place; None if there are no rows."""

    def holds(self, node: int) -> bool:
        """Whether a table holds the groups of a node, which is then an aggregate."""

    def accumulated(self, node: int, changes: Delta[Rows]) -> Delta[Rows]:
        """Return how an aggregate whose groups are held changes by the changes of its child.

        They are held with these changes from then on.
        """

    def stored(self, keys: Keys) -> Rows | None:
        """Return the rows of the result as they were, of the keys of the plan's top alone.

        None if nothing holds them.
        """

    def kept(self) -> Rows | None:
        """Return the whole result as it was, which something holds; None if it had no rows."""

    def net(self, delta: Delta[Rows]) -> Delta[Rows]:
        """Return the same sum in which no row is added and taken away; empty if it is nothing."""


def way_of(node: QueryNode, place: int) -> Way | None:
    """Return how a node follows the child at `place`; None if there is no rule for its kind."""
    if node.kind in _CHAIN or node.kind == "Union":
        return Way.LINEAR
    if place in _LINEAR_PLACES.get(node.kind, ()):
        return Way.LINEAR
    if node.kind in _KEYED or node.kind in _LINEAR_PLACES:
        return Way.KEYED if node.keys else Way.WHOLE
    return None


def why_not_incremental(plan: QueryPlan, *, is_kept: bool) -> str | None:
    """Return what in a plan has no rule of change; None if all of it has one.

    `is_kept` says that the result is at hand as it was, and need not be computed again.
    """
    limited = plan.limited if is_kept else None
    for number, node in enumerate(plan.nodes):
        is_taken = limited is not None and number < limited
        if not is_taken and node.kind not in _LEAVES and way_of(node, 0) is None:
            return f"there is no incremental rule for {node.kind}"
        if node.rounded is not None and not (is_kept and plan.kept_keys and number == plan.top):
            return f"{node.rounded} depends on the order of rows"
    return None


def delta(plan: QueryPlan, evaluator: Evaluator[Rows, Keys], changed: Set[int]) -> Delta[Rows]:
    """Return how the result has changed.

    Args:
        plan: a plan for which `why_not_incremental` is None.
        evaluator: what evaluates nodes.
        changed: the numbers of the tables that have changed.
    """
    if plan.limited is not None:
        if not _accumulated(plan, evaluator, changed, plan.limited):
            return []
        now, before = evaluator.evaluated(0, frozenset(), 0, None), evaluator.kept()
        return [(now, 1)] if before is None else [(now, 1), (before, -1)]
    top = plan.top
    if plan.nodes[top].kind in _KEYED and plan.nodes[top].keys and not evaluator.holds(top):
        (child,) = plan.children(top)
        changes = _delta(plan, evaluator, changed, child)
        keys = evaluator.keys(top, {0: changes}) if changes else None
        if keys is None:
            return []
        before = evaluator.stored(keys)
        if before is None:
            before = evaluator.evaluated(0, changed, top, keys)
        return [(evaluator.evaluated(0, frozenset(), top, keys), 1), (before, -1)]
    return _delta(plan, evaluator, changed, 0)


def node_delta(
    plan: QueryPlan, evaluator: Evaluator[Rows, Keys], changed: Set[int], node: int
) -> Delta[Rows]:
    """Return how a node's rows have changed; takes what `delta` takes."""
    return _delta(plan, evaluator, changed, node)


def _accumulated(
    plan: QueryPlan, evaluator: Evaluator[Rows, Keys], changed: Set[int], node: int
) -> bool:
    """Let the groups that are held follow their tables; return whether a node's rows may change."""
    if evaluator.holds(node):
        return bool(_delta(plan, evaluator, changed, node))
    found = [_accumulated(plan, evaluator, changed, child) for child in plan.children(node)]
    return node in changed or any(found)


def _delta(
    plan: QueryPlan, evaluator: Evaluator[Rows, Keys], changed: Set[int], node: int
) -> Delta[Rows]:
    """Return how a node's rows have changed."""
    if plan.nodes[node].source is not None:
        return evaluator.changes(node) if node in changed else []
    children = plan.children(node)
    touched = [place for place, child in enumerate(children) if plan.sources(child) & changed]
    below = evaluator.each(
        [partial(_delta, plan, evaluator, changed, children[place]) for place in touched]
    )
    changes = {place: rows for place, rows in zip(touched, below, strict=True) if rows}
    if changes and evaluator.holds(node):
        return _net(plan, evaluator, node, evaluator.accumulated(node, changes[0]))
    old: frozenset[int] = frozenset()
    ways = {place: way_of(plan.nodes[node], place) for place in changes}
    linear = []
    for place in [place for place, way in ways.items() if way is Way.LINEAR]:
        linear.append(partial(evaluator.replaced, node, place, changes[place], old))
        old |= plan.sources(children[place]) & changed
    parts = [part for found in evaluator.each(linear) for part in found]
    rest = {place: changes[place] for place, way in ways.items() if way is not Way.LINEAR}
    if rest:
        is_keyed = Way.KEYED in ways.values()
        keys = evaluator.keys(node, rest) if is_keyed else None
        if keys is not None or not is_keyed:
            parts.append((evaluator.evaluated(node, old, node, keys), 1))
            parts.append((evaluator.evaluated(node, changed, node, keys), -1))
            parts = _net(plan, evaluator, node, parts)
    return parts


def _net(
    plan: QueryPlan, evaluator: Evaluator[Rows, Keys], node: int, parts: Delta[Rows]
) -> Delta[Rows]:
    """The same sum without rows that come and go, unless it is added up anyway."""
    return evaluator.net(parts) if parts and not _is_last(plan, node) else parts


def _is_last(plan: QueryPlan, node: int) -> bool:
    """Whether only projections and filters follow, after which changes are added up anyway."""
    parent = plan.nodes[node].parent
    return parent < 0 or (plan.nodes[parent].kind in _CHAIN and _is_last(plan, parent))
