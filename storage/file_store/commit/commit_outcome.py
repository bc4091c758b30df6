"""The outcome of a commit, or of one attempt at it."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.storage.file_store.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The commit is durable and visible; `repeated` says that an earlier call had made it."""

    snapshot: Snapshot
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChange:
    """There was nothing to commit, or it was committed earlier and its snapshot has expired."""

    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class LostRace:
    """Another commit took the snapshot id; nothing is left of this attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Nobody knows whether the attempt has become, or will become, snapshot `snapshot_id`."""

    snapshot_id: int
    reason: str
