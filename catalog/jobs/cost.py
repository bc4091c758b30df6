"""What a change of a query's result costs to find, in rows that are read."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from table_store.catalog.jobs.delta import Delta, delta
from table_store.catalog.jobs.query_plan import QueryPlan
from table_store.storage.kernel.frozen_map import FrozenMap

NO_STATES: Final[Mapping[int, int]] = FrozenMap()

CUT_READ: Final = 0.6
CUT_JOIN_READ: Final = 1.0
"""Cost of a row of which keys are wanted or matched, beside a row that is read for the result.

Measured on two to five million rows: keys of a scan spare much of the work that follows; keys of
the groups of a join are known only behind the join, so that an aggregate cut to them takes 1.1 to
1.3 times as long as the whole one, the reading of its old rows included.
"""


def incremental_cost(
    plan: QueryPlan,
    rows: Mapping[int, int],
    changed: Mapping[int, int],
    *,
    kept: int | None,
    states: Mapping[int, int] = NO_STATES,
) -> float:
    """Return the cost of an incremental epoch; that of a full one is `full_cost`.

    Args:
        plan: a plan with a rule for each node.
        rows: about how many rows each table of the plan has, by number.
        changed: about how many rows have changed of those that have.
        kept: the number of rows of the result if something holds it as it was, else None.
        states: how many groups the aggregates have whose groups are held, by number.
    """
    evaluator = _CostEvaluator(plan, rows, changed, kept, states)
    delta(plan, evaluator, changed.keys())
    return evaluator.cost


def full_cost(plan: QueryPlan, rows: Mapping[int, int], *, stored: int) -> float:
    """Return the cost of computing the result and comparing it with the one that is stored."""
    return float(sum(rows[node] for node in plan.sources()) + stored)


class _CostEvaluator:
    """Bags are the number of their rows, and so are keys; `cost` adds up what is read."""

    def __init__(
        self,
        plan: QueryPlan,
        rows: Mapping[int, int],
        changed: Mapping[int, int],
        kept: int | None,
        states: Mapping[int, int],
    ) -> None:
        self.cost = 0.0
        self._plan, self._rows, self._changed = plan, rows, changed
        self._kept, self._states = kept, states

    def changes(self, node: int) -> Delta[float]:
        self.cost += self._changed[node]
        return [(float(self._changed[node]), 1)]

    def evaluated(self, node: int, old: Set[int], cut: int, keys: float | None) -> float:
        del old
        rows = self._read(node)
        share = CUT_JOIN_READ if self._has_join_below(cut) else CUT_READ
        self.cost += rows if keys is None else share * rows
        return rows if keys is None else min(rows, keys)

    def replaced(self, node: int, place: int, changes: Delta[float], old: Set[int]) -> Delta[float]:
        del old
        children = self._plan.children(node)
        if self._plan.nodes[node].kind != "Union":
            others = sum(self._read(child) for child in children if child != children[place])
            self.cost += CUT_READ * others
        return changes

    def keys(self, node: int, changes: Mapping[int, Delta[float]]) -> float | None:
        del node
        return sum(rows for found in changes.values() for rows, _ in found)

    def holds(self, node: int) -> bool:
        return node in self._states

    def accumulated(self, node: int, changes: Delta[float]) -> Delta[float]:
        groups = min(sum(rows for rows, _ in changes), self._states[node])
        self.cost += CUT_READ * self._states[node]
        return [(groups, 1), (groups, -1)]

    def stored(self, keys: float) -> float | None:
        if self._kept is None or not self._plan.kept_keys:
            return None
        self.cost += CUT_READ * self._kept
        return min(self._kept, keys)

    def kept(self) -> float:
        self.cost += self._kept or 0
        return self._kept or 0

    def net(self, parts: Delta[float]) -> Delta[float]:
        return parts

    def _has_join_below(self, node: int) -> bool:
        return any(
            self._plan.nodes[child].kind.startswith("Join") or self._has_join_below(child)
            for child in self._plan.children(node)
        )

    def _read(self, node: int) -> float:
        if node in self._states:
            return float(self._states[node])
        children = self._plan.children(node)
        return float(self._rows.get(node, 0)) + sum(self._read(child) for child in children)
