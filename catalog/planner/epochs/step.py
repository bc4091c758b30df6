"""What an epoch does, and why: nothing, an increment, or the whole result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from table_store.catalog.connectors.connector_errors import SourcePositionLostError
from table_store.catalog.jobs.cost import full_cost, incremental_cost
from table_store.catalog.jobs.delta import why_not_incremental
from table_store.catalog.jobs.job_errors import NotIncrementalError
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.delta import changed_nodes
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.key_places import TableKeyPlaces
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.source_changes import (
    ANOTHER_PLAN,
    Change,
    replaced_source,
    source_changes,
    takes_rows_away_at_first,
    unrepeatable_source,
)
from table_store.storage.file_store.model.upkeep import RefreshPolicy

_SMALL_ROWS: Final = 100_000
"""With so few changes of tables, those of the result are worth holding in the driver."""

_FEW_ROWS: Final = 20_000
"""Tables of so few rows cost about the same one way or the other."""

UNCHANGED: Final = "nothing that it reads has changed"


class Rule(Enum):
    """How a view is brought up to date."""

    NONE = "none"
    INCREMENTAL = "incremental"
    FULL = "full"
    ON_WATERMARK = "on watermark"


@dataclass(frozen=True, slots=True)
class Closed:
    """Which windows an epoch closes: those that end after a time, None for any, until another one.

    Times are ms since 1970; `until_ms` is None before there is a watermark.
    """

    after_ms: int | None
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Step:
    """What the next epoch does, and why.

    Attributes:
        changes: those that an increment reads.
        are_groups_dear: see `Followed.are_groups_dear`.
        closed: the windows whose rows come, if rows come when their windows are closed.
    """

    rule: Rule
    reason: str
    changes: Sequence[Change] = ()
    are_groups_dear: bool = False
    closed: Closed | None = None

    @property
    def row_count(self) -> int:
        """About how many changes an increment reads."""
        return sum(change.rows for change in self.changes)

    @property
    def is_small(self) -> bool:
        """Whether the changes are worth holding in the driver."""
        return self.row_count <= _SMALL_ROWS

    @property
    def is_partial(self) -> bool:
        """Whether changes without change tracking do not show in the sink afterwards.

        What comes when windows are closed comes from the tables, and has them.
        """
        return self.closed is None and any(change.is_partial for change in self.changes)

    def left_out(self, barrier: int) -> str | None:
        """Which changes without change tracking do not show in the sink from a barrier on."""
        if not self.is_partial:
            return None
        names = [change.source.relation.text for change in self.changes if change.is_partial]
        left_out = f"changes of {', '.join(names)} without change tracking are left out"
        return f"{left_out} at barrier {barrier}"


def next_step(
    sink: Sink,
    query: JobQuery,
    followed: Followed | None,
    states: AggregateStates,
    *,
    is_full: bool,
    sink_rows: int,
) -> Step:
    """Decide about an epoch.

    Args:
        sink: the table to bring up to date.
        query: its query.
        followed: what its rows are the result of; None if nothing tells.
        states: the groups of aggregates that are held.
        is_full: whether the whole result was asked for.
        sink_rows: how many rows it has.

    Raises:
        NotIncrementalError: the sink's policy is INCREMENTAL STRICT, and that is not possible.
        SourcePositionLostError: the whole result is needed, and a source does not have it any more.
    """
    if is_full:
        step = Step(Rule.FULL, "FULL was asked for")
    else:
        step = _possible_step(sink, query, followed, states, sink_rows)
    if step.rule is Rule.FULL:
        # Only the first rows of a job are all that there are.
        has_begun = followed is not None or (bool(sink_rows) and not sink.is_shared)
        lost = unrepeatable_source(query) if has_begun else None
        if lost is not None:
            raise SourcePositionLostError(table=lost, reason=step.reason)
    if is_full:
        return step
    if step.rule is Rule.FULL and sink.schema.upkeep.policy is RefreshPolicy.INCREMENTAL_STRICT:
        raise NotIncrementalError(name=sink.name, reason=step.reason)
    return step


def why_never_incremental(sink: Sink, query: JobQuery) -> str | None:
    """Why no epoch of such a query can be incremental; None if one can."""
    if query.always_changes is not None:
        return query.always_changes
    return why_not_incremental(query.plan, is_kept=not sink.is_shared)


def _possible_step(
    sink: Sink,
    query: JobQuery,
    followed: Followed | None,
    states: AggregateStates,
    sink_rows: int,
) -> Step:
    policy = sink.schema.upkeep.policy
    if followed is None and sink.is_shared and takes_rows_away_at_first(query):
        nothing = dict.fromkeys(query.sources, 0)
        first = source_changes(query, nothing, is_cost_counted=False, skips_untracked=True)
        if not isinstance(first, str):
            return Step(Rule.INCREMENTAL, "its first changes", first)
    if followed is None:
        return Step(Rule.FULL, "its rows are of no known barrier")
    if query.always_changes is not None:
        return Step(Rule.FULL, query.always_changes)
    another = replaced_source(query, followed)
    if another is not None:
        return Step(Rule.FULL, another)
    if followed.plan != query.meaning:
        return Step(Rule.FULL, ANOTHER_PLAN)
    if query.sources == dict(followed.sources):
        return Step(Rule.NONE, UNCHANGED)
    if policy is RefreshPolicy.FULL:
        return Step(Rule.FULL, "its refresh policy is FULL")
    # What has come out of a connector once is not made again to be compared.
    is_cost_counted = policy is RefreshPolicy.AUTO and not query.external
    found = source_changes(
        query,
        followed.sources,
        is_cost_counted=is_cost_counted,
        skips_untracked=not sink.is_view,
    )
    if isinstance(found, str):
        return Step(Rule.FULL, found)
    reason = why_never_incremental(sink, query)
    if reason is not None:
        return Step(Rule.FULL, reason)
    is_partial = any(change.is_partial for change in found)
    if is_cost_counted and not is_partial and _is_dear(states, found, sink_rows):
        are_groups_dear = states.are_dear or (
            bool(states.before) and _is_dear(states, found, sink_rows, rows_each=1)
        )
        reason = "the result costs less than its change"
        return Step(Rule.FULL, reason, are_groups_dear=are_groups_dear)
    names = sorted({change.source.relation.text for change in found})
    reason = f"changed: {', '.join(names)}"
    return Step(Rule.INCREMENTAL, reason, found, are_groups_dear=states.are_dear)


def _is_dear(
    states: AggregateStates,
    changed: Sequence[Change],
    sink_rows: int,
    *,
    rows_each: int | None = None,
) -> bool:
    """Whether an increment would read no less than the computation of the whole result does.

    If it is as much, the whole result is better: with it, groups come to be held. With `rows_each`
    as if so many rows of each table had changed.
    """
    if sum(states.query.source_rows) <= _FEW_ROWS:
        return False
    increment, full = costs(states, changed, sink_rows, rows_each=rows_each)
    return increment >= full


def costs(
    states: AggregateStates,
    changed: Sequence[Change],
    sink_rows: int,
    *,
    rows_each: int | None = None,
) -> tuple[float, float]:
    """About how many rows an increment and the computation of the whole result read.

    With `rows_each` as if so many rows of each table had changed.
    """
    query = states.query
    plan = query.plan
    rows = query.table_rows
    nodes = changed_nodes(query, changed)
    changes = {node: rows_each or change.rows for node, change in nodes.items()}
    kept = None if states.sink.is_shared else sink_rows
    held = states.group_counts
    places = TableKeyPlaces(query, nodes)
    increment = incremental_cost(plan, rows, changes, kept=kept, states=held, places=places)
    return increment, full_cost(plan, rows, stored=sink_rows)
