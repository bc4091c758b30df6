"""Requests about jobs.

The bridge keeps each job as a text, which it does not look into, and sends it with every request,
so that a job outlives the planner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NewType

from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.json_form import from_json, to_json
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.model.schema import StoredQuery

JobText = NewType("JobText", str)
"""A `ListedJob` as JSON."""


class JobCommand(Enum):
    """What a job does next; after all but ADVANCE and REFRESH it is over.

    REFRESH is an epoch that leaves the sink with the rows of the result alone.
    """

    ADVANCE = "advance"
    DRAIN = "drain"
    STOP = "stop"
    SUSPEND = "suspend"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A streaming INSERT.

    Attributes:
        id: of this run.
        name: by which the same statement resumes.
        commit_user: of its commits: the same for the same name, statement and namespace.
        sink: the table that it writes.
        sink_name: the sink's name as messages show it.
        path: the sink's directory.
        insert: the statement.
        options: of its writes.
        interval_ms: between two epochs.
        starts_late: whether `log.scan` of a source leaves out rows that were there.
    """

    id: str
    name: str
    commit_user: str
    sink: RelationReference
    sink_name: str
    path: str
    insert: StoredQuery
    options: Mapping[str, str]
    interval_ms: int
    starts_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job and how it is."""

    job: Job
    status: JobStatus

    @property
    def text(self) -> JobText:
        """What the bridge keeps; `of` is the inverse."""
        return JobText(json.dumps(to_json(self)))

    @classmethod
    def of(cls, text: JobText) -> ListedJob:
        """Return the job that `text` stands for."""
        return from_json(cls, json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class StartJob:
    """An INSERT in streaming mode; `is_server`: in a server, whose sessions come and go."""

    table: TableReference
    insert: StoredQuery
    options: Mapping[str, str]
    is_server: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedJob:
    """A job that may begin; if `waits`, its statement ends when it does."""

    id: str
    name: str
    commit_user: str
    listed: JobText
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceJob:
    """One epoch, or the end.

    `lost` says why the planner did not answer the last request, or why the job is suspended.
    """

    listed: JobText
    command: JobCommand
    lost: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedJob:
    """How a job is now; `error` is that of a job which has ended with one."""

    listed: JobText
    pause_ms: int
    is_over: bool
    error: str | None = None


class RefusedStatement(Enum):
    """What streaming mode does not have; the values are the words of the message."""

    SELECT = "SELECT"
    OVERWRITE = "INSERT OVERWRITE"
    SEVERAL = "INSERT into several tables"
    FOREIGN = "INSERT into a table that is not managed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseStreaming:
    """A statement that streaming mode does not have; `reads` are the tables of a SELECT."""

    statement: RefusedStatement
    reads: tuple[str, ...] = ()
