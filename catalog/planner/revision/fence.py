"""The fence of a job that had nothing to do: a snapshot of it, with the rows of the one before.

Without it an epoch of the job that was under way, of a barrier before the revision's, would still
be accepted, and its rows would show behind the revision's end.
"""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.jobs.progress import Progress, SinkState, note_progress
from table_store.catalog.jobs.sink_commit import commit_properties
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.standing import Standing
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.snapshot import CommitKind


def fence(sink: Sink, sources: Mapping[str, int], barrier: int) -> int:
    """Let a job have a commit of a barrier in its sink; return the id of the sink's snapshot.

    Args:
        sink: the table.
        sources: the snapshots whose result it has, by directory.
        barrier: later than all that the job has committed before the revision.

    Raises:
        CommitConflictError: an epoch of the job was faster.
    """
    standing = Standing.of(sink)
    if standing.state.commit >= barrier:
        return standing.snapshot_id
    followed = standing.followed()
    if followed is None or dict(followed.sources) != dict(sources):
        raise CommitConflictError(
            table=sink.name,
            snapshot_id=standing.snapshot_id,
            operation="REVISE",
            reason="an epoch that was under way was faster",
        )
    table = sink.table
    is_alone = not (sink.is_view or sink.is_shared)
    outcome = table.committer().commit(
        (),
        kind=CommitKind.APPEND,
        commit_user=sink.job,
        commit_identifier=barrier,
        previous_identifier=standing.state.commit,
        operation="REVISE",
        allow_empty=True,
        properties=commit_properties(
            barrier, followed, alone_until=standing.snapshot_id if is_alone else None
        ),
    )
    if outcome.snapshot is None:
        return standing.snapshot_id
    state = SinkState.of(outcome.snapshot, sink.job)
    done = Progress(barrier=barrier, followed=followed, sink=state, diverged=standing.diverged)
    note_progress(table.file_io, table.path, done, sink.job, snapshot=outcome.snapshot.id)
    return outcome.snapshot.id
