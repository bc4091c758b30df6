"""How far a job has come: the barrier, and the snapshots of its sources there.

The file is written after the rows are committed. If the process dies between both, the snapshot of
the job's table tells the same (`sink_commit.py`). An epoch that changes no row writes this file
alone.
"""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap

_log = logging.getLogger(__name__)

PROGRESS_VERSION: Final = 4
JOB_FOLDER: Final = "job"
BARRIERS_KEPT: Final = 100
"""At so many barriers of its job a table can be read; each costs about 20 bytes in the file."""
JOB_OF_VIEW: Final = "materialized-view"
"""The commit user of refreshes: a view has one job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkState:
    """What a view's rows are known by, whatever compactions have done to its files since.

    Attributes:
        commit: the barrier of the job's last commit; 0 before the first one.
        rollback: the last snapshot that brought back older rows; 0 for none.
    """

    commit: int = 0
    rollback: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot | None, job: str) -> SinkState:
        """Return the state of a view at a snapshot; `job` is the commit user of its refreshes."""
        if snapshot is None:
            return cls()
        commit = snapshot.commit_identifiers.get(job, 0)
        return cls(commit=commit, rollback=snapshot.last_rollback)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What a sink's rows are the result of.

    Attributes:
        sources: the snapshot of each source by the source's directory; 0 before its first commit.
        created: when each of them was created, ms since 1970: another table that takes the
            directory of one has another history.
        plan: a fingerprint of the query's plan, which also changes with the views that it reads.
        states: the snapshot of the table with an aggregate's groups, by the aggregate's number in
            the plan, of those that have one.
        are_groups_dear: whether the result was found to cost less than even a small change of it
            with held groups. They are not held then until all of it is asked for, or the plan is
            another one.
        emitted_ms: where rows come when their windows are closed: windows that end until then are,
            ms since 1970. None before the first one, and of other jobs.
    """

    sources: Mapping[str, int]
    created: Mapping[str, int]
    plan: str
    states: Mapping[int, int] = FrozenMap()
    are_groups_dear: bool = False
    emitted_ms: int | None = None

    def with_state_of(self, other: Followed) -> Followed:
        """Return the same with what is known there of groups and of closed windows."""
        return replace(
            self,
            states=other.states,
            are_groups_dear=other.are_groups_dear,
            emitted_ms=other.emitted_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A barrier that a job has taken.

    Attributes:
        barrier: its number.
        snapshot: of the sink, with the rows of the barrier; 0 if it had none.
        sources: the snapshots that these rows are the result of, by the sources' directories.
    """

    barrier: int
    snapshot: int
    sources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Track:
    """The last barriers that a job has taken, rising."""

    taken: tuple[Taken, ...] = ()

    def last_until(self, barrier: int) -> Taken | None:
        """Return the last one up to a barrier; None if the track begins later."""
        at = bisect_right(self.taken, barrier, key=lambda taken: taken.barrier)
        return self.taken[at - 1] if at else None

    def extended(self, taken: Taken) -> Track:
        """Return the track with one more barrier; it begins anew where other tables are read."""
        known = [t for t in self.taken if t.sources.keys() == taken.sources.keys()]
        earlier = [t for t in known if t.barrier < taken.barrier]
        return Track((*earlier, taken)[-BARRIERS_KEPT:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The last barrier that a view was brought to.

    Attributes:
        barrier: milliseconds since 1970, rising.
        followed: what the rows are the result of at the barrier.
        sink: the state of the view with these rows.
        track: the barriers up to this one.
        diverged: which changes without change tracking the rows lack; None if they lack none.
    """

    barrier: int
    followed: Followed
    sink: SinkState
    track: Track = Track()
    diverged: str | None = None

    def after(self, previous: Progress | None, *, snapshot: int) -> Progress:
        """Return this progress with the track; `snapshot` of the sink has the rows.

        The track goes on from the `previous` progress unless other tables are read.
        """
        taken = Taken(barrier=self.barrier, snapshot=snapshot, sources=self.followed.sources)
        is_same = previous is not None and previous.followed.created == self.followed.created
        track = previous.track if is_same and previous is not None else Track()
        return replace(self, track=track.extended(taken))

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        item = {
            "barrier": self.barrier,
            "sources": dict(self.followed.sources),
            "created": dict(self.followed.created),
            "plan": self.followed.plan,
            "states": {str(node): at for node, at in self.followed.states.items()},
            "areGroupsDear": self.followed.are_groups_dear,
            "commit": self.sink.commit,
            "rollback": self.sink.rollback,
            # The snapshots of the sources are in the order of their directories.
            "track": [
                [taken.barrier, taken.snapshot, *(taken.sources[p] for p in sorted(taken.sources))]
                for taken in self.track.taken
            ],
        }
        if self.followed.emitted_ms is not None:
            item["emitted"] = self.followed.emitted_ms
        if self.diverged is not None:  # an older release does without it
            item["diverged"] = self.diverged
        return to_checked_json(item, version=PROGRESS_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> Progress:
        """Return what `to_bytes` wrote.

        Raises:
            CorruptFileError: it is no progress, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return _parsed(data, path)


def read_progress(file_io: FileIO, location: str, job: str = JOB_OF_VIEW) -> Progress | None:
    """Return how far a job has brought the table in a directory; None if nothing tells.

    Nothing is lost with the file, so one that is damaged is as good as none.

    Raises:
        FormatVersionError: it was written by a newer version.
    """
    path = job_file(location, job, "PROGRESS")
    try:
        return Progress.from_bytes(file_io.read_bytes(path), path=path)
    except MissingFileError:
        return None
    except CorruptFileError as error:
        _log.warning("the snapshots of its table tell in its place: %s", error)
        return None


def write_progress(
    file_io: FileIO, location: str, progress: Progress, job: str = JOB_OF_VIEW
) -> None:
    """Replace the progress of a job whose sink is in a directory."""
    file_io.write_bytes(job_file(location, job, "PROGRESS"), progress.to_bytes())


def note_progress(
    file_io: FileIO, location: str, done: Progress, job: str = JOB_OF_VIEW, *, snapshot: int
) -> None:
    """Note how far a job has come; `snapshot` of the sink has the rows.

    Who comes later than an epoch of the same job for a later barrier, as one that stood still does,
    changes nothing: the barriers that others have read stay. It costs a read and a write.
    """
    known = read_progress(file_io, location, job)
    if known is None or known.barrier <= done.barrier:
        write_progress(file_io, location, done.after(known, snapshot=snapshot), job)


def progress_files(file_io: FileIO, location: str) -> Iterator[Progress]:
    """Yield the progress of each streaming INSERT whose table is in a directory; costs a list.

    What is damaged is left out, as in `read_progress`.

    Raises:
        FormatVersionError: it was written by a newer version.
    """
    for status in file_io.list(join_path(location, JOB_FOLDER)):
        if status.name.startswith("PROGRESS-"):
            with suppress(CorruptFileError, MissingFileError):
                yield Progress.from_bytes(file_io.read_bytes(status.path), path=status.path)


def job_file(location: str, job: str, name: str) -> str:
    """Return the path of a job's file; `location` is the directory of its sink."""
    if job == JOB_OF_VIEW:
        return join_path(location, JOB_FOLDER, name)
    digest = hashlib.sha256(job.encode()).hexdigest()[:16]
    return join_path(location, JOB_FOLDER, f"{name}-{digest}")


@lru_cache(maxsize=64)  # a consistent read looks at the progress of every job of its topology
def _parsed(data: bytes, path: str) -> Progress:
    noun = "job's progress"
    return from_checked_json(data, _from_json, path=path, version=PROGRESS_VERSION, noun=noun)


def _from_json(item: Mapping[str, Any]) -> Progress:
    sources = FrozenMap({path: int(snapshot) for path, snapshot in item["sources"].items()})
    created = FrozenMap({path: int(time_ms) for path, time_ms in item.get("created", {}).items()})
    states = FrozenMap({int(node): int(at) for node, at in item.get("states", {}).items()})
    followed = Followed(
        sources=sources,
        created=created,
        plan=str(item.get("plan", "")),
        states=states,
        are_groups_dear=bool(item.get("areGroupsDear", False)),
        emitted_ms=None if item.get("emitted") is None else int(item["emitted"]),
    )
    track = [
        Taken(
            barrier=int(barrier),
            snapshot=int(snapshot),
            sources=FrozenMap(zip(sorted(sources), map(int, snapshots), strict=True)),
        )
        for barrier, snapshot, *snapshots in item.get("track", ())
    ]
    return Progress(
        barrier=int(item["barrier"]),
        followed=followed,
        sink=SinkState(commit=int(item["commit"]), rollback=int(item["rollback"])),
        track=Track(tuple(track)),
        diverged=None if item.get("diverged") is None else str(item["diverged"]),
    )
