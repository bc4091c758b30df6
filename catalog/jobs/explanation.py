"""A query's plan as EXPLAIN shows it: how each node follows the changes of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_store.catalog.jobs.delta import Way, way_of
from table_store.catalog.jobs.query_plan import QueryPlan

_SIDES: Final = ("left", "right")


def explained(plan: QueryPlan, tables: Mapping[int, str], *, is_kept: bool) -> list[str]:
    """Return a line for each node of any plan: its kind, or its name, and what a change reads.

    Args:
        plan: any plan.
        tables: the names of its tables, by number.
        is_kept: whether the result is at hand as it was.
    """
    return [
        f"{tables.get(number, node.kind)}{_said(plan, number, is_kept=is_kept)}"
        for number, node in enumerate(plan.nodes)
    ]


def as_tree(plan: QueryPlan, lines: Sequence[str]) -> str:
    """Return the lines of a plan's nodes with children below and to the right of their parents.

    Projections, which say nothing and are many, are left out.
    """
    shown: list[str] = []

    def add(node: int, first: str, rest: str) -> None:
        while plan.nodes[node].kind == "Project":
            (node,) = plan.children(node)
        shown.append(first + lines[node])
        children = plan.children(node)
        for child in children:
            is_last = child == children[-1]
            add(child, rest + ("+- " if is_last else ":- "), rest + ("   " if is_last else ":  "))

    add(0, "", "")
    return "\n".join(shown)


def _said(plan: QueryPlan, number: int, *, is_kept: bool) -> str:
    """What is read if a child changes, in brackets; of joins, which child."""
    node, children = plan.nodes[number], plan.children(number)
    if node.source is not None:
        return " [its changes]"
    if not children:
        return ""
    if is_kept and plan.limited is not None and number < plan.limited:
        return " [all rows, as they are; as they were from the view]"
    holds_rows = is_kept and bool(plan.kept_keys) and number == plan.top
    if node.rounded is not None and not holds_rows:
        return f" [no rule: {node.rounded} depends on the order of rows]"
    if node.state is not None:
        return " [changed rows, and the groups that are kept with the job]"
    said = []
    for place in range(len(children)):
        match way_of(node, place):
            case None:
                text = "no rule"
            case Way.LINEAR if node.kind.startswith("Join"):
                text = f"changed rows, and all rows of the {_SIDES[1 - place]}"
            case Way.LINEAR:
                text = "changed rows"
            case Way.KEYED if holds_rows:
                text = "rows with changed keys, as they are; as they were from the view"
            case Way.KEYED:
                text = "rows with changed keys, as they are and as they were"
            case Way.WHOLE:
                text = "all rows, as they are and as they were"
        said.append(text)
    if len(set(said)) > 1 or node.kind.startswith("Join"):
        return f" [{'; '.join(f'{_SIDES[at]}: {text}' for at, text in enumerate(said))}]"
    return f" [{said[0]}]"
