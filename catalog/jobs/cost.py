"""What a change of a query's result costs to find, in rows that are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final, Protocol

from table_store.catalog.jobs.delta import Delta, delta
from table_store.catalog.jobs.query_plan import QueryPlan
from table_store.storage.kernel.frozen_map import FrozenMap

NO_STATES: Final[Mapping[int, int]] = FrozenMap()
NOWHERE: Final[Mapping[int, float]] = FrozenMap()

CUT_READ: Final = 0.6
CUT_JOIN_READ: Final = 1.0
"""Cost of a row of which keys are wanted or matched, beside a row that is read for the result.

Measured on two to five million rows: keys of a scan spare much of the work that follows; keys of
the groups of a join are known only behind the join, so that an aggregate cut to them takes 1.1 to
1.3 times as long as the whole one, the reading of its old rows included.
"""

LOOKED_UP_MAX: Final = 20_000
"""More rows than that have keys that are not looked up one by one."""


class KeyPlaces(Protocol):
    """Where rows lie in tables, which are sorted by their keys; tables are nodes of the plan."""

    def first_key(self, table: int) -> str | None:
        """Return the first column of a table's key; None if it has none."""

    def key_count(self, changed: Set[int]) -> float:
        """Return how many values the first key columns of the changes of tables may have.

        The columns have values in common.
        """

    def rows_near(self, table: int, changed: Set[int]) -> float:
        """Return about how many rows of a table lie where keys of the changes of others lie.

        Their first key columns have values in common.
        """


def incremental_cost(
    plan: QueryPlan,
    rows: Mapping[int, int],
    changed: Mapping[int, int],
    *,
    kept: int | None,
    states: Mapping[int, int] = NO_STATES,
    places: KeyPlaces | None = None,
) -> float:
    """Return the cost of an incremental epoch; that of a full one is `full_cost`.

    Args:
        plan: a plan with a rule for each node.
        rows: about how many rows each table of the plan has, by number.
        changed: about how many rows have changed of those that have.
        kept: the number of rows of the result if something holds it as it was, else None.
        states: how many groups the aggregates have whose groups are held, by number.
        places: tells where rows lie that are looked up; None: anywhere.
    """
    evaluator = _CostEvaluator(plan, rows, changed, kept, states, places)
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
        places: KeyPlaces | None,
    ) -> None:
        self.cost = 0.0
        self._plan, self._rows, self._changed = plan, rows, changed
        self._kept, self._states, self._places = kept, states, places

    def changes(self, node: int) -> Delta[float]:
        self.cost += self._changed[node]
        return [(float(self._changed[node]), 1)]

    def each(self, steps: Sequence[Callable[[], Delta[float]]]) -> list[Delta[float]]:
        return [step() for step in steps]

    def evaluated(self, node: int, old: Set[int], cut: int, keys: float | None) -> float:
        del old
        if keys is None:
            rows = self._read(node)
            self.cost += rows
            return rows
        near = self._near(cut, self._plan.sources(cut) & self._changed.keys(), keys)
        rows = self._read(node, near)
        is_looked_up = bool(near) or keys <= LOOKED_UP_MAX
        share = CUT_JOIN_READ if self._is_known_behind_join(cut, is_looked_up) else CUT_READ
        self.cost += share * rows
        return min(rows, keys)

    def replaced(self, node: int, place: int, changes: Delta[float], old: Set[int]) -> Delta[float]:
        del old
        children = self._plan.children(node)
        if self._plan.nodes[node].kind != "Union":
            changed = self._plan.sources(children[place]) & self._changed.keys()
            near = self._near(node, changed, _key_count(changes))
            others = sum(self._read(child, near) for child in children if child != children[place])
            self.cost += CUT_READ * others
        return changes

    def keys(self, node: int, changes: Mapping[int, Delta[float]]) -> float | None:
        del node
        return sum(map(_key_count, changes.values()))

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

    def _is_known_behind_join(self, node: int, is_looked_up: bool) -> bool:
        """Whether rows below a node are joined before its keys are known of them.

        Keys that are looked up are known of one side of an inner join, and those of the other side
        follow.
        """
        return any(
            child not in self._states
            and (
                (kind.startswith("Join") and not (kind == "Join Inner" and is_looked_up))
                or self._is_known_behind_join(child, is_looked_up)
            )
            for child in self._plan.children(node)
            for kind in (self._plan.nodes[child].kind,)
        )

    def _read(self, node: int, near: Mapping[int, float] = NOWHERE) -> float:
        """Return how many rows are read of a node's tables, of which some are known."""
        if node in self._states:
            return float(self._states[node])
        children = self._plan.children(node)
        own = near.get(node, float(self._rows.get(node, 0)))
        return own + sum(self._read(child, near) for child in children)

    def _near(self, node: int, changed: Set[int], keys: float) -> Mapping[int, float]:
        """Return how many rows are read of the tables below a node that are sorted by its keys.

        That is known if the changed tables are sorted by the same key.
        """
        places = self._places
        if places is None or not changed:
            return NOWHERE
        tables = {self._plan.nodes[table].source: table for table in self._plan.sources(node)}
        for columns in self._plan.nodes[node].key_columns:
            sorted_by = {
                tables[found.source]
                for found in columns
                if places.first_key(tables[found.source]) == found.column
            }
            if changed <= sorted_by and min(keys, places.key_count(changed)) <= LOOKED_UP_MAX:
                return {table: places.rows_near(table, changed) for table in sorted_by}
        return NOWHERE


def _key_count(changes: Delta[float]) -> float:
    """How many keys changes have at most: what goes from a group and what comes have the same."""
    return max(sum(rows for rows, sign in changes if sign == way) for way in (1, -1))
