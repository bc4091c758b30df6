"""Sets the table of a job back to what it was at a barrier, so that the job goes on from there.

The commit bears the job's name and the number of the revision's fence. So it takes effect once, and
epochs of the job that were under way are refused. What it says of the sources is what the rows are
the result of, as with any commit of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from table_store.catalog.jobs.progress import (
    Followed,
    Progress,
    SinkState,
    Taken,
    note_progress,
    read_progress,
)
from table_store.catalog.jobs.sink_commit import commit_properties, last_followed
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.model.errors import CommitConflictError, SnapshotNotFoundError
from table_store.storage.kernel.frozen_map import FrozenMap

_ATTEMPTS_MAX = 10


def set_back(one: ObservedJob, origin: Taken, fence: int) -> None:
    """Give a job's table the rows of an earlier snapshot, and the job what belongs to these rows.

    Args:
        one: the job.
        origin: what it goes back to.
        fence: the barrier of the commit, later than all that the job has taken.

    Raises:
        CommitConflictError: others wrote the table again and again.
        SnapshotNotFoundError: the snapshot has expired meanwhile.
    """
    for _ in range(_ATTEMPTS_MAX - 1):
        try:
            return _set_back(one, origin, fence)
        except CommitConflictError:
            continue
    return _set_back(one, origin, fence)


def _set_back(one: ObservedJob, origin: Taken, fence: int) -> None:
    table, job = one.table, one.job.commit_user
    latest = table.latest_snapshot()
    progress = read_progress(table.file_io, table.path, job)
    followed = _followed(one, origin, progress)
    read = 0 if latest is None else latest.id
    outcome = table.committer().rollback(
        origin.snapshot,
        commit_user=job,
        commit_identifier=fence,
        read_snapshot_id=read,
        properties=commit_properties(fence, followed, alone_until=None if one.is_view else read),
    )
    if not isinstance(outcome, Committed):
        return  # it has these rows, and its job goes on from where it is
    state = SinkState.of(outcome.snapshot, job)
    done = Progress(barrier=fence, followed=followed, sink=state)
    note_progress(table.file_io, table.path, done, job, snapshot=outcome.snapshot.id)


def _followed(one: ObservedJob, origin: Taken, progress: Progress | None) -> Followed:
    """What the rows of the snapshot are the result of, with the states that belong to it."""
    snapshots = one.table.snapshot_store
    snapshot = snapshots.get(origin.snapshot)
    try:
        found = last_followed(snapshots, snapshot, one.job.commit_user)
    except SnapshotNotFoundError:
        found = None
    if found is not None and found.sources.keys() == origin.sources.keys():
        return found
    created: Mapping[str, int] = FrozenMap() if progress is None else progress.followed.created
    plan = "" if progress is None else progress.followed.plan
    known = Followed(sources=origin.sources, created=created, plan=plan)
    return replace(known, states=FrozenMap())
