"""Changes of what a materialized view is: another query, another policy.

ALTER … AS commits the rows of the new query first and publishes the query afterwards, so that a
query that fails changes nothing. The commit is made even if no row differs. From then on the
progress of the old query is of another commit, so whoever comes between both steps, or after a
crash there, compares all rows with the query that the view has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from table_store.catalog.definition.option_enrichment import enriched_options
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.jobs.job_errors import NotIncrementalError, UnsupportedQueryError
from table_store.catalog.jobs.progress import Progress, note_progress
from table_store.catalog.planner.epochs.aggregate_states import AggregateStates
from table_store.catalog.planner.epochs.epoch import write_changes
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.epochs.step import Rule, Step, why_never_incremental
from table_store.catalog.planner.jobs.refresh import analysed_query, refresh, views_below
from table_store.catalog.planner.jobs.temporary_names import refuse_temporary
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.model.upkeep import RefreshPolicy
from table_store.storage.file_store.table import FileStoreTable


def redefine(session: PlannerSession, view: Sink, stored: StoredQuery) -> None:
    """ALTER MATERIALIZED VIEW … AS: the rows of the new query are there at one commit, or none.

    Columns keep their names, and the query's are matched with them by position.

    Raises:
        UnsupportedQueryError: the columns of its result have other types, it reads the view, or no
            view can be kept equal to it.
        NotIncrementalError: the policy is INCREMENTAL STRICT, which the query does not allow.
        CommitConflictError: a refresh of the view was faster; nothing has changed.
    """
    query = analysed_query(session, replace(view.schema, query=stored))
    refuse_temporary(session, query)
    refuse_cycle(session, view, query)
    check_policy(view, query)
    table = view.table
    standing = Standing.of(view)
    snapshot, barrier = standing.snapshot, standing.next_barrier
    step = Step(Rule.FULL, "the query is another one")
    states = AggregateStates.of(view, query, None)
    made = write_changes(session, states, snapshot, barrier, step).snapshot
    if made is None:
        made = _commit_nothing(view, barrier, 0 if snapshot is None else snapshot.id)
    change_schema(table, lambda old: replace(old, query=stored))
    state = replace(standing.state, commit=barrier)
    done = Progress(barrier=barrier, followed=states.followed, sink=state)
    note_progress(table.file_io, table.path, done, view.job, snapshot=made.id)
    states.forget_others()
    if Standing.of(view).state != state:
        # A refresh of the old query came in between; see `epoch.check_definition`.
        refresh(session, replace(view, schema=table.schema), is_full=False)


def change_schema(table: FileStoreTable, change: Callable[[TableSchema], TableSchema]) -> None:
    """Publish the next schema of a table, unless the change changes nothing."""
    if change(table.schema) == table.schema:
        return
    time_ms = table.clock.now_ms()
    table.schema_store.evolve(lambda old: replace(change(old), id=old.id + 1, time_ms=time_ms))


def check_policy(view: Sink, query: JobQuery) -> None:
    """Refuse INCREMENTAL STRICT for a query that is always computed again.

    Raises:
        NotIncrementalError: it is that.
    """
    if view.schema.upkeep.policy is not RefreshPolicy.INCREMENTAL_STRICT:
        return
    reason = why_never_incremental(view, query)
    if reason is not None:
        raise NotIncrementalError(name=view.name, reason=reason)


def refuse_cycle(session: PlannerSession, view: Sink, query: JobQuery) -> None:
    """Refuse a query that reads the view itself, be it through other views.

    Raises:
        UnsupportedQueryError: it does; the reason names the views on the way.
    """
    for way in _ways_down(session, query, ()):
        if way[-1].table.path == view.table.path:
            names = " reads ".join(other.name for other in (view, *way))
            raise UnsupportedQueryError(reason=f"the view would read itself: {names}")


def is_same_definition(
    schema: TableSchema, definition: TableDefinition, settings: Mapping[str, str]
) -> bool:
    """Whether a view is what a statement defines, but for how it is kept up to date.

    Options that the view has and the statement does not name make no difference.
    """
    options = enriched_options(definition.options, settings)
    other = definition.with_options(options).schema(time_ms=schema.time_ms)
    return options.items() <= schema.options.items() and other == replace(
        schema, id=other.id, options=other.options, upkeep=other.upkeep
    )


def _ways_down(
    session: PlannerSession, query: JobQuery, way: tuple[Sink, ...]
) -> Iterator[tuple[Sink, ...]]:
    for other in views_below(session, query):
        if other.table.path not in [known.table.path for known in way]:
            yield (*way, other)
            yield from _ways_down(session, analysed_query(session, other.schema), (*way, other))


def _commit_nothing(view: Sink, barrier: int, read_snapshot_id: int) -> Snapshot:
    """A snapshot that has the rows of the one before."""
    outcome = view.table.committer().commit(
        (),
        kind=CommitKind.APPEND,
        commit_user=view.job,
        commit_identifier=barrier,
        read_snapshot_id=read_snapshot_id,
        since_snapshot_id=read_snapshot_id,
        operation="REFRESH",
        expected_schema_id=view.schema.id,
        allow_empty=True,
    )
    if not isinstance(outcome, Committed):
        raise CommitConflictError(
            table=view.name,
            snapshot_id=None,
            operation="REFRESH",
            reason="a refresh of the view was faster",
        )
    return outcome.snapshot
