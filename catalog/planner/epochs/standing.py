"""Up to where a job has brought its sink."""

from __future__ import annotations

from dataclasses import dataclass, replace

from table_store.catalog.jobs.job_errors import JobHistoryLostError
from table_store.catalog.jobs.progress import Followed, Progress, SinkState, read_progress
from table_store.catalog.jobs.sink_commit import last_followed
from table_store.catalog.meta_service.observed_job import SameRows
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Standing:
    """A sink as it was when it was looked at.

    Attributes:
        sink: the table.
        snapshot: its last one.
        progress: what the job has noted last.
    """

    sink: Sink
    snapshot: Snapshot | None
    progress: Progress | None

    @classmethod
    def of(cls, sink: Sink) -> Standing:
        """Look at a sink; costs two small files."""
        snapshot = sink.table.latest_snapshot()
        return cls(sink, snapshot, read_progress(sink.table.file_io, sink.table.path, sink.job))

    @property
    def state(self) -> SinkState:
        """What the sink's rows are known by."""
        return SinkState.of(self.snapshot, self.sink.job)

    @property
    def snapshot_id(self) -> int:
        """The id of its snapshot; 0 for none."""
        return 0 if self.snapshot is None else self.snapshot.id

    @property
    def diverged(self) -> str | None:
        """Which changes without change tracking its rows lack; None if they lack none."""
        return None if self.progress is None else self.progress.diverged

    def is_last(self) -> bool:
        """Whether the job has committed nothing since; costs one small file."""
        return SinkState.of(self.sink.table.latest_snapshot(), self.sink.job) == self.state

    @property
    def rows(self) -> int:
        """How many rows the sink has."""
        return 0 if self.snapshot is None else self.snapshot.total_record_count

    @property
    def barrier(self) -> int:
        """The barrier to which the sink was last brought; 0 for none."""
        return max(self.state.commit, 0 if self.progress is None else self.progress.barrier)

    @property
    def next_barrier(self) -> int:
        """A barrier of the sink alone, after all that it has had."""
        return max(self.sink.table.clock.now_ms(), self.barrier + 1)

    @property
    def is_noted(self) -> bool:
        """Whether the progress is that of the sink's rows.

        It is older if a process died before it could note what it had committed, or is about to; it
        is newer if both have come since the snapshot was looked at.
        """
        return self.progress is not None and self.progress.sink == self.state

    def followed(self) -> Followed | None:
        """What the sink's rows are the result of; None if nothing tells, or it has none.

        Where the progress does not tell, the job's last commit does.

        Raises:
            JobHistoryLostError: the snapshot that would tell has expired, and the sink also has
                rows of others, and no key.
        """
        if self.progress is not None and self.is_noted:
            return self.progress.followed
        sink = self.sink
        if self.snapshot is None:
            return None
        try:
            return last_followed(sink.table.snapshot_store, self.snapshot, sink.job)
        except SnapshotNotFoundError as error:
            if sink.is_shared and not sink.schema.primary_key:
                raise JobHistoryLostError(sink=sink.name, reason=error.message) from error
            return None

    def is_current(self, query: JobQuery) -> bool:
        """Whether the sink is known to have the result over the rows of a query's analysis.

        They are the same rows where only compactions have come in between; it costs a read for each
        of these.
        """
        followed = self.followed()
        if followed is None or not self.is_noted or query.always_changes is not None:
            return False
        now = query.followed.with_state_of(followed)
        known = followed.sources
        if followed != replace(now, sources=known) or now.sources.keys() != known.keys():
            return False
        same = SameRows()
        return all(same(path, known[path], at) for path, at in now.sources.items())
