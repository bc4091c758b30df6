"""Finds lost and damaged snapshots of a table, and mends the table."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.row_rules import added_rule
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import CorruptFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is wrong with the snapshots of a table, and how it goes on without them.

    No id is given out again, because readers, tags and logs know the lost snapshots by theirs.

    Attributes:
        lost: ids whose files are gone, rising.
        damaged: ids whose files cannot be read, rising.
        newest: what the table goes on with; None is a table without rows.
        is_newest_gone: whether the newest one is lost or damaged.
        last_id: the last id that was given out to what expires.
    """

    table: FileStoreTable
    lost: tuple[int, ...]
    damaged: tuple[int, ...]
    newest: Snapshot | None
    is_newest_gone: bool
    last_id: int

    @property
    def problem(self) -> str:
        """What is wrong, for people."""
        kinds = (("lost", self.lost), ("damaged", self.damaged))
        return "; ".join(
            f"{kind} snapshots: {', '.join(map(str, ids))}" for kind, ids in kinds if ids
        )

    @property
    def path(self) -> str:
        """The file of the last snapshot that is lost or damaged."""
        return self.table.snapshot_store.path(max((*self.lost, *self.damaged)))

    @property
    def action(self) -> str:
        """What `run` does, for people."""
        if not self.is_newest_gone:
            return f"snapshots before {self.last_id + 1} expire; the rows of the table stay"
        return (
            f"goes on with {self._content}, committed anew; what was committed since is given up, "
            "and the snapshots before the new one expire"
        )

    @property
    def _content(self) -> str:
        if self.newest is None:
            return "an empty table"
        schemas = self.table.schema_store
        rule = added_rule(schemas.get(self.newest.schema_id), schemas.latest())
        unchecked = "" if rule is None else f", whose rows need not satisfy {rule}"
        return f"snapshot {self.newest.id}{unchecked}"

    def run(self) -> None:
        """Mend the table; if that is cut off, the next repair goes on.

        Raises:
            CorruptFileError, MissingFileError: manifests of `newest` are damaged or gone, too.
            FileAccessError, CommitStateUnknownError: the store refused.
        """
        if self.is_newest_gone:
            user = self.table.ids.unique()
            self.table.committer().renew(self.newest, lost_id=self.last_id, commit_user=user)
        self.table.snapshot_store.expire_before(self.last_id + 1)


def find_repair(table: FileStoreTable) -> Repair | None:
    """Return what is wrong with a table's snapshots; None if nothing is. It reads each of them.

    Each snapshot names all files of its table, so if one in the middle is lost or damaged, only
    the history up to it is given up. Rows are given up only if that is the newest one.

    Raises:
        CorruptFileError: a tag or consumer is damaged, so that nobody knows which ids there were.
        FormatVersionError: a newer version wrote a snapshot.
        FileAccessError: the store refused.
    """
    snapshots = table.snapshot_store
    # Notes are read before the snapshots, so that one that is committed meanwhile is not lost.
    tagged = [tag.snapshot for tag in table.tags.all()]
    read_ids = [consumer.next_snapshot_id - 1 for consumer in table.consumers.known()]
    lost = snapshots.lost_ids(max((snapshots.known_id(), *(s.id for s in tagged))))
    whole, damaged = _read(snapshots)
    gone = {*lost, *damaged}
    if not gone:
        return None
    is_newest_gone = all(snapshot.id < max(gone) for snapshot in whole)
    return Repair(
        table=table,
        lost=lost,
        damaged=damaged,
        newest=max(
            (*whole, *(snapshot for snapshot in tagged if snapshot.id in gone)),
            key=lambda snapshot: snapshot.id,
            default=None,
        ),
        is_newest_gone=is_newest_gone,
        # People may say of a consumer that it has read what never was, which is no loss.
        last_id=max((*gone, *read_ids)) if is_newest_gone else max(gone),
    )


def _read(snapshots: SnapshotStore) -> tuple[tuple[Snapshot, ...], tuple[int, ...]]:
    """Return the snapshots that can be read, and the ids of those that are damaged."""
    whole: list[Snapshot] = []
    damaged: list[int] = []
    for snapshot_id in snapshots.ids():
        try:
            whole.append(snapshots.get(snapshot_id))
        except SnapshotNotFoundError:
            continue  # it has expired meanwhile
        except CorruptFileError:
            damaged.append(snapshot_id)
    return tuple(whole), tuple(damaged)
