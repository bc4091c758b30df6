"""Emission on watermark: a window's rows come once, when the watermark has passed its end.

The result is cut to the windows that have been closed since the last epoch, over the rows that the
tables have at the barrier. What comes into a window that is closed is late: it changes nothing that
is out, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from pyspark.sql import DataFrame

from table_store.catalog.jobs.delta import node_delta
from table_store.catalog.jobs.job_errors import StreamingInsertError
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.delta import evaluator_of
from table_store.catalog.planner.epochs.difference import inserts
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.keyed_difference import keyed_inserts
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.source_changes import (
    Change,
    replaced_source,
    source_changes,
)
from table_store.catalog.planner.epochs.step import UNCHANGED, Closed, Rule, Step
from table_store.storage.file_store.metadata.watermark import has_watermark
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import SINK_EMIT

_ROW_BY_ROW: Final = frozenset(("Source", "Project", "Filter", "Expand", "Generate"))
_ABOVE: Final = frozenset(("Project", "Filter", "Union", "Window"))


def refuse_full() -> NoReturn:
    """Refuse to compute the whole result of such a job.

    Raises:
        StreamingInsertError: always.
    """
    reason = "rows that are out are final, and FULL would compute them again"
    raise _refused(reason, "Run it with another 'pipeline.name' into an empty table")


def check_emission(query: JobQuery) -> None:
    """Check that each row of a result comes from one window, and a watermark says when it is final.

    Raises:
        StreamingInsertError: it is not so.
    """
    times = query.window_times()
    if isinstance(times, str):
        raise _refused(times, "Group by window_start and window_end of TUMBLE, HOP or CUMULATE")
    for path, column in times:
        schema = open_logged(path).schema
        watermark = schema.watermark if has_watermark(schema) else None
        if watermark is None or watermark[0].casefold() != column.casefold():
            name = next(s.relation.text for s in query.facts.sources if s.table_handle.path == path)
            remedy = f"Declare WATERMARK FOR {column} AS {column} - INTERVAL … there"
            raise _refused(f"{name} has no watermark of column {column!r}", remedy)


def emission_step(query: JobQuery, followed: Followed | None, *, is_full: bool) -> Step:
    """Decide about an epoch of such a job.

    Raises:
        StreamingInsertError: the whole result was asked for.
    """
    if is_full:
        refuse_full()
    after = None if followed is None else followed.emitted_ms
    if followed is not None and query.sources == dict(followed.sources):
        return Step(Rule.NONE, UNCHANGED, closed=Closed(after, after))
    now = _watermark_ms(query)
    until = after if now is None else now if after is None else max(after, now)
    reason = "no window was closed"
    if until is not None and until != after:
        reason = f"the watermark is {until} ms"
    changes = () if followed is None else _changes(query, followed)
    return Step(Rule.ON_WATERMARK, reason, changes, closed=Closed(after, until))


def _changes(query: JobQuery, followed: Followed) -> Sequence[Change]:
    """What has come into the tables since the last epoch; nothing where that is not known."""
    if replaced_source(query, followed) is not None or followed.plan != query.meaning:
        return ()
    found = source_changes(query, followed.sources, is_cost_counted=False, skips_untracked=True)
    return () if isinstance(found, str) else found


def closed_rows(sink: Sink, query: JobQuery, closed: Closed) -> DataFrame | None:
    """The rows to insert into a sink; None if there are none."""
    if closed.until_ms is None or closed.until_ms == closed.after_ms:
        return None
    found = query.settled(query.closed_windows(closed.after_ms, closed.until_ms))
    if found is None:
        return None
    names, key = sink.written, sink.schema.primary_key
    return keyed_inserts(found, names, key) if key else inserts(found, names)


def late_rows(states: AggregateStates, step: Step) -> int:
    """How many rows have come into windows that were closed before, once for each window.

    Only those are counted that come to an aggregate one by one from tables, and whose tables still
    have what was written.
    """
    query = states.query
    closed_ms = None if step.closed is None else step.closed.after_ms
    if closed_ms is None or not step.changes:
        return 0
    evaluator, changed = evaluator_of(query, step.changes, lambda: None, states)
    count = 0
    for node in _aggregates(query, 0):
        (child,) = query.plan.children(node)
        if _is_row_by_row(query, child):
            parts = node_delta(query.plan, evaluator, changed, child)
            count += query.late_rows(node, parts, closed_ms) if parts else 0
    return count


def _aggregates(query: JobQuery, node: int) -> list[int]:
    if query.plan.nodes[node].kind not in _ABOVE:
        return [node]
    return [found for child in query.plan.children(node) for found in _aggregates(query, child)]


def _is_row_by_row(query: JobQuery, node: int) -> bool:
    is_plain = query.plan.nodes[node].kind in _ROW_BY_ROW
    return is_plain and all(_is_row_by_row(query, child) for child in query.plan.children(node))


def _watermark_ms(query: JobQuery) -> int | None:
    """The watermark at the barrier: that of the slowest table that has one; None if one has none.

    Ms since 1970.
    """
    found: list[int] = []
    for path, at in query.sources.items():
        table = open_logged(path)
        if has_watermark(table.schema):
            known = table.snapshot_store.get(at).watermark if at else None
            if known is None:
                return None
            found.append(known)
    return min(found, default=None)


def _refused(reason: str, remedy: str) -> StreamingInsertError:
    return StreamingInsertError(
        reason=f"with '{SINK_EMIT.key}' = 'on-watermark' its rows come when their windows are "
        f"closed, and {reason}",
        remedy=remedy,
    )
