"""The change of a query's result that follows from the changes of its tables."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from table_store.catalog.jobs.delta_terms import delta_terms
from table_store.catalog.planner.jobs.job_query import JobQuery
from table_store.catalog.planner.jobs.source_changes import SourceChange


def delta(query: JobQuery, changed: Sequence[SourceChange]) -> list[tuple[DataFrame, int]]:
    """The terms of the query's change, each with its sign."""
    plan = query.plan
    by_path = {change.source.table_handle.path: change for change in changed}
    of_source = {}
    for number, source in enumerate(query.facts.sources):
        change = by_path.get(source.table_handle.path)
        # A table that the query reads AS OF an older version stays as it is.
        if change is not None and source.table_handle.snapshot_id == change.new:
            of_source[number] = change
    old = {
        node: of_source[plan.source_of(node)].old
        for node in plan.sources()
        if plan.source_of(node) in of_source
    }
    parts = []
    for term in delta_terms(plan, of_source.keys()):
        came, went = of_source[plan.source_of(term.changed)].changed(query)
        parts.append((query.term(term, came, old), 1))
        parts.append((query.term(term, went, old), -1))
    return parts
