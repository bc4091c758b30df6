"""Goal: of two ways to an epoch, the estimates put the cheaper one first."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, replace

import pytest

from table_store.catalog.jobs.cost import full_cost, incremental_cost
from table_store.catalog.jobs.query_plan import ColumnOrigin, QueryNode, QueryPlan

FACTS, DIMS = 3, 4
GROUPED_JOIN = QueryPlan(
    [
        QueryNode(kind="Aggregate", parent=-1, keys=1),
        QueryNode(kind="Project", parent=0),
        QueryNode(kind="Join Inner", parent=1, keys=1),
        QueryNode(kind="Source", parent=2, source=0),
        QueryNode(kind="Source", parent=2, source=1),
    ],
    kept_keys=(0,),
)
JOIN = QueryPlan(
    [
        QueryNode(kind="Project", parent=-1),
        QueryNode(kind="Filter", parent=0),
        QueryNode(kind="Join Inner", parent=1, keys=1),
        QueryNode(kind="Source", parent=2, source=0),
        QueryNode(kind="Source", parent=2, source=1),
    ]
)
GROUPED = QueryPlan(
    [
        QueryNode(kind="Aggregate", parent=-1, keys=1),
        QueryNode(kind="Source", parent=0, source=0),
    ],
    kept_keys=(0,),
)
FACTS_ALONE = 1
ROWS = {FACTS_ALONE: 5_000_000, FACTS: 5_000_000, DIMS: 100_000}


@pytest.mark.parametrize(
    ("plan", "changed", "kept", "is_cheaper"),
    [
        # The few facts look up their dims.
        (JOIN, {FACTS: 1_000}, 5_000_000, True),
        # Few keys of groups leave few rows of a scan.
        (GROUPED, {FACTS_ALONE: 1_000}, 100_000, True),
        (GROUPED, {FACTS_ALONE: 1_000}, None, False),
        # Which rows of a join have the keys is known behind the join.
        (GROUPED_JOIN, {DIMS: 1_000}, 100_000, False),
        (GROUPED_JOIN, {FACTS: 1_000}, 100_000, False),
    ],
)
def test_the_cheaper_way(
    plan: QueryPlan, changed: dict[int, int], kept: int | None, is_cheaper: bool
) -> None:
    increment = incremental_cost(plan, ROWS, changed, kept=kept)
    assert (increment < full_cost(plan, ROWS, stored=kept or 0)) == is_cheaper


def test_groups_that_are_held_are_read_instead_of_tables() -> None:
    held, none = (
        incremental_cost(GROUPED_JOIN, ROWS, {FACTS: 1_000}, kept=None, states=states)
        for states in ({0: 1_000}, {})
    )
    assert held < none / 10


@dataclass(frozen=True)
class Near:
    """Few rows of tables whose keys begin with the column `k` are near, and it is noted where."""

    tables: Set[int]
    keys: float

    def key_count(self, changed: Set[int]) -> float:
        assert changed <= self.tables
        return self.keys

    def first_key(self, table: int) -> str | None:
        return "k" if table in self.tables else None

    def rows_near(self, table: int, changed: Set[int]) -> float:
        assert table in self.tables
        assert changed <= self.tables
        return 20_000


@pytest.mark.parametrize(
    ("changed", "sorted_tables", "keys", "is_cheaper"),
    [
        # Orders beside lines: both are sorted by the key that they share.
        ({FACTS: 1_000, DIMS: 100}, {FACTS, DIMS}, 9_000, True),
        ({FACTS: 1_000}, {FACTS, DIMS}, math.inf, True),
        ({FACTS: 100_000}, {FACTS, DIMS}, 10_000, True),
        # The keys of the dims that have changed may be anywhere among the facts.
        ({DIMS: 1_000}, {DIMS}, 1_000, False),
        ({FACTS: 1_000, DIMS: 1_000}, {FACTS}, 1_000, False),
        # More keys than that are not looked up.
        ({FACTS: 100_000}, {FACTS, DIMS}, math.inf, False),
    ],
)
def test_keys_that_lie_together(
    changed: dict[int, int], sorted_tables: set[int], keys: float, *, is_cheaper: bool
) -> None:
    shared = ((ColumnOrigin(source=0, column="k"), ColumnOrigin(source=1, column="k")),)
    nodes = [replace(n, key_columns=shared) if n.keys else n for n in GROUPED_JOIN.nodes]
    plan = replace(GROUPED_JOIN, nodes=nodes)
    increment = incremental_cost(
        plan, ROWS, changed, kept=100_000, places=Near(sorted_tables, keys)
    )
    assert (increment < full_cost(plan, ROWS, stored=100_000)) == is_cheaper
