"""The rule for queries that are linear in each of their tables: telescoping.

Such a query Q consists of projections, filters, generators, unions and inner joins. If its tables
R1 … Rn change to R1' … Rn', then

    Q(R') - Q(R) = Σi Q(R1 … Ri-1, ΔRi, Ri+1' … Rn')

as bags with signs: the i-th term has the i-th table's changes in its place, the tables before it as
they were and those behind it as they are. A table that is read twice counts twice. Of a union,
only the branch with the changes belongs to the term.

Source: A. Gupta, I. S. Mumick, V. S. Subrahmanian, "Maintaining Views Incrementally", SIGMOD 1993.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from table_store.catalog.jobs.query_plan import QueryPlan

_UNION: Final = "Union"
_LINEAR: Final = frozenset(
    (
        _UNION,
        "Filter",
        "Generate",
        "Join Cross",
        "Join Inner",
        "LocalRelation",
        "OneRowRelation",
        "Project",
        "Range",
        "ResolvedHint",
        "Source",
        "SubqueryAlias",
        "View",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTerm:
    """A plan to evaluate: numbers of nodes, and what stands in their places.

    Attributes:
        changed: the table in whose place its changes stand.
        old: tables that are read as they were; all others are read as they are.
        empty: branches of unions that give no rows.
    """

    changed: int
    old: frozenset[int]
    empty: frozenset[int]


def why_not_linear(plan: QueryPlan) -> str | None:
    """Return the kind of a node for which the rule does not hold; None if it holds."""
    return next((node.kind for node in plan.nodes if node.kind not in _LINEAR), None)


def delta_terms(plan: QueryPlan, changed: Set[int]) -> list[DeltaTerm]:
    """Return the terms whose sum is the change of the result.

    Args:
        plan: linear in each of its tables.
        changed: which of the query's sources have changed.
    """
    terms = []
    for place in plan.sources():
        if plan.source_of(place) in changed:
            path = {place, *plan.ancestors(place)}
            empty = frozenset(
                branch
                for node in path
                if plan.nodes[node].kind == _UNION
                for branch in plan.children(node)
                if branch not in path
            )
            old = frozenset(
                other
                for other in plan.sources()
                if other < place
                and plan.source_of(other) in changed
                and not empty.intersection((other, *plan.ancestors(other)))
            )
            terms.append(DeltaTerm(changed=place, old=old, empty=empty))
    return terms
