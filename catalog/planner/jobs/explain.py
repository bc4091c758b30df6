"""EXPLAIN of queries that jobs keep up, and of a REFRESH."""

from __future__ import annotations

from table_store.catalog.jobs.explanation import as_tree, explained
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.epoch import planned_step
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.epochs.step import Rule, costs
from table_store.catalog.planner.jobs.refresh import analysed_query, views_below
from table_store.catalog.planner.jobs.temporary_names import with_sources
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.materialized_views import (
    ExplainedNode,
    ExplainedQuery,
    ExplainQuery,
)


def explain_query(session: PlannerSession, request: ExplainQuery) -> ExplainedQuery:
    """How each node of a query follows the changes of its tables.

    Raises:
        UnsupportedQueryError: no table can be kept equal to the query.
    """
    query = JobQuery.analysed(session, with_sources(session, request.query))
    lines = _lines(query, is_kept=request.is_view)
    return ExplainedQuery(
        nodes=tuple(
            ExplainedNode(parent=node.parent, text=line)
            for node, line in zip(query.plan.nodes, lines, strict=True)
        )
    )


def explain_refresh(session: PlannerSession, view: Sink, *, is_full: bool) -> str:
    """What a REFRESH of a view would do now, and why.

    Raises:
        NotIncrementalError: it would fail with it.
    """
    query = analysed_query(session, view.schema)
    step = planned_step(view, query, is_full=is_full)
    said = [f"Refresh {view.name}", f"Rule: {step.rule.value} ({step.reason})"]
    below = {v.name for v in views_below(session, query) if not v.schema.upkeep.is_suspended}
    if below:
        said.append(f"After: the refresh of {', '.join(sorted(below))}, which may change the rule")
    if step.rule is Rule.INCREMENTAL:
        standing = Standing.of(view)
        states = AggregateStates.of(view, query, standing.followed())
        increment, full = costs(states, step.changes, standing.rows)
        said.append(f"Rows read, about: {round(increment):,}, beside {round(full):,} of all")
    lines = _lines(query, is_kept=True)
    return "\n".join([*said, "Changes:", as_tree(query.plan, lines)])


def _lines(query: JobQuery, *, is_kept: bool) -> list[str]:
    tables = {
        number: query.facts.sources[node.source].relation.text
        for number, node in enumerate(query.plan.nodes)
        if node.source is not None
    }
    return explained(query.plan, tables, is_kept=is_kept)
