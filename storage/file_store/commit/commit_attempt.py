"""One attempt to commit: plan against a snapshot, write manifests, publish the next snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from table_store.storage.file_store.commit.commit_listener import CommitListener
from table_store.storage.file_store.commit.commit_outcome import (
    Committed,
    LostRace,
    NoChange,
    Unknown,
)
from table_store.storage.file_store.commit.commit_plan import Changes, CommitPlanner, Delta
from table_store.storage.file_store.commit.conflict import Conflict
from table_store.storage.file_store.metadata.manifest_entry import FileKind, files_from_entries
from table_store.storage.file_store.metadata.manifest_writer import ManifestWriter, WrittenManifests
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import Publication, SnapshotStore
from table_store.storage.file_store.metadata.watermark import latest_of, watermark_of
from table_store.storage.file_store.model.errors import TableMovedError
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.row_rules import added_rule
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import FileAccessError, MissingFileError, TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAttempt:
    """Tries to publish changes as the snapshot after a given one."""

    schemas: SchemaStore
    snapshots: SnapshotStore
    planner: CommitPlanner
    manifests: ManifestWriter
    listener: CommitListener
    clock: Clock

    def run(
        self, base: Snapshot | None, changes: Changes
    ) -> Committed | NoChange | Conflict | LostRace | Unknown:
        """Try once to publish `changes` as the snapshot after `base`.

        Raises:
            TableMovedError: another table has the place of this one.
            FileAccessError: the store refused before publishing; nothing is visible.
        """
        try:
            return self._run(base, changes)
        except MissingFileError:
            # The base has expired, manifests and all, so another commit came after it.
            if base is not None and self.snapshots.has_expired(base.id):
                return LostRace()
            raise

    def _run(
        self, base: Snapshot | None, changes: Changes
    ) -> Committed | NoChange | Conflict | LostRace | Unknown:
        schema = self._schema(changes)
        delta = self.planner.plan(base, changes, schema)
        if isinstance(delta, Conflict):
            return delta
        if not (delta.entries.num_rows or changes.allow_empty or delta.content != base):
            return NoChange(snapshot=base)
        rule = self._missed_rule(changes, schema)
        if rule is not None:
            return Conflict(reason=f"its rows were written before the table had {rule}")
        lost = self._lost_file(changes, delta, schema)
        if lost is not None:
            return Conflict(reason=f"data file {lost!r}, which it adds, was deleted as an orphan")
        if changes.kind is not CommitKind.COMPACT and changes.are_tracked(schema):
            self.listener.before_commit(schema)
        written = self.manifests.write(delta.content, delta.entries, schema)
        snapshot = self._next_snapshot(base, changes, delta, schema, written)
        outcome = self._published(snapshot, changes, written)
        if isinstance(outcome, LostRace):
            self.manifests.discard(written)
        return outcome

    def _schema(self, changes: Changes) -> TableSchema:
        """Return the latest schema under which the changes can be committed."""
        schema = self.schemas.latest()
        while schema.successor is not None and not changes.is_fence:
            if schema.successor.snapshot_id is not None or changes.have_seen(schema.id):
                raise TableMovedError(
                    table=self.planner.reader.table_path, location=schema.successor.location
                )
            schema = self.schemas.get(schema.id - 1)
        return schema

    def _published(
        self, snapshot: Snapshot, changes: Changes, written: WrittenManifests
    ) -> Committed | LostRace | Unknown:
        try:
            publication = self.snapshots.publish(snapshot)
        except FileAccessError as error:
            if error.may_have_happened:
                return Unknown(snapshot_id=snapshot.id, reason=error.reason)
            self.manifests.discard(written)
            raise
        match publication:
            case Publication.PUBLISHED:
                return Committed(snapshot=snapshot)
            case Publication.UNCLEAR:
                return Unknown(snapshot_id=snapshot.id, reason=publication.value)
        # If the store repeats requests, the snapshot that is in the way may be this one.
        try:
            is_own = changes.made(self.snapshots.get(snapshot.id))
        except TableStoreError as error:
            return Unknown(snapshot_id=snapshot.id, reason=str(error))
        return Committed(snapshot=snapshot) if is_own else LostRace()

    def _missed_rule(self, changes: Changes, schema: TableSchema) -> str | None:
        """Return a rule of the table that rows of the commit need not satisfy."""
        if changes.kind is CommitKind.COMPACT:
            return None
        ids = {f.schema_id for message in changes.messages for f in message.added}
        if changes.rollback_to is not None:
            ids = {changes.rollback_to.schema_id}
        missed = (added_rule(self.schemas.get(i), schema) for i in sorted(ids) if i != schema.id)
        return next((rule for rule in missed if rule is not None), None)

    def _lost_file(self, changes: Changes, delta: Delta, schema: TableSchema) -> str | None:
        """Return the path of a data file that the commit would add but that does not exist."""
        if changes.rollback_to is None:
            files = [f for message in changes.messages for f in message.added]
        else:
            added = pa.array(delta.entries["kind"].to_numpy() == FileKind.ADD)
            files = list(files_from_entries(delta.entries.filter(added), schema))
        reader = self.planner.reader
        paths = [data_file_path(reader.table_path, schema.partition_keys, f) for f in files]
        return next(iter(reader.file_io.missing(paths)), None)

    def _next_snapshot(
        self,
        base: Snapshot | None,
        changes: Changes,
        delta: Delta,
        schema: TableSchema,
        written: WrittenManifests,
    ) -> Snapshot:
        base_list, delta_list = written.lists
        number = 1 + max(changes.lost_id, 0 if base is None else base.id)
        offsets = FrozenMap() if base is None else base.log_offsets
        last_rollback = 0 if base is None else base.last_rollback
        # The watermark never goes back, whatever is deleted or rolled back.
        watermark = None if base is None else base.watermark
        if changes.kind is not CommitKind.COMPACT:
            watermark = latest_of(watermark, watermark_of(schema, changes.messages))
        return Snapshot(
            id=number,
            schema_id=schema.id,
            base_manifest_list=base_list,
            delta_manifest_list=delta_list,
            commit_user=changes.commit_user,
            commit_identifier=changes.commit_identifier,
            commit_kind=changes.kind,
            # Times never go back from one snapshot to the next, so that time travel can bisect.
            time_ms=max(self.clock.now_ms(), 0 if base is None else base.time_ms),
            log_offsets={**offsets, **self.listener.log_offsets(schema), **changes.log_offsets},
            total_record_count=delta.total_record_count,
            delta_record_count=delta.record_count,
            next_sequence=delta.next_sequence,
            change_tracking=changes.are_tracked(schema),
            watermark=watermark,
            operation=changes.operation,
            commit_identifiers=Snapshot.identifiers_after(
                base, changes.commit_user, changes.commit_identifier
            ),
            last_rollback=number if changes.goes_back else last_rollback,
            properties=changes.properties,
        )
