"""What a job writes into the snapshots of its sink, and how it finds that again.

The sink's snapshot is the job's checkpoint: it is there if and only if the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.snapshot import ROLLBACK_TO, Snapshot

_BARRIER: Final = "job.barrier"
_SOURCE: Final = "job.source."


def commit_properties(barrier: int, sources: Mapping[str, int]) -> dict[str, str]:
    """Return the properties of a job's snapshot; `sources` are snapshots by directory."""
    found = {f"{_SOURCE}{path}": str(at) for path, at in sources.items()}
    found[_BARRIER] = str(barrier)
    return found


def followed_sources(
    snapshots: SnapshotStore, latest: Snapshot, job: str
) -> Mapping[str, int] | None:
    """Return the sources' snapshots whose result a sink has, by directory.

    They are those of the job's last commit whose rows the sink still has: a rollback takes back the
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
    return {
        key.removeprefix(_SOURCE): int(at)
        for key, at in snapshot.properties.items()
        if key.startswith(_SOURCE)
    }
