"""The jobs of a warehouse as storage shows them: what each has followed, and whether it goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from table_store.catalog.jobs.history import EpochRecord, read_histories
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.jobs.progress import JOB_OF_VIEW, Progress, Track, read_progress
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.meta_service.topology import Topology
from table_store.catalog.tables.stream_writer_claim import StreamWriterClaim
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged

_GONE = (MissingFileError, NotFoundError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """A job, the table that it writes, and how far it has come; None before its first epoch."""

    job: RegisteredJob
    table: FileStoreTable
    progress: Progress | None

    @property
    def is_view(self) -> bool:
        """Whether it keeps a materialized view; else it is a streaming INSERT."""
        return self.job.commit_user == JOB_OF_VIEW

    def state(self) -> JobState:
        """Return how it is; costs a look at the table or at its claim.

        A view is RUNNING or SUSPENDED. An INSERT is FAILED where the program that runs it has
        ended without a word, and SUBMITTED where a job runner is to begin it.

        Raises:
            CorruptFileError: the claim is damaged.
        """
        if self.is_view:
            is_suspended = self.table.schema.upkeep.is_suspended
            return JobState.SUSPENDED if is_suspended else JobState.RUNNING
        if self.job.state is not JobState.RUNNING:
            return self.job.state
        match self._claim.holds(self.job.commit_user):
            case True:
                return JobState.RUNNING
            case False:
                return JobState.FAILED
            case None:
                return JobState.SUBMITTED

    @property
    def _claim(self) -> StreamWriterClaim:
        return StreamWriterClaim.of(self.table, self.job.name)

    @property
    def track(self) -> Track:
        """The barriers that it has taken."""
        return Track() if self.progress is None else self.progress.track


def observed_jobs(registry: JobRegistry) -> list[ObservedJob]:
    """Return the registered jobs whose tables are there; costs a read or two for each.

    Raises:
        CorruptFileError: the registry is damaged.
        FormatVersionError: a newer version of the table store wrote a file.
    """
    found = []
    for job in registry.all():
        try:
            table = open_logged(job.sink)
            progress = read_progress(table.file_io, job.sink, job.commit_user)
        except _GONE:
            _log.info("the table of job %s was dropped", job.name)
            continue
        found.append(ObservedJob(job, table, progress))
    return found


def kept_epochs(one: ObservedJob) -> tuple[EpochRecord, ...]:
    """Return the last epochs of a job, in the order of their ends; costs a list and a read.

    Raises:
        FormatVersionError: a newer version of the table store wrote them.
    """
    name = "" if one.is_view else one.job.name
    found = read_histories(one.table.file_io, one.job.sink)
    return tuple(epoch for epoch in found if epoch.job == name)


def topology_of(jobs: Iterable[ObservedJob]) -> Topology:
    """Return the tables that jobs connect."""
    return Topology({one.job.sink: one.job.sources for one in jobs})


def tracks_of(jobs: Iterable[ObservedJob]) -> Mapping[str, Track]:
    """Return what jobs have taken, by the tables that they write."""
    return {one.job.sink: one.track for one in jobs}


class SameRows:
    """Whether only compactions are between two snapshots of a table; costs a read for each."""

    def __init__(self) -> None:
        self._tables: dict[str, FileStoreTable] = {}

    def __call__(self, path: str, one: int, other: int) -> bool:
        """Return whether a table, by its directory, has the same rows in both snapshots."""
        return one == other or self.first_change(path, min(one, other), max(one, other)) is None

    def first_change(self, path: str, older: int, newer: int) -> int | None:
        """Return when rows have changed behind a snapshot first, ms since 1970; None if never.

        What has expired counts as changed, in 1970, and so does a table that was dropped.
        """
        try:
            if path not in self._tables:
                self._tables[path] = open_logged(path)
            store = self._tables[path].snapshot_store
            for number in range(older + 1, newer + 1):
                snapshot = store.get(number)
                if snapshot.commit_kind is not CommitKind.COMPACT:
                    return snapshot.time_ms
        except (SnapshotNotFoundError, *_GONE):
            return 0
        return None
