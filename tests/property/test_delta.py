"""Goal: the rules of change give the difference of a query's results, whatever changes.

Oracle: both results, computed from the whole tables. Plans are random trees over bags of pairs,
with NULLs and duplicates; an evaluator of bags stands for Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.jobs.delta import Delta, delta, why_not_incremental
from table_store.catalog.jobs.query_plan import QueryNode, QueryPlan

Row: TypeAlias = "tuple[int | None, int | None]"
Bag: TypeAlias = "Counter[Row]"
Tree: TypeAlias = tuple[Any, ...]

VALUES = st.one_of(st.none(), st.integers(0, 2))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=5).map(Counter)
LEAVES = st.one_of(
    st.tuples(st.just("Source"), st.just(0), st.integers(0, 2)),
    st.tuples(st.just("LocalRelation"), st.just(0), ROWS),
)
JOINS = [
    f"Join {kind}"
    for kind in (
        "Cross",
        "Existence",
        "Full Outer",
        "Inner",
        "Left Anti",
        "Left Outer",
        "Left Semi",
        "Right Outer",
    )
]
CHAIN = ["Project", "Filter", "Generate", "SubqueryAlias"]
ONE_KEY = st.integers(0, 1)
"""The number of keys: one or none, so that all rows depend on all."""
TREES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.tuples(st.sampled_from(CHAIN), st.just(0), below),
        st.tuples(st.sampled_from(["Aggregate", "Window"]), ONE_KEY, below),
        st.tuples(st.sampled_from(JOINS), ONE_KEY, below, below),
        st.tuples(st.just("Union"), st.just(0), below, below),
    ),
    max_leaves=6,
)
AGGREGATES = st.tuples(st.just("Aggregate"), ONE_KEY, TREES)
QUERIES = st.one_of(
    TREES,
    st.tuples(st.just("GlobalLimit"), st.just(0), AGGREGATES),
    st.tuples(st.just("Project"), st.just(0), st.tuples(st.just("GlobalLimit"), st.just(0), TREES)),
)
TABLES = st.tuples(ROWS, ROWS, ROWS)


def plan_of(tree: Tree) -> tuple[QueryPlan, list[Tree]]:
    """The plan, and the subtree of each node."""
    nodes: list[QueryNode] = []
    trees: list[Tree] = []

    def add(part: Tree, parent: int) -> None:
        number, (kind, keys, *rest) = len(nodes), part
        source = rest[0] if kind == "Source" else None
        state = "its groups" if kind == "Aggregate" else None
        nodes.append(QueryNode(kind=kind, parent=parent, source=source, keys=keys, state=state))
        trees.append(part)
        if kind not in ("Source", "LocalRelation"):
            for child in rest:
                add(child, number)

    add(tree, -1)
    return QueryPlan(nodes), trees


def plus(parts: Delta[Bag]) -> Bag:
    total: Bag = Counter()
    for bag, sign in parts:
        for row, count in bag.items():
            total[row] += sign * count
    return Counter({row: count for row, count in total.items() if count})


def positive(bag: Bag) -> Bag:
    return Counter({row: count for row, count in bag.items() if count > 0})


def key_of(kind: str, place: int, row: Row) -> int | None:
    """Joins compare the left row's second value with the right row's first."""
    return row[1 - place] if kind.startswith("Join") else row[0]


def joined(kind: str, keys: int, left: Bag, right: Bag) -> Bag:
    """Rows match by their keys, and by a condition that is never unknown."""
    out: Bag = Counter()

    def match(one: Row, other: Row) -> bool:
        if keys and (one[1] is None or one[1] != other[0]):
            return False
        return one[0] is None or other[1] is None or one[0] + other[1] != 3

    for one, count in left.items():
        found = {other: n for other, n in right.items() if match(one, other)}
        if kind == "Left Semi" or kind == "Left Anti":
            out[one] += count * (bool(found) == (kind == "Left Semi"))
        elif kind == "Existence":
            out[one[0], int(bool(found))] += count
        else:
            for other, n in found.items():
                out[one[0], other[1]] += count * n
            if not found and kind in ("Left Outer", "Full Outer"):
                out[one[0], None] += count
    if kind in ("Right Outer", "Full Outer"):
        for other, n in right.items():
            if not any(match(one, other) for one in left):
                out[None, other[1]] += n
    return out


def grouped(kind: str, keys: int, rows: Bag) -> Bag:
    """Rows of each first value, NULL being one: their number, or each with its place in order."""
    out: Bag = Counter()
    groups: dict[int | None, list[Row]] = {} if keys else {None: []}
    for row in rows.elements():
        groups.setdefault(row[0] if keys else None, []).append(row)
    for key, members in groups.items():
        if kind == "Aggregate":
            out[key, len(members) % 3] += 1
        else:
            for at, row in enumerate(in_order(Counter(members))):
                out[row[1], at % 3] += 1
    return out


def in_order(rows: Bag) -> list[Row]:
    return sorted(rows.elements(), key=lambda row: [-1 if v is None else v for v in row])


def operator(kind: str, keys: int, inputs: list[Bag]) -> Bag:
    if kind.startswith("Join "):
        return joined(kind.removeprefix("Join "), keys, inputs[0], inputs[1])
    if kind in ("Aggregate", "Window"):
        return grouped(kind, keys, inputs[0])
    if kind == "GlobalLimit":
        return Counter(in_order(inputs[0])[:2])
    out: Bag = Counter()
    for bag in inputs:
        for (a, b), count in bag.items():
            if kind == "Project":
                out[b, a] += count
            elif kind == "Filter":
                out[a, b] += count * (a is not None and a < 2)
            elif kind == "Generate":
                for more in range(a or 0):
                    out[b, more] += count
            else:
                out[a, b] += count
    return out


class BagEvaluator:
    """The rules' operations on bags."""

    def __init__(
        self,
        tree: Tree,
        before: tuple[Bag, ...],
        after: tuple[Bag, ...],
        *,
        holds_groups: bool = False,
    ) -> None:
        self.plan, self.trees = plan_of(tree)
        self.before, self.after = before, after
        self.holds_groups = holds_groups

    def changes(self, node: int) -> Delta[Bag]:
        """What is in both states stands in both parts: rules must not depend on net changes."""
        source = self.trees[node][2]
        return [(self.after[source], 1), (self.before[source], -1)]

    def evaluated(
        self, node: int, old: Set[int], cut: int = -1, keys: set[int | None] | None = None
    ) -> Bag:
        kind, number_of_keys, *rest = self.trees[node]
        if kind == "Source":
            return (self.before if node in old else self.after)[rest[0]]
        if kind == "LocalRelation":
            return Counter(rest[0])
        inputs = [self.evaluated(child, old, cut, keys) for child in self.plan.children(node)]
        if node == cut and keys is not None:
            inputs = [
                Counter({r: n for r, n in bag.items() if key_of(kind, place, r) in keys})
                for place, bag in enumerate(inputs)
            ]
        return positive(operator(kind, number_of_keys, inputs))

    def each(self, steps: Sequence[Callable[[], Delta[Bag]]]) -> list[Delta[Bag]]:
        """From the last to the first: no step needs another one."""
        return [step() for step in reversed(steps)][::-1]

    def holds(self, node: int) -> bool:
        return self.holds_groups and self.trees[node][0] == "Aggregate"

    def accumulated(self, node: int, changes: Delta[Bag]) -> Delta[Bag]:
        """What is known of a group is the number of its rows."""
        (child,), has_groups = self.plan.children(node), bool(self.plan.nodes[node].keys)
        sizes: Counter[int | None] = Counter()
        for row, count in self.evaluated(child, set(range(len(self.plan.nodes)))).items():
            sizes[row[0] if has_groups else None] += count
        parts: Delta[Bag] = []
        for sign in (-1, 1):
            groups = {key: size for key, size in sizes.items() if size} if has_groups else {None: 0}
            found = {key: sizes[key] for key in groups}
            parts.append((Counter((key, size % 3) for key, size in found.items()), sign))
            for bag, weight in changes if sign < 0 else []:
                for row, count in bag.items():
                    sizes[row[0] if has_groups else None] += weight * count
        return parts

    def stored(self, keys: set[int | None]) -> Bag | None:
        """Of aggregates, whose key is the first value unless projections swap both."""
        kinds = [self.trees[node][0] for node in range(self.plan.top + 1)]
        if kinds[-1] != "Aggregate":
            return None
        at = kinds.count("Project") % 2
        before = self.evaluated(0, set(range(len(self.plan.nodes))))
        return Counter({row: n for row, n in before.items() if row[at] in keys})

    def kept(self) -> Bag | None:
        return self.evaluated(0, set(range(len(self.plan.nodes)))) or None

    def replaced(self, node: int, place: int, changes: Delta[Bag], old: Set[int]) -> Delta[Bag]:
        return [(self._replaced(node, place, rows, old), sign) for rows, sign in changes]

    def _replaced(self, node: int, place: int, rows: Bag, old: Set[int]) -> Bag:
        kind, keys, *_ = self.trees[node]
        inputs = [
            rows if at == place else Counter() if kind == "Union" else self.evaluated(child, old)
            for at, child in enumerate(self.plan.children(node))
        ]
        return positive(operator(kind, keys, inputs))

    def keys(self, node: int, changes: Mapping[int, Delta[Bag]]) -> set[int | None] | None:
        kind = self.trees[node][0]
        found = {
            key_of(kind, place, row)
            for place, parts in changes.items()
            for bag, _ in parts
            for row in bag
        }
        return found or None

    def net(self, parts: Delta[Bag]) -> Delta[Bag]:
        total = plus(parts)
        signed = [
            (Counter({r: sign * n for r, n in total.items() if sign * n > 0}), sign)
            for sign in (1, -1)
        ]
        return [(bag, sign) for bag, sign in signed if bag]


CASES = {"tree": QUERIES, "before": TABLES, "after": TABLES, "holds_groups": st.booleans()}


def check_rules(
    tree: Tree, before: tuple[Bag, ...], after: tuple[Bag, ...], holds_groups: bool
) -> None:
    evaluator = BagEvaluator(tree, before, after, holds_groups=holds_groups)
    plan = evaluator.plan
    reason = why_not_incremental(plan, is_kept=True)
    if any(node.kind == "GlobalLimit" for node in plan.nodes) and plan.limited is None:
        assert reason == "there is no incremental rule for GlobalLimit"
        return
    assert reason is None
    changed = {
        node
        for node in plan.sources()
        if before[evaluator.trees[node][2]] != after[evaluator.trees[node][2]]
    }
    found = plus(delta(plan, evaluator, changed))
    now = evaluator.evaluated(0, set())
    assert found == plus([(now, 1), (evaluator.evaluated(0, changed), -1)])


@given(**CASES)
def test_rules_give_the_difference(
    tree: Tree, before: tuple[Bag, ...], after: tuple[Bag, ...], holds_groups: bool
) -> None:
    """The campaign tries a thousand times as many."""
    check_rules(tree, before, after, holds_groups)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (QueryNode(kind="GlobalLimit", parent=-1), "no incremental rule for GlobalLimit"),
        (
            QueryNode(kind="Aggregate", parent=-1, rounded="stddev"),
            "stddev depends on the order of rows",
        ),
    ],
)
def test_what_has_no_rule_is_named(node: QueryNode, reason: str) -> None:
    plan = QueryPlan([node, QueryNode(kind="Source", parent=0, source=0)], kept_keys=(0,))
    assert reason in str(why_not_incremental(plan, is_kept=False))
    assert (why_not_incremental(plan, is_kept=True) is None) == (node.rounded is not None)


def test_a_limit_of_a_table_that_others_write_has_no_rule() -> None:
    """What it took is known from the table alone."""
    plan, _ = plan_of(("GlobalLimit", 0, ("Aggregate", 1, ("Source", 0, 0))))
    assert why_not_incremental(plan, is_kept=True) is None
    assert why_not_incremental(plan, is_kept=False) is not None
