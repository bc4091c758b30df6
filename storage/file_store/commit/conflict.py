"""Pure rules that say when a commit must not follow the commits before it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.manifest_entry import FileKind
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterCommit:
    """A commit that happened after our statement began to read, with its entries."""

    snapshot: Snapshot
    entries: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why a commit is refused, and the other commit, or None if that is not known any more."""

    reason: str
    snapshot: Snapshot | None = None


def data_changed(
    later: Sequence[LaterCommit], scope: Scope, schema: TableSchema
) -> Conflict | None:
    """Return a conflict when a later commit changed rows in `scope`, else None.

    Compactions move rows and change none, so they do not count.
    """
    for commit in later:
        if commit.snapshot.commit_kind is CommitKind.COMPACT or not commit.entries.num_rows:
            continue
        if scope.mask(commit.entries, schema).any():
            return Conflict(
                reason="it changed rows in the partitions and buckets that this statement read "
                "or replaces",
                snapshot=commit.snapshot,
            )
    return None


def files_gone(
    removed: Collection[str], live: pa.Table, later: Sequence[LaterCommit]
) -> Conflict | None:
    """Return a conflict when a file to delete is not live any more, else None."""
    wanted = pa.array(removed, pa.string())
    gone = wanted.filter(pc.invert(pc.is_in(wanted, live["name"])))
    if not len(gone):
        return None
    culprit = next((c.snapshot for c in reversed(later) if _deletes(c.entries, gone)), None)
    return Conflict(
        reason=f"data file {gone[0].as_py()!r}, which this commit replaces, is gone",
        snapshot=culprit,
    )


def _deletes(entries: pa.Table, names: pa.Array) -> bool:
    if not entries.num_rows:
        return False
    deleted = entries.filter(pc.equal(entries["kind"], FileKind.DELETE.value))["name"]
    return bool(pc.any(pc.is_in(deleted, pa.chunked_array([names]))).as_py())
