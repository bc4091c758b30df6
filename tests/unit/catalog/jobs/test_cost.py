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
