"""One version of a table: which manifests hold its files, who committed it, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.frozen_map import FrozenMap

SNAPSHOT_VERSION: Final = 2
"""Format version of the snapshot file; see storage/FORMAT.md."""

BATCH_IDENTIFIER: Final = 2**63 - 1
"""Commit identifier of a statement that commits once, under a commit user of its own."""


ROLLBACK_TO: Final = "rollback.to"
"""Property of a rollback's snapshot: the id of the snapshot whose rows it brought back."""

COMMIT_USERS_MAX: Final = 1000
"""Most users with ascending identifiers that a snapshot remembers; it forgets the user first that
has been silent longest."""


class CommitKind(StrEnum):
    """How a commit changed the files; these names are on disk."""

    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    COMPACT = "COMPACT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The table after commit `id`; ids count from 1 without gaps.

    The live files are those of the base manifest list (the snapshot before) changed by the delta
    manifest list (this commit). Counts are of stored rows, deletions included.
    `commit_identifiers` holds the last identifier of each user with ascending identifiers (a
    stream), so that it outlives the snapshot of that commit. `last_rollback` is the id of the
    newest snapshot up to this one that brought back files of an older one, 0 if none did.
    """

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_ms: int
    log_offsets: Mapping[int, int] = field(default_factory=FrozenMap)
    total_record_count: int
    delta_record_count: int
    next_sequence: int
    change_tracking: bool = True
    watermark: int | None = None
    operation: str = "WRITE"
    commit_identifiers: Mapping[str, int] = field(default_factory=FrozenMap)
    last_rollback: int = 0
    properties: Mapping[str, str] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        for name in ("log_offsets", "commit_identifiers", "properties"):
            if not isinstance(getattr(self, name), FrozenMap):
                object.__setattr__(self, name, FrozenMap(getattr(self, name)))

    @staticmethod
    def identifiers_after(base: Snapshot | None, user: str, identifier: int) -> Mapping[str, int]:
        """Return the `commit_identifiers` of the commit that follows `base`."""
        users = {} if base is None else dict(base.commit_identifiers)
        if identifier != BATCH_IDENTIFIER:
            users.pop(user, None)
            users[user] = identifier
        return FrozenMap(list(users.items())[-COMMIT_USERS_MAX:])

    def to_bytes(self) -> bytes:
        """Return the content of the snapshot file; `from_bytes` is its inverse."""
        item = {
            "id": self.id,
            "schemaId": self.schema_id,
            "baseManifestList": self.base_manifest_list,
            "deltaManifestList": self.delta_manifest_list,
            "commitUser": self.commit_user,
            # It is a text because JavaScript and jq cannot hold 2^63 - 1 as a number.
            "commitIdentifier": str(self.commit_identifier),
            "commitKind": self.commit_kind.value,
            "timeMillis": self.time_ms,
            "logOffsets": {str(b): offset for b, offset in self.log_offsets.items()},
            "totalRecordCount": self.total_record_count,
            "deltaRecordCount": self.delta_record_count,
            "nextSequence": self.next_sequence,
            "changeTracking": self.change_tracking,
            "watermark": self.watermark,
            "operation": self.operation,
            "commitIdentifiers": dict(self.commit_identifiers),
            "lastRollback": self.last_rollback,
            "properties": dict(self.properties),
        }
        return to_checked_json(item, version=SNAPSHOT_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str = "snapshot") -> Snapshot:
        """Return the snapshot that `to_bytes` wrote; `path` only names the file in errors.

        Raises:
            CorruptFileError: it is not a snapshot, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data, _snapshot, path=path, version=SNAPSHOT_VERSION, noun="snapshot"
        )


def _snapshot(item: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        id=int(item["id"]),
        schema_id=int(item["schemaId"]),
        base_manifest_list=str(item["baseManifestList"]),
        delta_manifest_list=str(item["deltaManifestList"]),
        commit_user=str(item["commitUser"]),
        commit_identifier=int(item["commitIdentifier"]),
        commit_kind=CommitKind(item["commitKind"]),
        time_ms=int(item["timeMillis"]),
        log_offsets=FrozenMap((int(b), int(o)) for b, o in item["logOffsets"].items()),
        total_record_count=int(item["totalRecordCount"]),
        delta_record_count=int(item["deltaRecordCount"]),
        next_sequence=int(item["nextSequence"]),
        change_tracking=bool(item["changeTracking"]),
        watermark=None if item["watermark"] is None else int(item["watermark"]),
        operation=str(item["operation"]),
        commit_identifiers=FrozenMap(item["commitIdentifiers"]),
        last_rollback=int(item["lastRollback"]),
        properties=FrozenMap(item["properties"]),
    )
