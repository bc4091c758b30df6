"""The change of a query's result, evaluated by Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from table_store.catalog.jobs.delta import Delta, Evaluator, delta
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE, WEIGHT
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.source_changes import Change
from table_store.catalog.planner.process.parallel_steps import at_once

_FEW_ROWS: Final = 20_000
"""Of a join's other side, which is then read whole."""


def query_delta(
    query: JobQuery,
    changed: Sequence[Change],
    before: Callable[[], DataFrame | None],
    states: AggregateStates,
) -> Delta[DataFrame]:
    """The rows that come to the result of a query and go from it, columns by position.

    `before` gives the result as it was, if something holds it; `states` hold groups of aggregates,
    those of the new rows from then on.
    """
    evaluator, found = evaluator_of(query, changed, before, states)
    return delta(query.plan, evaluator, found)


def evaluator_of(
    query: JobQuery,
    changed: Sequence[Change],
    before: Callable[[], DataFrame | None],
    states: AggregateStates,
) -> tuple[Evaluator[DataFrame, DataFrame], Set[int]]:
    """What evaluates nodes for `query_delta`, and the numbers of the tables that have changed."""
    found = changed_nodes(query, changed)
    rows = query.table_rows
    query.know_rows(rows)
    return _SparkEvaluator(query, found, before, states, rows), found.keys()


def changed_nodes(query: JobQuery, changed: Sequence[Change]) -> dict[int, Change]:
    """The changes by the number of each node that reads the table."""
    by_path = {change.source.table_handle.path: change for change in changed}
    found = {}
    for number, node in enumerate(query.plan.nodes):
        if node.source is not None:
            handle = query.facts.sources[node.source].table_handle
            change = by_path.get(handle.path)
            # A table that the query reads AS OF an older version stays as it is.
            if change is not None and handle.snapshot_id == change.new:
                found[number] = change
    return found


@dataclass(frozen=True, slots=True)
class _SparkEvaluator:
    """The rules' bags as frames, their keys as frames of few rows where possible.

    `rows` has about how many rows each table has, by its number in the plan.
    """

    query: JobQuery
    changed: Mapping[int, Change]
    before: Callable[[], DataFrame | None]
    states: AggregateStates
    rows: Mapping[int, int]

    def changes(self, node: int) -> Delta[DataFrame]:
        return self.changed[node].changed(self.query)

    def each(self, steps: Sequence[Callable[[], Delta[DataFrame]]]) -> list[Delta[DataFrame]]:
        return at_once(self.query.session, steps)

    def evaluated(self, node: int, old: Set[int], cut: int, keys: DataFrame | None) -> DataFrame:
        return self.query.evaluated(node, self._versions(old), cut, keys, self._states(old))

    def holds(self, node: int) -> bool:
        return node in self.states.now

    def accumulated(self, node: int, changes: Delta[DataFrame]) -> Delta[DataFrame]:
        return self.states.accumulated(node, changes)

    def kept(self) -> DataFrame | None:
        return self.before()

    def stored(self, keys: DataFrame) -> DataFrame | None:
        before = self.before() if self.query.facts.kept_keys else None
        return None if before is None else self.query.with_keys(before, keys)

    def replaced(
        self, node: int, place: int, changes: Delta[DataFrame], old: Set[int]
    ) -> Delta[DataFrame]:
        versions, states = self._versions(old), self._states(old)
        beside = None
        if self._is_beside_many(node, place):
            beside = self.query.beside(node, place, changes, versions, states)
        found = []
        for rows, sign in changes:
            if beside is None:
                found.append((self.query.replaced(node, place, rows, versions, states), sign))
                continue
            joined = self.query.joined(node, place, rows, beside)
            if joined is not None:
                found.append((joined, sign))
        return found

    def _is_beside_many(self, node: int, place: int) -> bool:
        """Whether it is a join with keys whose other child has many rows."""
        plan = self.query.plan
        if not (plan.nodes[node].kind.startswith("Join") and plan.nodes[node].keys):
            return False
        other = plan.children(node)[1 - place]
        return sum(self.rows[source] for source in plan.sources(other)) > _FEW_ROWS

    def keys(self, node: int, changes: Mapping[int, Delta[DataFrame]]) -> DataFrame | None:
        return self.query.keys(node, changes)

    def net(self, delta: Delta[DataFrame]) -> Delta[DataFrame]:
        names = [name for name in delta[0][0].columns if name != WEIGHT]
        found = self.query.changes(delta, names)
        return [] if found is None else self.query.weighted(found, map(quoted, names), CHANGE_TYPE)

    def _versions(self, old: Set[int]) -> dict[int, int]:
        return {node: self.changed[node].old for node in old}

    def _states(self, old: Set[int]) -> dict[int, DataFrame]:
        return self.states.rows(old, self.changed.keys())
