"""What an ALTER of a table means for the jobs that stand on it, found before it happens.

Spark analyses each stored query as if the table had been altered. If it means the same, under new
names where a column gets one, the job goes on, and where a column is widened, so is the view's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.definition.table_change import (
    AddColumn,
    DropColumn,
    MoveColumn,
    RenameColumn,
    TableChange,
    WidenColumn,
    changed_schema,
)
from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.jobs.job_errors import UnsupportedQueryError
from table_store.catalog.jobs.renamed_query import TableName, renamed_column
from table_store.catalog.planner.epochs.consumers import Dependent, dependents
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.jobs.job_registry import listed_jobs
from table_store.catalog.planner.names.supposed_schema import supposed
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.errors import InvalidSchemaError, TableStoreError
from table_store.storage.kernel.types import to_arrow

STRUCTURAL = (AddColumn, DropColumn, MoveColumn, RenameColumn, WidenColumn)
"""Changes that may concern a query."""


@dataclass(slots=True)
class Alteration:
    """An ALTER that has not happened.

    Attributes:
        parts: the table's whole name.
        changes: what is to change.
        schemas: the tables as they will be, by directory: the table, and then the views on it.
        changed: the views whose definitions change with it.
        stopped: dependents that cannot go on, and why.
    """

    parts: tuple[str, ...]
    changes: Sequence[TableChange]
    schemas: dict[str, TableSchema]
    changed: list[Dependent] = field(default_factory=list)
    stopped: list[tuple[Dependent, str]] = field(default_factory=list)

    def follow(self, session: PlannerSession, found: Iterable[Dependent]) -> None:
        """Find out what becomes of dependents, and of what stands on those that change."""
        for dependent in found:
            if dependent.is_view:
                self._follow_view(session, dependent)
            else:
                self._follow_job(session, dependent)

    def _follow_view(self, session: PlannerSession, dependent: Dependent) -> None:
        before = dependent.table.schema
        if before.query is None or before.upkeep.is_suspended:
            return
        old = analysed_or_reason(session, before.query)
        if isinstance(old, str):
            return  # it is of no use already, which its next REFRESH tells
        after = self._view_after(session, before, before.query, old)
        if isinstance(after, str):
            self.stopped.append((dependent, after))
        elif after != before:
            self.changed.append(dependent)
            self.schemas[dependent.table.path] = after
            if after.fields != before.fields:
                self.follow(session, dependents([dependent.table.path]))

    def _follow_job(self, session: PlannerSession, dependent: Dependent) -> None:
        for listed in listed_jobs(session):
            if listed.job.commit_user != dependent.job or not listed.is_kept:
                continue
            old = analysed_or_reason(session, listed.job.insert)
            if isinstance(old, str):
                continue
            with supposed(self.schemas):
                new = analysed_or_reason(session, listed.job.insert)
            if isinstance(new, str):
                self.stopped.append((dependent, new))
            elif not self._means(new, old):
                self.stopped.append((dependent, "its query would mean something else"))

    def _view_after(
        self, session: PlannerSession, before: TableSchema, query: StoredQuery, old: JobQuery
    ) -> TableSchema | str:
        """The view as it will be, or why it cannot be."""
        reason = "its query would mean something else"
        for number, proposed in enumerate(self._proposals(query)):
            with supposed(self.schemas):
                new = analysed_or_reason(session, proposed)
            if isinstance(new, str):
                reason = new if not number else reason
                continue
            if not self._means(new, old):
                continue
            found = columns_from_spark(new.facts.schema)
            # A later column is told from those of a `*` by what these are called now.
            kept = replace(proposed, columns=tuple(field.name for field in found))
            return _widened(replace(before, query=kept), found)
        return reason

    def _proposals(self, query: StoredQuery) -> Iterator[StoredQuery]:
        yield query
        current = (query.current_catalog, *query.current_namespace)
        name = TableName(parts=self.parts, current=current)
        for change in self.changes:
            if isinstance(change, RenameColumn) and len(change.path) == 1:
                old, new = change.path[0], change.name
                columns = tuple(new if c.lower() == old.lower() else c for c in query.columns)
                yield replace(query, columns=columns)  # the column is one of a `*`
                for text in renamed_column(query.text, name, old, new):
                    yield replace(query, text=text)

    def _means(self, new: JobQuery, old: JobQuery) -> bool:
        """Whether two queries mean the same; a type that is widened makes another plan."""
        is_widened = any(isinstance(change, WidenColumn) for change in self.changes)
        return is_widened or new.meaning == old.meaning


def analysed_or_reason(session: PlannerSession, query: StoredQuery) -> JobQuery | str:
    """The query as Spark understands it, or why it does not."""
    try:
        return JobQuery.analysed(session, query)
    except (CapturedException, TableStoreError) as error:
        if isinstance(error, UnsupportedQueryError):
            return error.reason
        return str(error).strip().partition("\n")[0].partition(" SQLSTATE")[0]


def _widened(before: TableSchema, now: Sequence[Field]) -> TableSchema | str:
    """A view whose columns have the types of its query's result, or why it cannot have them."""
    if len(now) != len(before.fields):
        return f"it would return {len(now)} columns, and the view has {len(before.fields)}"
    changes = [
        WidenColumn(path=(old.name,), type=new.type)
        for old, new in zip(before.fields, now, strict=True)
        if to_arrow(old.type) != to_arrow(new.type)
    ]
    if not changes:
        return before
    try:
        return changed_schema(before, changes, time_ms=before.time_ms)
    except InvalidSchemaError as error:
        return error.message
