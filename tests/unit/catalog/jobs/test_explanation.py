"""Goal: EXPLAIN says of each node what a change makes it read."""

from __future__ import annotations

from table_store.catalog.jobs.explanation import as_tree, explained
from table_store.catalog.jobs.query_plan import QueryNode, QueryPlan

PLAN = QueryPlan(
    [
        QueryNode(kind="Project", parent=-1),
        QueryNode(kind="Aggregate", parent=0, keys=1),
        QueryNode(kind="Join Left Outer", parent=1, keys=1),
        QueryNode(kind="Filter", parent=2),
        QueryNode(kind="Source", parent=3, source=0),
        QueryNode(kind="Aggregate", parent=2),
        QueryNode(kind="Source", parent=5, source=1),
    ],
    kept_keys=(0,),
)


def test_each_node_says_what_it_reads() -> None:
    shown = as_tree(PLAN, explained(PLAN, {4: "facts", 6: "dims"}, is_kept=True))
    assert shown.splitlines() == [
        "Aggregate [rows with changed keys, as they are; as they were from the view]",
        (
            "+- Join Left Outer [left: changed rows, and all rows of the right; "
            "right: rows with changed keys, as they are and as they were]"
        ),
        "   :- Filter [changed rows]",
        "   :  +- facts [its changes]",
        "   +- Aggregate [all rows, as they are and as they were]",
        "      +- dims [its changes]",
    ]


def test_what_has_no_rule_says_so() -> None:
    nodes = [
        QueryNode(kind="GlobalLimit", parent=-1),
        QueryNode(kind="Aggregate", parent=0, keys=1, rounded="stddev"),
        QueryNode(kind="Source", parent=1, source=0),
    ]
    shown = explained(QueryPlan(nodes), {2: "t"}, is_kept=True)
    assert shown[0] == "GlobalLimit [no rule]"
    assert shown[1].startswith("Aggregate [no rule: stddev depends on the order of rows")


def test_groups_that_can_be_held_are_read() -> None:
    nodes = [
        QueryNode(kind="Aggregate", parent=-1, keys=1, state='{"type":"struct","fields":[]}'),
        QueryNode(kind="Source", parent=0, source=0),
    ]
    shown = explained(QueryPlan(nodes), {1: "t"}, is_kept=True)
    assert shown[0] == "Aggregate [changed rows, and the groups that are kept with the job]"


def test_a_limit_takes_from_groups_that_are_held() -> None:
    nodes = [
        QueryNode(kind="GlobalLimit", parent=-1),
        QueryNode(kind="Aggregate", parent=0, keys=1, state='{"type":"struct","fields":[]}'),
        QueryNode(kind="Source", parent=1, source=0),
    ]
    shown = explained(QueryPlan(nodes), {2: "t"}, is_kept=True)
    assert shown[0] == "GlobalLimit [all rows, as they are; as they were from the view]"
    assert explained(QueryPlan(nodes), {2: "t"}, is_kept=False)[0] == "GlobalLimit [no rule]"
