"""What a commit changes in the snapshot that it is to follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.commit.conflict import (
    Conflict,
    LaterCommit,
    data_changed,
    files_gone,
)
from table_store.storage.file_store.commit.prepared_files import added_before
from table_store.storage.file_store.metadata.live_files import read_delta, read_live_files
from table_store.storage.file_store.metadata.manifest_entry import (
    FileKind,
    concat_entries,
    entries_from_files,
)
from table_store.storage.file_store.metadata.manifest_file import MetadataReader
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.metadata.watermark import with_carried
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.kernel.errors import CorruptFileError, FormatVersionError, MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import CHANGE_TRACKING, TABLE_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything a commit is asked to do; see `TableCommit.commit` for the meaning.

    The snapshot's id is greater than `lost_id`. Files of the messages may have been committed after
    the snapshot `prepared_id`; None: they surely have not.
    """

    messages: tuple[CommitMessage, ...]
    kind: CommitKind
    commit_user: str
    commit_identifier: int
    prepared_id: int | None = None
    previous_identifier: int | None = None
    read_snapshot_id: int | None = None
    read_scope: Scope | None = None
    overwrite: Scope | None = None
    rollback_to: Snapshot | None = None
    lost_id: int = 0
    track_changes: bool | None = None
    operation: str = "WRITE"
    expected_schema_id: int | None = None
    allow_empty: bool = False
    log_offsets: Mapping[int, int] = field(default_factory=FrozenMap)
    properties: Mapping[str, str] = field(default_factory=FrozenMap)

    def made(self, snapshot: Snapshot) -> bool:
        """Return whether the commit of these changes has made the snapshot."""
        return (snapshot.commit_user, snapshot.commit_identifier) == (
            self.commit_user,
            self.commit_identifier,
        )

    @property
    def goes_back(self) -> bool:
        """Whether they may bring back files that a snapshot in between did not have."""
        return self.rollback_to is not None or self.lost_id > 0

    @property
    def is_fence(self) -> bool:
        """Whether they change no row and no file: the snapshot only comes after those before it."""
        is_empty = not self.messages and self.overwrite is None and self.rollback_to is None
        return is_empty and self.kind is CommitKind.COMPACT

    def have_seen(self, schema_id: int) -> bool:
        """Whether something was written, or read, when the table had this schema already."""
        ids = [f.schema_id for message in self.messages for f in message.added]
        return max(*ids, self.expected_schema_id or 0, 0) >= schema_id

    def last_identifier(self, base: Snapshot | None) -> int:
        """Return that of the user's last commit up to a snapshot; 0 if there is none."""
        return 0 if base is None else base.commit_identifiers.get(self.commit_user, 0)

    def are_tracked(self, schema: TableSchema) -> bool:
        """Return whether readers of changes shall see the commit."""
        if self.track_changes is not None:
            return self.track_changes
        return TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE).get(CHANGE_TRACKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """Entries of a commit (deletions first) and the sequence number after it.

    `content` is the snapshot that the entries change: the one before, or, for a rollback from
    damaged metadata, the target of the rollback.
    """

    entries: pa.Table
    next_sequence: int
    content: Snapshot | None

    @property
    def record_count(self) -> int:
        """Number of stored rows that are added, less those that are deleted."""
        rows = self.entries["row_count"].to_numpy()
        added = self.entries["kind"].to_numpy() == FileKind.ADD
        return int(rows[added].sum() - rows[~added].sum())

    @property
    def total_record_count(self) -> int:
        """Stored rows of the table after the commit."""
        return self.record_count + (0 if self.content is None else self.content.total_record_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlanner:
    """Decides what a commit writes, and reads what it needs for that.

    An append reads only what was committed since its messages were prepared.
    """

    reader: MetadataReader
    snapshots: SnapshotStore
    tags: Tags

    def plan(
        self, base: Snapshot | None, changes: Changes, schema: TableSchema
    ) -> Delta | Conflict:
        """Return what to write after `base`, or why it may not follow it.

        Raises:
            CorruptFileError: metadata of the table is damaged.
            MissingFileError: metadata of the table is gone.
        """
        if changes.previous_identifier not in (None, changes.last_identifier(base)):
            return Conflict(reason="the same user has committed meanwhile", snapshot=base)
        if changes.expected_schema_id not in (None, schema.id):
            return Conflict(
                reason=f"the table's schema changed from {changes.expected_schema_id} to "
                f"{schema.id} while the statement ran"
            )
        conflict, later = self._check_reads(base, changes, schema)
        if conflict is not None:
            return conflict
        first_sequence = 1 if base is None else base.next_sequence
        twice = self._check_added(base, changes, schema)
        if isinstance(twice, Conflict):
            return twice
        if twice:
            entries = entries_from_files(schema)
            return Delta(entries=entries, next_sequence=first_sequence, content=base)
        if changes.rollback_to is not None:
            entries, content = self._rolled_back(base, changes.rollback_to, schema)
            entries = with_carried(schema, entries)
            return Delta(entries=entries, next_sequence=first_sequence, content=content)
        removed = self._removed_entries(base, changes, schema, later)
        if isinstance(removed, Conflict):
            return removed
        added = [f for message in changes.messages for f in message.added]
        next_sequence = first_sequence
        if changes.kind is not CommitKind.COMPACT and added:
            # Every file of the statement is newer than all files before it.
            next_sequence += 1 + max(f.max_sequence for f in added)
            added = [f.shifted(first_sequence) for f in added]
        entries = concat_entries([removed, entries_from_files(schema, added=added)])
        entries = with_carried(schema, entries)
        return Delta(entries=entries, next_sequence=next_sequence, content=base)

    def _check_reads(
        self, base: Snapshot | None, changes: Changes, schema: TableSchema
    ) -> tuple[Conflict | None, tuple[LaterCommit, ...]]:
        read_id = changes.read_snapshot_id
        if read_id is None or base is None or base.id <= read_id:
            return None, ()
        try:
            later = self._later(read_id, base, schema)
        except SnapshotNotFoundError:
            return Conflict(reason="snapshots between its read and its commit have expired"), ()
        if changes.kind is CommitKind.COMPACT:
            return None, later
        scopes = [s for s in (changes.read_scope, changes.overwrite) if s is not None]
        for scope in scopes or [WHOLE_TABLE]:
            conflict = data_changed(later, scope, schema)
            if conflict is not None:
                return conflict, later
        return None, later

    def _check_added(
        self, base: Snapshot | None, changes: Changes, schema: TableSchema
    ) -> Conflict | bool:
        """Return whether the files have been added before, by a commit that has expired."""
        added = [file.name for message in changes.messages for file in message.added]
        if changes.prepared_id is None or base is None or base.id <= changes.prepared_id:
            return False
        try:
            later = self._later(changes.prepared_id, base, schema)
        except SnapshotNotFoundError:
            live = read_live_files(self.reader, base, schema).entries["name"]
            return bool(added) and set(added) <= set(live.to_pylist())
        return added_before(changes.messages, later) or False

    def _later(self, read_id: int, base: Snapshot, schema: TableSchema) -> tuple[LaterCommit, ...]:
        """Return the commits after a snapshot up to `base`."""
        snapshots = (*self.snapshots.between(read_id + 1, base.id - 1), base)
        return tuple(
            LaterCommit(snapshot=s, entries=read_delta(self.reader, s, schema)) for s in snapshots
        )

    def _removed_entries(
        self,
        base: Snapshot | None,
        changes: Changes,
        schema: TableSchema,
        later: tuple[LaterCommit, ...],
    ) -> pa.Table | Conflict:
        names = [f.name for message in changes.messages for f in message.removed]
        if not names and changes.overwrite is None:
            return entries_from_files(schema)
        live = read_live_files(self.reader, base, schema)
        conflict = files_gone(names, live.entries, later)
        if conflict is not None:
            return conflict
        mask = np.zeros(live.file_count, dtype=np.bool_)
        if names:
            mask |= pc.is_in(live.entries["name"], pa.array(names)).to_numpy()
        if changes.overwrite is not None:
            mask |= changes.overwrite.mask(live.entries, schema)
        return with_kind(live.select(mask).entries, FileKind.DELETE)

    def _rolled_back(
        self, base: Snapshot | None, snapshot: Snapshot, schema: TableSchema
    ) -> tuple[pa.Table, Snapshot | None]:
        """Return entries and the snapshot that they change."""
        self.tags.snapshot(snapshot.id)  # it is pinned, and was still kept then
        target = read_live_files(self.reader, snapshot, schema).entries
        try:
            now = read_live_files(self.reader, base, schema).entries
        except (CorruptFileError, MissingFileError, FormatVersionError):
            # People roll back from damage, but then nobody can tell what the rollback changes.
            return entries_from_files(schema), snapshot
        # A file that has moved to another level since counts as changed, too.
        keep_now = _keys_in(now, target)
        keep_target = _keys_in(target, now)
        changed = concat_entries(
            [
                with_kind(now.filter(pc.invert(keep_now)), FileKind.DELETE),
                with_kind(target.filter(pc.invert(keep_target)), FileKind.ADD),
            ]
        )
        return changed, base


def with_kind(entries: pa.Table, kind: FileKind) -> pa.Table:
    """Return the entries with this kind in each."""
    column = pa.repeat(pa.scalar(kind.value, pa.int8()), entries.num_rows)
    return entries.set_column(entries.schema.get_field_index("kind"), "kind", column)


def _keys_in(entries: pa.Table, others: pa.Table) -> pa.Array:
    """Return for each entry whether `others` has the same file at the same level."""
    return pc.is_in(_file_at_level(entries), _file_at_level(others).combine_chunks())


def _file_at_level(entries: pa.Table) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(entries["name"], pc.cast(entries["level"], pa.string()), "@")
