"""Columns that a synchronised table of a database has got: its job goes on with them.

The job is drained, so that it has followed the database beyond the statement that added them. Then
both tables get the columns, the job with the new statement is to go on from there, and the rows
that the database has now are written once more, with the columns. What has changed since the drain
comes again with the job's first epoch, which makes the rows those of the database at its barrier.

A step that a crash has left out is made up for by the next call: the new job's progress says that
rows lack columns until they are written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from table_store.catalog.definition.table_change import AddColumn, changed_schema
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.jobs.progress import (
    Followed,
    Progress,
    SinkState,
    progress_files,
    read_progress,
    write_progress,
)
from table_store.catalog.planner.epochs.lasting_queries import Target
from table_store.catalog.planner.jobs.job_registry import stop_job
from table_store.catalog.planner.jobs.redefinition import change_schema
from table_store.catalog.planner.jobs.streaming_insert import (
    RUNTIME_MODE,
    commit_user_of,
    insert_query,
)
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import ListedJob
from table_store.catalog.planner.protocol.json_form import from_json
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.log_store.logged_table import open_logged

_LACKING: Final = "rows lack columns that were added"


@dataclass(frozen=True, slots=True)
class GrowingTable:
    """A table with the rows of another one, which reads a database.

    Attributes:
        session: whose statements they are.
        name: of the table, as jobs have it.
        source: what reads the database.
        target: the table.
    """

    session: PlannerSession
    name: str
    source: ManagedTable
    target: ManagedTable

    def grow(self, job: ListedJob | None, columns: Sequence[Field]) -> str | None:
        """Let the running job end, if there is one, and give both tables columns.

        Return why they have none: the job has not come to its end.
        """
        if job is not None:
            ended = stop_job(self.session, job.job.id, drains=True)
            if ended.status.state is not JobState.FINISHED:
                return f"its job could not be drained: {ended.status.error}"
        for table in (self.source, self.target):
            own = {field.name for field in table.schema.fields}
            new = [AddColumn(column=column) for column in columns if column.name not in own]
            change_schema(
                open_logged(table.location),
                partial(_with_columns, new),
            )
        return None

    def prepare(self, insert: str) -> None:
        """Let the job of an INSERT go on where one with fewer columns has ended.

        Nothing is done for one that has begun before, or is the first one. It costs a list, and
        all rows of the database's table if there is something to do.
        """
        text = self.session.bridge.StoredQueries.textOf(self.session.spark._jsparkSession, insert)
        stored = from_json(StoredQuery, json.loads(text))
        user, table = commit_user_of(self.name, stored), open_logged(self.target.location)
        progress = read_progress(table.file_io, table.path, user)
        if progress is None:
            before = self._newest()
            if before is None:
                return
            query = insert_query(self.session, stored, Target.of(table, table.schema))
            state = SinkState.of(table.latest_snapshot(), user)
            followed = replace(before.followed, plan=query.meaning)
            progress = Progress(
                barrier=before.barrier, followed=followed, sink=state, diverged=_LACKING
            )
            write_progress(table.file_io, table.path, progress, user)
        if progress.diverged == _LACKING:
            self._write_all(insert)
            state = SinkState.of(table.latest_snapshot(), user)
            whole = replace(progress, sink=state, diverged=None)
            write_progress(table.file_io, table.path, whole, user)

    def _newest(self) -> Progress | None:
        """How far a job of the same tables has come; None if there was none."""
        table, source = open_logged(self.target.location), open_logged(self.source.location)
        found = [
            progress
            for progress in progress_files(table.file_io, table.path)
            if _is_of(progress.followed, source.path, source.created_ms)
        ]
        return max(found, key=lambda progress: progress.barrier, default=None)

    def _write_all(self, insert: str) -> None:
        mode = self.session.conf(RUNTIME_MODE)
        self.session.set_conf(RUNTIME_MODE, "batch")
        try:
            self.session.spark.sql(insert).collect()
        finally:
            self.session.set_conf(RUNTIME_MODE, mode)


def _is_of(followed: Followed, path: str, created_ms: int) -> bool:
    return dict(followed.created) == {path: created_ms}


def _with_columns(new: Sequence[AddColumn], old: TableSchema) -> TableSchema:
    return changed_schema(old, new, time_ms=old.time_ms)
