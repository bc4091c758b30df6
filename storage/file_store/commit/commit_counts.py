"""Counts of the commits of this process, for whoever watches it."""

from __future__ import annotations

from typing import Final

from table_store.storage.file_store.commit.commit_plan import Changes
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.kernel.counter import Counter

CONFLICTS: Final = Counter("commit_conflicts")
LOST_RACES: Final = Counter("commit_lost_races")
_COMMITS: Final = Counter("commits")
_FILES: Final = Counter("committed_files")
_BYTES: Final = Counter("committed_bytes")
_ROWS: Final = Counter("committed_rows")
_COMPACTIONS: Final = Counter("compactions")
_COMPACTED_FILES: Final = Counter("compacted_files")
_COMPACTED_BYTES: Final = Counter("compacted_bytes")


def count_published(changes: Changes) -> None:
    """Count a commit; a compaction apart, by what it replaced, for its rows were counted before."""
    if changes.kind is CommitKind.COMPACT:
        gone = [file for message in changes.messages for file in message.removed]
        _COMPACTIONS.add()
        _COMPACTED_FILES.add(len(gone))
        _COMPACTED_BYTES.add(sum(file.size_bytes for file in gone))
        return
    new = [file for message in changes.messages for file in message.added]
    _COMMITS.add()
    _FILES.add(len(new))
    _BYTES.add(sum(file.size_bytes for file in new))
    _ROWS.add(sum(file.row_count for file in new))
