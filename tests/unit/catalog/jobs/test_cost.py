"""Goal: of two ways to an epoch, the estimates put the cheaper one first."""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.cost import full_cost, incremental_cost
from table_store.catalog.jobs.query_plan import QueryNode, QueryPlan

FACTS, DIMS = 3, 4
GROUPED_JOIN = QueryPlan(
    [
        QueryNode(kind="Aggregate", parent=-1, keys=1),
        QueryNode(kind="Project", parent=0),
        QueryNode(kind="Join Inner", parent=1, keys=1),
        QueryNode(kind="Source", parent=2, source=0),
        QueryNode(kind="Source", parent=2, source=1),
    ]
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
ROWS = {FACTS: 5_000_000, DIMS: 100_000}


@pytest.mark.parametrize(
    ("plan", "changed", "stored", "is_cheaper"),
    [
        # The few facts look up their dims.
        (JOIN, {FACTS: 1_000}, 5_000_000, True),
        # Recomputing reads the facts once; by keys they are read for the join and for the groups.
        (GROUPED_JOIN, {DIMS: 1_000}, 100_000, False),
        (GROUPED_JOIN, {FACTS: 1_000}, 100_000, True),
        (GROUPED_JOIN, {FACTS: 1_000}, None, False),
    ],
)
def test_the_cheaper_way(
    plan: QueryPlan, changed: dict[int, int], stored: int | None, is_cheaper: bool
) -> None:
    increment = incremental_cost(plan, ROWS, changed, stored=stored)
    assert (increment < full_cost(plan, ROWS, stored=stored or 0)) == is_cheaper
