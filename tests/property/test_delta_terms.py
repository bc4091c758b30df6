"""Goal: the terms of a linear query's change add up to the difference of its results.

Oracle: both results, computed from the whole tables. Plans are random trees over bags of pairs.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.jobs.delta_terms import DeltaTerm, delta_terms, why_not_linear
from table_store.catalog.jobs.query_plan import QueryNode, QueryPlan

Bag: TypeAlias = "Counter[tuple[int, int]]"
Tree: TypeAlias = tuple[Any, ...]

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5).map(Counter)
LEAVES = st.one_of(
    st.tuples(st.just("Source"), st.integers(0, 2)),
    st.tuples(st.just("LocalRelation"), ROWS),
)
TREES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.tuples(st.sampled_from(["Project", "Filter", "Generate", "SubqueryAlias"]), below),
        st.tuples(st.sampled_from(["Union", "Join Inner"]), below, below),
    ),
    max_leaves=6,
)
TABLES = st.tuples(ROWS, ROWS, ROWS)


def plan_of(tree: Tree) -> QueryPlan:
    nodes: list[QueryNode] = []

    def add(part: Tree, parent: int) -> None:
        number, (kind, *rest) = len(nodes), part
        source = rest[0] if kind == "Source" else None
        nodes.append(QueryNode(kind=kind, parent=parent, source=source))
        if kind not in ("Source", "LocalRelation"):
            for child in rest:
                add(child, number)

    add(tree, -1)
    return QueryPlan(nodes)


def signed(bag: Bag) -> Bag:
    return Counter({row: count for row, count in bag.items() if count})


def minus(after: Bag, before: Bag) -> Bag:
    return signed(Counter({r: after[r] - before[r] for r in {*after, *before}}))


def result(
    tree: Tree, new: tuple[Bag, ...], old: tuple[Bag, ...] = (), term: DeltaTerm | None = None
) -> Bag:
    """Evaluate a tree over the new tables, or a term over both."""
    numbers = iter(range(1000))

    def of(part: Tree) -> Bag:
        number, (kind, *rest) = next(numbers), part
        if kind == "Source":
            found = new[rest[0]]
            if term is not None and number == term.changed:
                found = minus(new[rest[0]], old[rest[0]])
            elif term is not None and number in term.old:
                found = old[rest[0]]
        elif kind == "LocalRelation":
            found = rest[0]
        else:
            found = operator(kind, [of(child) for child in rest])
        return Counter() if term is not None and number in term.empty else found

    return signed(of(tree))


def operator(kind: str, inputs: list[Bag]) -> Bag:
    out: Bag = Counter()
    if kind == "Join Inner":
        for (a, b), left in inputs[0].items():
            for (c, d), right in inputs[1].items():
                if b == c:
                    out[a, d] += left * right
        return out
    for bag in inputs:
        for (a, b), count in bag.items():
            if kind == "Project":
                out[b, a] += count
            elif kind == "Filter":
                out[a, b] += count * (a < 2)
            elif kind == "Generate":
                for more in range(a):
                    out[b, more] += count
            else:
                out[a, b] += count
    return out


@given(tree=TREES, before=TABLES, after=TABLES)
def test_terms_add_up_to_the_difference(
    tree: Tree, before: tuple[Bag, ...], after: tuple[Bag, ...]
) -> None:
    plan = plan_of(tree)
    assert why_not_linear(plan) is None
    changed = {i for i in range(3) if signed(before[i]) != signed(after[i])}
    total: Bag = Counter()
    for term in delta_terms(plan, changed):
        for row, count in result(tree, after, before, term).items():
            total[row] += count
    assert signed(total) == minus(result(tree, after), result(tree, before))


def test_other_nodes_are_named() -> None:
    plan = QueryPlan([QueryNode(kind="Aggregate", parent=-1), QueryNode(kind="Source", parent=0)])
    assert why_not_linear(plan) == "Aggregate"
