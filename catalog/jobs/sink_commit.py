"""What a job writes into the snapshots of its sink, and how it finds that again.

The sink's snapshot is the job's checkpoint: it is there if and only if the rows are.
"""

from __future__ import annotations

from typing import Final

from table_store.catalog.jobs.progress import Followed
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import ROLLBACK_TO, CommitKind, Snapshot

_ALONE: Final = "job.alone"
_BARRIER: Final = "job.barrier"
_PLAN: Final = "job.plan"
_SOURCE: Final = "job.source."
_CREATED: Final = "job.created."
_STATE: Final = "job.state."
_EMITTED: Final = "job.emitted"


def commit_properties(
    barrier: int, followed: Followed, *, alone_until: int | None = None
) -> dict[str, str]:
    """Return the properties of a job's snapshot, whose rows are the result of `followed`.

    `alone_until` is the snapshot up to which nobody else had changed the sink's rows, 0 for none;
    None if somebody had, or if nobody else can.
    """
    found = {f"{_SOURCE}{path}": str(at) for path, at in followed.sources.items()}
    found |= {f"{_CREATED}{path}": str(at) for path, at in followed.created.items()}
    found |= {f"{_STATE}{node}": str(at) for node, at in followed.states.items()}
    if followed.emitted_ms is not None:
        found[_EMITTED] = str(followed.emitted_ms)
    alone = {} if alone_until is None else {_ALONE: str(alone_until)}
    return {**found, **alone, _BARRIER: str(barrier), _PLAN: followed.plan}


def is_alone(snapshots: SnapshotStore, latest: Snapshot | None, job: str) -> bool:
    """Whether a job has written all rows that its sink ever had; False where that is not known.

    It costs one small file for each compaction since the job's last commit.
    """
    if latest is None:
        return True
    try:
        own = _before_compactions(snapshots, latest, 0)
        if own is None or own.commit_user != job or _ALONE not in own.properties:
            return False
        until = int(own.properties[_ALONE])
        between = None if own.id == until + 1 else snapshots.get(own.id - 1)
        return between is None or _before_compactions(snapshots, between, until) is None
    except SnapshotNotFoundError:
        return False


def _before_compactions(snapshots: SnapshotStore, latest: Snapshot, until: int) -> Snapshot | None:
    """The last snapshot behind `until` that is no compaction."""
    snapshot = latest
    while snapshot.commit_kind is CommitKind.COMPACT:
        if snapshot.id == until + 1:
            return None
        snapshot = snapshots.get(snapshot.id - 1)
    return snapshot


def last_followed(snapshots: SnapshotStore, latest: Snapshot, job: str) -> Followed | None:
    """Return what a sink's rows are the result of.

    It is that of the job's last commit whose rows the sink still has: a rollback takes back the
    commits behind its target. None if the job has written none of the sink's rows. It costs one
    small file for each commit of others since.

    Raises:
        SnapshotNotFoundError: the snapshot that would tell has expired.
    """
    if job not in latest.commit_identifiers:
        return None
    number, snapshot = latest.id, latest
    while snapshot.commit_user != job:
        number = int(snapshot.properties.get(ROLLBACK_TO, number - 1))
        if number == 0:
            return None
        snapshot = snapshots.get(number)
    emitted = snapshot.properties.get(_EMITTED)
    return Followed(
        sources=_numbers(snapshot, _SOURCE),
        created=_numbers(snapshot, _CREATED),
        plan=snapshot.properties.get(_PLAN, ""),
        states={int(node): at for node, at in _numbers(snapshot, _STATE).items()},
        emitted_ms=None if emitted is None else int(emitted),
    )


def _numbers(snapshot: Snapshot, prefix: str) -> dict[str, int]:
    """The properties that begin with a prefix, without it."""
    named = snapshot.properties.items()
    return {key.removeprefix(prefix): int(at) for key, at in named if key.startswith(prefix)}
