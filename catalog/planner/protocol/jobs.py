"""Requests about jobs.

The bridge keeps each job as a text, which it does not look into, and sends it with every request,
so that a job outlives the planner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NewType

from table_store.catalog.jobs.job_status import JobState, JobStatus
from table_store.catalog.planner.protocol.handles import TableReference
from table_store.catalog.planner.protocol.json_form import from_json, to_json
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.storage.file_store.model.stored_query import StoredQuery

JobText = NewType("JobText", str)
"""A `ListedJob` as JSON."""

EpochText = NewType("EpochText", str)
"""An `Epoch` as JSON."""


class JobCommand(Enum):
    """What a job does next; after all but ADVANCE and REFRESH it is over.

    REFRESH is an epoch that leaves the sink with the rows of the result alone. LEAVE ends a hosted
    job in this program, so that another one may host it.
    """

    ADVANCE = "advance"
    DRAIN = "drain"
    STOP = "stop"
    SUSPEND = "suspend"
    LEAVE = "leave"
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
        is_hosted: whether a job runner has it, else the program that ran the INSERT.
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
    is_hosted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job and how it is."""

    job: Job
    status: JobStatus

    @property
    def is_kept(self) -> bool:
        """Whether it goes on, or a job runner takes it up again."""
        resumed = (JobState.SUBMITTED, JobState.SUSPENDED)
        return not self.status.is_over or (self.job.is_hosted and self.status.state in resumed)

    @property
    def text(self) -> JobText:
        """What the bridge keeps; `of` is the inverse."""
        return JobText(json.dumps(to_json(self)))

    @property
    def shared_text(self) -> JobText:
        """The same for other programs, without what gives this one access to the warehouse."""
        return self.within(replace(self.job.sink.catalog, options={}, allowed_roots="")).text

    def within(self, catalog: CatalogReference) -> ListedJob:
        """Return the job with the catalog by which a program reaches its warehouse."""
        return replace(self, job=replace(self.job, sink=replace(self.job.sink, catalog=catalog)))

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
    """A job that may begin.

    Attributes:
        waits: whether its statement ends when it does.
        is_temporary: whether its table is one of the session, with which both end.
        is_hosted: whether it was submitted to a job runner, and does not begin here.
    """

    id: str
    name: str
    commit_user: str
    listed: JobText
    waits: bool
    is_temporary: bool
    is_hosted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What an epoch is to bring a sink to.

    Attributes:
        barrier: its number.
        cut_ms: when the sources were looked at, ms since 1970.
        snapshots: of the sources at the barrier, by directory; sinks that other jobs bring to this
            barrier are not among them.
        created: when each source was created, ms since 1970, by directory.
        obstacle: why it fails without having begun; None: nothing is known.
    """

    barrier: int
    cut_ms: int
    snapshots: Mapping[str, int]
    created: Mapping[str, int]
    obstacle: str | None = None

    @property
    def text(self) -> EpochText:
        """What the bridge passes on; `of` is the inverse."""
        return EpochText(json.dumps(to_json(self)))

    @classmethod
    def of(cls, text: EpochText) -> Epoch:
        """Return the epoch that `text` stands for."""
        return from_json(cls, json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTurn:
    """A job that may take the next barrier; the first names are those of `schedule.Turn`.

    `is_refreshing`: it has an epoch even if nothing has changed.
    """

    listed: JobText
    is_busy: bool
    is_asked: bool
    is_draining: bool
    is_refreshing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBarrier:
    """A look at what the jobs of this program read, and a barrier if any of it has changed."""

    jobs: tuple[JobTurn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenTurn:
    """A job that has taken a barrier.

    Attributes:
        job: its id.
        listed: the job as it is now.
        epoch: an `Epoch`; None if there is nothing to do.
        after: the jobs, by id, whose epochs come first.
    """

    job: str
    listed: JobText
    epoch: EpochText | None
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBarrier:
    """The jobs that take the barrier, and after how many milliseconds the next job is due."""

    taken: tuple[TakenTurn, ...]
    pause_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceJob:
    """One epoch, or the end.

    Attributes:
        listed: the job.
        command: what to do.
        epoch: an `Epoch`; None if there is nothing to do but to end.
        below: the jobs that have been brought to this barrier before, because it reads their sinks.
        lost: why the planner did not answer the last request, or why the job is suspended.
    """

    listed: JobText
    command: JobCommand
    epoch: EpochText | None = None
    below: tuple[JobText, ...] = ()
    lost: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedJob:
    """How a job is now.

    Attributes:
        listed: the job.
        is_over: whether it has ended.
        has_failed: whether it is not at the barrier.
        error: of a job which has ended with one.
    """

    listed: JobText
    is_over: bool
    has_failed: bool
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
