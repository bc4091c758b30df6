"""What has changed in the tables that a view reads, and whether that is worth an increment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from pyspark.sql import DataFrame

from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER
from table_store.catalog.connectors.source import (
    begins_with_changes,
    gives_changes,
    is_repeatable,
)
from table_store.catalog.jobs.delta import Delta
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.epochs.difference import WEIGHT
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.names.changelog import describe_changes
from table_store.catalog.planner.names.dead_letter_table import dead_letters
from table_store.catalog.planner.names.managed_table import describe_table
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.json_form import to_json
from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_range import ChangeBound
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.changes.change_split import ChangeMode, Deduplication
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    InvalidChangeRangeError,
    SnapshotNotFoundError,
    UntrackedChangesError,
)
from table_store.storage.file_store.model.key_spans import KeySpans
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.kernel.types import LONG
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import UNTRACKED_CHANGES

CHANGED_SHARE_MAX: Final = 0.25
"""Above this share of a table's rows the whole result costs less than its change."""

ROWS_ALWAYS: Final = 10_000
"""With so few changes a refresh takes as long one way or the other."""

ANOTHER_PLAN: Final = "the query, or a view in it, has another meaning by now"

_ORDER: Final = Field(id=0, name=CHANGE_ORDER, type=LONG, nullable=False)

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
        columns: SQL for each of them over those that are read; NULL for others.
        read: names of the columns that the query uses.
        scan: reads the changes.
        old: the snapshot up to which a view has followed; 0 before the first one.
        new: the snapshot up to which it is to follow.
        rows: about how many rows have been written between both.
    """

    source: TableReference
    columns: tuple[str, ...]
    read: frozenset[str]
    scan: ChangeScan
    old: int
    new: int
    rows: int

    @property
    def is_partial(self) -> bool:
        """Whether commits without change tracking are left out."""
        return self.scan.skips_untracked

    def key_spans(self, place: int) -> KeySpans:
        """Where keys of the changes lie, by the column at a place of the table's key."""
        steps = (step for split in self.scan.splits() for step in split.steps)
        commits = (commit for step in steps for commit in step.commits if not commit.is_silent)
        return KeySpans.of((file for commit in commits for file in commit.files), place)

    def changed(self, query: JobQuery) -> Delta[DataFrame]:
        """The rows that came and the rows that went, with the table's columns.

        Few of them are held for other jobs that follow the table.
        """
        path = self.source.table_handle.path
        key = changes_key(path, query.created[path], self.old, self.new, is_partial=self.is_partial)
        read_by_jobs = _columns_read(path, query.created[path])
        read_by_jobs |= self.read
        rows = query.shared(key)
        if rows is None or not self.read.issubset(rows.columns):
            # A job reads for all that have come so far; if that is not enough, another may come.
            names = read_by_jobs if rows is None else frozenset(self.scan.schema.column_names)
            rows = query.settled(self._changes(query, names))
            if rows is None:
                return []
            query.share(key, rows)
        return query.weighted(rows, self.columns, CHANGE_TYPE)

    def _changes(self, query: JobQuery, names: Set[str]) -> DataFrame:
        in_order = [name for name in self.scan.schema.column_names if name in names]
        scan = replace(self.scan, columns=(*in_order, CHANGE_TYPE))
        name = f"{self.source.relation.text} CHANGES"
        described = describe_changes(scan, name=name, path=self.source.table_handle.path)
        options = {UNTRACKED_CHANGES.key: "skip"} if self.is_partial else {}
        changes = query.table_changes(json.dumps(to_json(described)), options)
        return changes.where(f"{CHANGE_TYPE} IN ('insert', 'delete')")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """Rows that have come out of a source whose rows a connector makes.

    The attributes are those of `SourceChange`; `old` and `new` say how many rows are out.
    """

    source: TableReference
    old: int
    new: int

    @property
    def rows(self) -> int:
        """How many rows have come."""
        return self.new - self.old

    @property
    def is_partial(self) -> bool:
        """False: no row is left out."""
        return False

    def changed(self, query: JobQuery) -> Delta[DataFrame]:
        """The rows that came and went, with those of the table's columns that a connector fills.

        Where rows go, too, the weights are a `CHANGE_ORDER`.
        """
        path, schema_id = self.source.table_handle.path, self.source.table_handle.schema_id
        schema = open_logged(path).schema_store.get(schema_id)
        columns = physical_columns(schema)
        labels = (_ORDER,) if gives_changes(schema) else ()
        letters = dead_letters(query.session, self.source.relation.catalog, schema)
        handle = TableHandle(
            path=path,
            schema_id=schema_id,
            snapshot_id=self.new,
            first_row=self.old,
            dead_letters=None if letters is None else letters.path,
        )
        name = self.source.relation.text
        described = describe_table(
            schema, name=name, properties={}, handle=handle, columns=(*columns, *labels)
        )
        used = _used_columns(query, path)
        rows = query.table(name, json.dumps(to_json(described))).selectExpr(
            *(
                quoted(field.name)
                if field.id in used
                else f"CAST(NULL AS {field.type.sql_name()}) AS {quoted(field.name)}"
                for field in columns
            ),
            *(f"{label.name} AS {WEIGHT}" for label in labels),
        )
        settled = query.settled(rows)
        return [] if settled is None else [(settled, 1)]


Change: TypeAlias = SourceChange | NewRows


def changes_key(path: str, created_ms: int, old: int, new: int, *, is_partial: bool) -> str:
    """What names the changes of a table, by its directory, from a snapshot to another one."""
    return f"{path} {created_ms} {old} {new}{' tracked' if is_partial else ''}"


@lru_cache(maxsize=1000)
def _columns_read(path: str, created_ms: int) -> set[str]:
    """What jobs of this process have read of the changes of a table, to be added to."""
    del path, created_ms
    return set()


def replaced_source(query: JobQuery, followed: Followed) -> str | None:
    """The first table that is not the one of its name which was followed; None if all are."""
    for source in query.facts.sources:
        path = source.table_handle.path
        if followed.created.get(path) != query.created[path]:
            return f"{source.relation.text} is another table by now"
    return None


def unrepeatable_source(query: JobQuery) -> str | None:
    """The name of a table whose rows cannot all be read again; None if there is none."""
    external = query.external
    for source in query.facts.sources:
        path = source.table_handle.path
        if path in external and not is_repeatable(open_logged(path).schema):
            return source.relation.text
    return None


def takes_rows_away_at_first(query: JobQuery) -> bool:
    """Whether the first rows of one of its sources are changes, of which some take rows away."""
    return any(begins_with_changes(open_logged(path).schema) for path in query.external)


def source_changes(
    query: JobQuery, known: Mapping[str, int], *, is_cost_counted: bool, skips_untracked: bool
) -> list[Change] | str:
    """The tables that have changed since their snapshots `known`, by directory.

    Where their changes cannot be used, a text says why; with `is_cost_counted` also where they are
    so many that the whole result costs less. With `skips_untracked`, commits without change
    tracking are left out, else they cannot be used.
    """
    found: list[Change] = []
    external = query.external
    for path, new in query.sources.items():
        old = known[path]
        if old == new:
            continue
        number = next(n for n, s in enumerate(query.facts.sources) if s.table_handle.path == path)
        source = query.facts.sources[number]
        if path in external:
            if new < old:
                return f"the position of {source.relation.text} is lost"
            found.append(NewRows(source=source, old=old, new=new))
            continue
        name, table = source.relation.text, open_logged(path)
        mode = ChangeMode(deduplication=Deduplication.NET_CHANGES, compares_read_columns=True)
        try:
            after = table.snapshot_store.get(new)
            before = table.snapshot_store.get(old) if old else None
            first = ChangeBound(version=old or 1, is_inclusive=not old)
            scan = table.changes(first, ChangeBound(version=new), mode=mode)
            try:
                scan.splits()
            except UntrackedChangesError:
                if not skips_untracked:
                    raise
                scan = replace(scan, skips_untracked=True)
                scan.splits()
        except _NOT_KEPT:
            return f"the changes of {name} since its snapshot {old} are no longer kept"
        except UntrackedChangesError:
            return f"{name} was changed without change tracking"
        columns = _columns(query, path, scan.schema)
        if isinstance(columns, str):
            return f"{columns} of {name} is another one by now"
        rows = after.next_sequence - (1 if before is None else before.next_sequence)
        is_large = not scan.skips_untracked and rows > max(
            ROWS_ALWAYS, CHANGED_SHARE_MAX * after.total_record_count
        )
        if is_cost_counted and is_large:
            return f"more than a quarter of {name} has changed"
        found.append(
            SourceChange(
                source=source,
                columns=tuple(columns),
                read=frozenset(name for name in columns.values() if name is not None),
                scan=scan,
                old=old,
                new=new,
                rows=rows,
            )
        )
    return found


def _columns(query: JobQuery, path: str, after: TableSchema) -> dict[str, str | None] | str:
    """SQL for the columns of a source as the query sees it, over changes read under `after`.

    Each stands beside the name of the column that it needs: None if the query does not use it. The
    table may have been altered since its last commit. A column that the query uses and that was not
    there then, or with another type, is returned alone.
    """
    schema_id = next(
        s.table_handle.schema_id for s in query.facts.sources if s.table_handle.path == path
    )
    used = _used_columns(query, path)
    columns: dict[str, str | None] = {}
    for field in open_logged(path).schema_store.get(schema_id).fields:
        then = after.field_with_id(field.id)
        if field.id not in used:
            columns[f"CAST(NULL AS {field.type.sql_name()}) AS {quoted(field.name)}"] = None
        elif then is not None and then.type == field.type:
            columns[f"{quoted(then.name)} AS {quoted(field.name)}"] = then.name
        else:
            return f"column {field.name}"
    return columns


def _used_columns(query: JobQuery, path: str) -> set[int]:
    """The ids of the columns that the query uses of a source."""
    numbers = [n for n, s in enumerate(query.facts.sources) if s.table_handle.path == path]
    return {field.id for number in numbers for field in query.used_fields(number)}


def why_not_readable(query: JobQuery, followed: Followed) -> str | None:
    """Why the result cannot be computed as it was; None if it can."""
    another = replaced_source(query, followed)
    if another is not None:
        return another
    if followed.plan != query.meaning:
        return ANOTHER_PLAN
    external = query.external
    for source in query.facts.sources:
        path, old = source.table_handle.path, followed.sources[source.table_handle.path]
        if not old or path in external:
            continue
        try:
            open_logged(path).snapshot_store.get(old)
        except (MissingFileError, SnapshotNotFoundError):
            return f"snapshot {old} of {source.relation.text} is no longer kept"
    return None
