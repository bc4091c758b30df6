"""What brings a job's sink from a snapshot to the result of the query: rows that come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from pyspark.sql import DataFrame

from table_store.catalog.connectors.sink import is_append_only, is_sink
from table_store.catalog.jobs.job_errors import JobHistoryLostError
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.appended_rows import appended_rows
from table_store.catalog.planner.epochs.bag_difference import present_rows
from table_store.catalog.planner.epochs.delta import query_delta
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE, changes, inserts, weighted
from table_store.catalog.planner.epochs.emission import closed_rows
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.keyed_difference import (
    keyed_changes,
    keyed_differences,
    keyed_inserts,
    keyed_newest,
)
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.source_changes import why_not_readable
from table_store.catalog.planner.epochs.step import Rule, Step, why_never_incremental
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.model.upkeep import RefreshPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkChanges:
    """Rows to insert into the sink and to delete from it.

    `depend_on_sink`: they are wrong if others have changed the sink since the snapshot.
    """

    rows: DataFrame
    depend_on_sink: bool
    absent: int = 0
    net: DataFrame | None = None


def changed_rows(
    states: AggregateStates, snapshot: Snapshot | None, step: Step, followed: Followed | None
) -> SinkChanges | None:
    """What brings the sink from a snapshot to the result; None if nothing is to be done."""
    sink, query = states.sink, states.query
    if step.closed is not None:
        closed = closed_rows(sink, query, step.closed)
        return None if closed is None else SinkChanges(rows=closed, depend_on_sink=False)
    if sink.is_shared:
        return _changes_of_shared(states, snapshot, step, followed)
    names, key = sink.written, sink.schema.primary_key

    @cache
    def before() -> DataFrame | None:
        # It holds the result as it was, because nobody else writes it.
        return None if snapshot is None else _rows_of(sink, query, snapshot)

    changed: DataFrame | None
    net = None
    if step.rule is Rule.INCREMENTAL:
        changed = _increment(states, step, before)
        net = changed if step.is_small else None
        if changed is not None and key:
            changed = keyed_changes(changed, names, key, before(), is_small=step.is_small)
    elif (old := before()) is None:
        new = _result(states)
        changed = keyed_inserts(new, names, key) if key else inserts(new, names)
    elif key:
        changed = keyed_differences(_result(states), old, names, key)
    else:
        changed = changes([(_result(states), 1), (old, -1)], names)
    return None if changed is None else SinkChanges(rows=changed, depend_on_sink=True, net=net)


def _changes_of_shared(
    states: AggregateStates, snapshot: Snapshot | None, step: Step, followed: Followed | None
) -> SinkChanges | None:
    """The same where others also write the sink: what they wrote does not count."""
    sink, query = states.sink, states.query
    names, key = sink.written, sink.schema.primary_key
    is_increment = step.rule is Rule.INCREMENTAL
    if is_increment and query.gives_changes:
        newest = _newest(states, step)
        return None if newest is None else SinkChanges(rows=newest, depend_on_sink=False)
    changed = (
        _increment(states, step, lambda: None)
        if is_increment
        else _result_changes(states, followed)
    )
    if changed is not None and is_append_only(sink.schema):
        changed = appended_rows(query, changed, sink.name)
    if changed is None:
        return None
    if key:
        is_small = is_increment and step.is_small
        rows = keyed_changes(changed, names, key, None, is_small=is_small)
        return SinkChanges(rows=rows, depend_on_sink=False)
    # What a connector has taken nobody else takes away.
    if followed is None or snapshot is None or is_sink(sink.schema):
        return SinkChanges(rows=changed, depend_on_sink=False)
    return _changes_of_bag(query, changed, _rows_of(sink, query, snapshot))


def _changes_of_bag(query: JobQuery, changed: DataFrame, present: DataFrame) -> SinkChanges | None:
    """The changes without the deletes of rows that others have deleted."""
    known = query.settled(changed)
    if known is None:
        return None
    deletes = known.where(f"{CHANGE_TYPE} = 'delete'")
    asked = deletes.count()
    if not asked:
        return SinkChanges(rows=known, depend_on_sink=False)
    there = present_rows(deletes, present)
    absent = asked - there.count()
    rows = known.where(f"{CHANGE_TYPE} = 'insert'").unionAll(there) if absent else known
    return SinkChanges(rows=rows, depend_on_sink=True, absent=absent)


def _increment(
    states: AggregateStates, step: Step, before: Callable[[], DataFrame | None]
) -> DataFrame | None:
    query = states.query
    delta = query_delta(query, step.changes, before, states)
    if not delta:
        return None
    names = states.sink.written
    return query.changes(delta, names) if step.is_small else changes(delta, names)


def _newest(states: AggregateStates, step: Step) -> DataFrame | None:
    query, sink = states.query, states.sink
    delta = query_delta(query, step.changes, lambda: None, states)
    if not delta:
        return None
    rows = keyed_newest(weighted(delta, sink.written), sink.written, sink.schema.primary_key)
    return query.settled(rows) if step.is_small else rows


def _rows_of(sink: Sink, query: JobQuery, snapshot: Snapshot) -> DataFrame:
    names = ", ".join(map(quoted, sink.written))
    text = f"SELECT {names} FROM {quoted_parts(sink.parts)}"
    return query.sql_at(text, {sink.table.path: snapshot.id})


def _result(states: AggregateStates) -> DataFrame:
    """The whole result, of groups that are held from then on if an increment is possible."""
    sink, query = states.sink, states.query
    is_full = sink.schema.upkeep.policy is RefreshPolicy.FULL
    if is_full or why_never_incremental(sink, query) is not None:
        states.now.clear()
        return query.rows()
    states.rebuild()
    return query.evaluated(0, {}, states=states.rows()) if states.now else query.rows()


def _result_changes(states: AggregateStates, followed: Followed | None) -> DataFrame:
    """The change of the whole result; all of it where nothing tells what it was."""
    sink, query = states.sink, states.query
    new = _result(states)
    if followed is None:
        return inserts(new, sink.written)
    gone = why_not_readable(query, followed)
    if gone is None:
        return changes([(new, 1), (query.rows_at(followed.sources), -1)], sink.written)
    if not sink.schema.primary_key:
        raise JobHistoryLostError(sink=sink.name, reason=gone)
    return inserts(new, sink.written)
