"""What has changed in the tables that a view reads, and whether that is worth an increment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from table_store.catalog.jobs.delta import Delta
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.jobs.job_query import JobQuery
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.storage.file_store.changes.change_range import ChangeBound
from table_store.storage.file_store.changes.change_split import ChangeMode, Deduplication
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    InvalidChangeRangeError,
    SnapshotNotFoundError,
    UntrackedChangesError,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.log_store.logged_table import open_logged

CHANGED_SHARE_MAX: Final = 0.25
"""Above this share of a table's rows the whole result costs less than its change."""

ROWS_ALWAYS: Final = 10_000
"""With so few changes a refresh takes as long one way or the other."""

ANOTHER_PLAN: Final = "the query, or a view in it, has another meaning by now"

_SKIP: Final = ", 'untracked-changes' = 'skip'"
_NOT_KEPT: Final = (
    ChangesNotAvailableError,
    InvalidChangeRangeError,
    MissingFileError,
    SnapshotNotFoundError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChange:
    """A table that is not what it was.

    Attributes:
        source: the table.
        columns: SQL for each of them over the table's changes.
        old: the snapshot up to which a view has followed; 0 before the first one.
        new: the snapshot up to which it is to follow.
        rows: about how many rows have been written between both.
        is_partial: whether commits without change tracking are left out.
    """

    source: TableReference
    columns: tuple[str, ...]
    old: int
    new: int
    rows: int
    is_partial: bool = False

    def changed(self, query: JobQuery) -> Delta[DataFrame]:
        """The rows that came and the rows that went, with the table's columns."""
        relation = self.source.relation
        name = quoted_parts((relation.catalog.name, *relation.namespace, relation.name))
        begin = f"{self.old} EXCLUSIVE" if self.old else "1"
        columns = ", ".join(self.columns)
        rows = query.settled(
            query.sql(
                f"SELECT {columns}, _change_type FROM {name} "
                f"CHANGES FROM VERSION {begin} TO VERSION {self.new} "
                f"WITH ('deduplicationMode' = 'netChanges'{_SKIP if self.is_partial else ''}) "
                "WHERE _change_type IN ('insert', 'delete')"
            )
        )
        return query.signed(rows)


def replaced_source(query: JobQuery, followed: Followed) -> str | None:
    """The first table that is not the one of its name which was followed; None if all are."""
    for source in query.facts.sources:
        path = source.table_handle.path
        if followed.created.get(path) != query.created[path]:
            return f"{source.relation.text} is another table by now"
    return None


def source_changes(
    query: JobQuery, known: Mapping[str, int], *, is_cost_counted: bool, skips_untracked: bool
) -> list[SourceChange] | str:
    """The tables that have changed since their snapshots `known`, by directory.

    Where their changes cannot be used, a text says why; with `is_cost_counted` also where they are
    so many that the whole result costs less. With `skips_untracked`, commits without change
    tracking are left out, else they cannot be used.
    """
    found = []
    for path, new in query.sources.items():
        old = known[path]
        if old == new:
            continue
        number = next(n for n, s in enumerate(query.facts.sources) if s.table_handle.path == path)
        source = query.facts.sources[number]
        name, table = source.relation.text, open_logged(path)
        mode = ChangeMode(deduplication=Deduplication.NET_CHANGES)
        is_partial = False
        try:
            after = table.snapshot_store.get(new)
            before = table.snapshot_store.get(old) if old else None
            first = ChangeBound(version=old, is_inclusive=False) if old else None
            last = ChangeBound(version=new)
            try:
                table.changes(first, last, mode=mode).splits()
            except UntrackedChangesError:
                if not skips_untracked:
                    raise
                is_partial = True
                table.changes(first, last, mode=mode, skips_untracked=True).splits()
        except _NOT_KEPT:
            return f"the changes of {name} since its snapshot {old} are no longer kept"
        except UntrackedChangesError:
            return f"{name} was changed without change tracking"
        columns = _columns(query, number, table.schema_store.get(after.schema_id))
        if isinstance(columns, str):
            return f"{columns} of {name} is another one by now"
        rows = after.next_sequence - (1 if before is None else before.next_sequence)
        is_large = not is_partial and rows > max(
            ROWS_ALWAYS, CHANGED_SHARE_MAX * after.total_record_count
        )
        if is_cost_counted and is_large:
            return f"more than a quarter of {name} has changed"
        found.append(
            SourceChange(
                source=source,
                columns=columns,
                old=old,
                new=new,
                rows=rows,
                is_partial=is_partial,
            )
        )
    return found


def _columns(query: JobQuery, number: int, after: TableSchema) -> tuple[str, ...] | str:
    """SQL for the columns of a source as the query sees it, over changes read under `after`.

    The table may have been altered since its last commit. A column that the query uses and that
    was not there then, or with another type, is returned alone.
    """
    handle = query.facts.sources[number].table_handle
    used = {field.id for field in query.used_fields(number)}
    columns = []
    for field in open_logged(handle.path).schema_store.get(handle.schema_id).fields:
        then = after.field_with_id(field.id)
        if then is not None and then.type == field.type:
            columns.append(f"{quoted(then.name)} AS {quoted(field.name)}")
        elif field.id in used:
            return f"column {field.name}"
        else:
            columns.append(f"CAST(NULL AS {field.type.sql_name()}) AS {quoted(field.name)}")
    return tuple(columns)


def why_not_readable(query: JobQuery, followed: Followed) -> str | None:
    """Why the result cannot be computed as it was; None if it can."""
    another = replaced_source(query, followed)
    if another is not None:
        return another
    if followed.plan != query.meaning:
        return ANOTHER_PLAN
    for source in query.facts.sources:
        path, old = source.table_handle.path, followed.sources[source.table_handle.path]
        if not old:
            continue
        try:
            open_logged(path).snapshot_store.get(old)
        except (MissingFileError, SnapshotNotFoundError):
            return f"snapshot {old} of {source.relation.text} is no longer kept"
    return None
