"""The identity of a commit without a name: the files that its messages add and remove.

Names of data files are unique over all machines. So the same messages are the same commit, in
whatever process and however often they are committed, and other messages are another one.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.commit.conflict import Conflict, LaterCommit
from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.snapshot import CommitKind

_NAMESPACE: Final = uuid.UUID("5f0c1f0e-6d0b-4a52-9d0d-4f7e2f1f7c11")
"""Chosen at random; with another one, a commit is not found by the retry of an older release."""


def commit_user_of(messages: Sequence[CommitMessage], kind: CommitKind) -> str | None:
    """Return the commit user of messages that no user has named; None if they hold no file."""
    added = sorted(f"+{file.name}" for message in messages for file in message.added)
    removed = sorted(f"-{file.name}" for message in messages for file in message.removed)
    if not added and not removed:
        return None
    return str(uuid.uuid5(_NAMESPACE, "\n".join([kind.value, *added, *removed])))


def prepared_after(messages: Sequence[CommitMessage]) -> int | None:
    """Return the snapshot (0: none) before which no message was committed; None: not known."""
    known = [m.since_snapshot_id for m in messages if m.since_snapshot_id is not None]
    return min(known) if known and len(known) == len(messages) else None


def added_before(
    messages: Sequence[CommitMessage], later: Sequence[LaterCommit]
) -> Conflict | None:
    """Return a conflict if one of the commits has added a file of the messages, else None."""
    names = pa.array([file.name for message in messages for file in message.added], pa.string())
    for commit in later:
        if commit.snapshot.commit_kind is CommitKind.COMPACT or not commit.entries.num_rows:
            continue
        added = commit.entries.filter(pc.equal(commit.entries["kind"], FileKind.ADD.value))["name"]
        twice = names.filter(pc.is_in(names, added))
        if len(twice):
            return Conflict(
                reason=f"data file {twice[0].as_py()!r}, which this commit adds, has been "
                "committed together with other files. Commit each message once",
                snapshot=commit.snapshot,
            )
    return None
