"""Committing to a table: one attempt, and the loop that repeats attempts.

Protocol (seeds 002, "Write Process"; put-if-absent as in Delta's and Paimon's file commits):
read the latest snapshot i, write new manifests, make them durable, then create `snapshot-(i+1)`
only if it is absent. The creation is the commit. Losing the race costs another attempt.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.catalog_lock import TableLock
from table_store.storage.file_store.commit_listener import NO_LISTENER, CommitListener
from table_store.storage.file_store.commit_outcome import Committed, LostRace, NoChange, Unknown
from table_store.storage.file_store.commit_plan import Changes, CommitPlanner, Delta
from table_store.storage.file_store.conflict import Conflict
from table_store.storage.file_store.data_file import CommitMessage
from table_store.storage.file_store.manifest_file import (
    PROCESS_CACHE,
    ManifestCache,
    MetadataReader,
)
from table_store.storage.file_store.manifest_writer import ManifestWriter
from table_store.storage.file_store.retry_policy import RetryPolicy
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.schema_store import SchemaStore
from table_store.storage.file_store.scope import Scope
from table_store.storage.file_store.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from table_store.storage.file_store.snapshot_store import LATEST_HINT, SnapshotStore
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptFileError,
    FileAccessError,
    SnapshotNotFoundError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import IdSource

BATCH_LOOKBACK = 10
"""Snapshots that are searched for an earlier commit of a batch statement which does not say when
it began. More: commits get slower with the length of the history."""


class TableCommit:
    """Commits to one table. Holds no state of the table, so it may live as long as it likes."""

    def __init__(
        self,
        file_io: FileIO,
        table_path: str,
        schema_store: SchemaStore,
        clock: Clock,
        ids: IdSource,
        lock: TableLock | None = None,
        *,
        cache: ManifestCache = PROCESS_CACHE,
        retry: RetryPolicy | None = None,
        listener: CommitListener = NO_LISTENER,
    ) -> None:
        self._table_path = table_path
        self._schemas = schema_store
        self._clock = clock
        self._ids = ids
        self._lock = lock
        self._retry = retry or RetryPolicy()
        self._listener = listener
        self._snapshots = SnapshotStore(file_io, table_path)
        reader = MetadataReader(file_io=file_io, table_path=table_path, cache=cache)
        self._planner = CommitPlanner(reader=reader, snapshots=self._snapshots)
        self._manifests = ManifestWriter(reader=reader, ids=ids)

    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        kind: CommitKind,
        commit_user: str,
        commit_identifier: int = BATCH_IDENTIFIER,
        read_snapshot_id: int | None = None,
        read_scope: Scope | None = None,
        overwrite: Scope | None = None,
        track_changes: bool | None = None,
        operation: str = "WRITE",
        expected_schema_id: int | None = None,
        since_snapshot_id: int | None = None,
        allow_empty: bool = False,
        watermark: int | None = None,
        log_offsets: Mapping[int, int] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Committed | NoChange:
        """Publish the files of `messages` as one new snapshot.

        The same user and identifier never commit twice. Identifiers of one user must ascend, or
        all be `BATCH_IDENTIFIER` with a user name that is used for one statement only.

        Args:
            messages: what writers or compactions hand back; empty for an overwrite by nothing.
            kind: COMPACT for files whose rows were in the table before, with absolute sequences.
            commit_user: who commits.
            commit_identifier: what is committed; see above.
            read_snapshot_id: the snapshot the statement read (0: the empty table). Any later
                commit that changed rows in `read_scope` (default: the whole table; for an
                overwrite: what it replaces) is a conflict. None: nothing was read.
            read_scope: what the statement read.
            overwrite: all files in this scope are deleted too. Files that a compaction has
                replaced meanwhile are deleted in their new form.
            track_changes: whether readers of changes shall see it; None: as the table's option.
            operation: the statement's name, for people.
            expected_schema_id: refuse when the table's schema is another one by now.
            since_snapshot_id: latest snapshot when the statement began (0: none), if known. An
                earlier commit of the same batch statement is looked for in all later ones;
                without it (and without `read_snapshot_id`) in the last `BATCH_LOOKBACK` only.
            allow_empty: make a snapshot even when no file changes (a stream's checkpoint).
            watermark: milliseconds; None keeps the one before.
            log_offsets: by bucket; buckets that are absent keep theirs.
            properties: anything the committer wants to find again.

        Raises:
            CommitConflictError: another commit is in the way; nothing of this one is visible.
            CommitStateUnknownError: the store failed; the commit may or may not be visible.
            FileAccessError: the store refused before publishing; nothing is visible.
        """
        return self._run(
            Changes(
                messages=tuple(messages),
                kind=kind,
                commit_user=commit_user,
                commit_identifier=commit_identifier,
                read_snapshot_id=read_snapshot_id,
                read_scope=read_scope,
                overwrite=overwrite,
                track_changes=track_changes,
                operation=operation,
                expected_schema_id=expected_schema_id,
                allow_empty=allow_empty,
                watermark=watermark,
                log_offsets=log_offsets or FrozenMap(),
                properties=properties or FrozenMap(),
            ),
            since=since_snapshot_id if since_snapshot_id is not None else read_snapshot_id,
        )

    def has_committed(self, commit_user: str, commit_identifier: int) -> bool:
        """Whether the user, whose identifiers ascend, has committed this one or a later one."""
        latest = self._snapshots.latest()
        last = None if latest is None else latest.commit_identifiers.get(commit_user)
        return last is not None and last >= commit_identifier

    def rollback(
        self,
        snapshot_id: int,
        *,
        commit_user: str,
        commit_identifier: int = BATCH_IDENTIFIER,
        track_changes: bool | None = None,
    ) -> Committed | NoChange:
        """Publish a new snapshot whose files are those of `snapshot_id`; history is kept.

        The schema stays the latest one.

        Raises:
            SnapshotNotFoundError: the snapshot does not exist, or expires meanwhile.
            CommitStateUnknownError: see `commit`.
        """
        return self._run(
            Changes(
                messages=(),
                kind=CommitKind.OVERWRITE,
                commit_user=commit_user,
                commit_identifier=commit_identifier,
                rollback_to=snapshot_id,
                allow_empty=self._is_newest_damaged(),
                track_changes=track_changes,
                operation="ROLLBACK",
            ),
            since=None,
        )

    def attempt(
        self, base: Snapshot | None, changes: Changes
    ) -> Committed | NoChange | Conflict | LostRace | Unknown:
        """Try once to publish `changes` as the snapshot after `base`.

        Raises:
            FileAccessError: the store refused before publishing; nothing is visible.
        """
        schema = self._schemas.latest()
        delta = self._planner.plan(base, changes, schema)
        if isinstance(delta, Conflict):
            return delta
        if not (delta.entries.num_rows or changes.allow_empty or delta.content != base):
            return NoChange(snapshot=base)
        if changes.kind is not CommitKind.COMPACT and changes.are_tracked(schema):
            self._listener.before_commit(schema)
        written = self._manifests.write(delta.content, delta.entries, schema)
        snapshot = self._next_snapshot(base, changes, delta, schema, *written.lists)
        try:
            if changes.rollback_to is not None:
                # The last look at it: an expiry waits before it deletes the files.
                self._snapshots.get(changes.rollback_to)
            if self._snapshots.publish(snapshot):
                return Committed(snapshot=snapshot)
        except SnapshotNotFoundError:
            self._manifests.discard(written)
            raise
        except FileAccessError as error:
            if not error.may_have_happened:
                self._manifests.discard(written)
                raise
            return Unknown(reason=error.reason)
        # Not deleted yet: on a store that repeats requests the winner may be ourselves.
        if self._own(self._snapshots.get(snapshot.id), changes):
            return Committed(snapshot=snapshot)
        self._manifests.discard(written)
        return LostRace()

    def _run(self, changes: Changes, *, since: int | None) -> Committed | NoChange:
        outcome = self._outcome(changes, since=since)
        if isinstance(outcome, Committed):
            schema = self._schemas.get(outcome.snapshot.schema_id)
            self._listener.on_commit(outcome.snapshot, schema)
        return outcome

    def _outcome(self, changes: Changes, *, since: int | None) -> Committed | NoChange:
        latest = self._base(changes)
        done = self._earlier_commit(latest, changes, since)
        if done is not None:
            return done
        unknown: Unknown | None = None
        for number in range(self._retry.max_retries + 1):
            base = latest
            result = self._attempt_locked(base, changes)
            if isinstance(result, Committed | NoChange):
                return result
            if isinstance(result, Conflict):
                raise self._conflict_error(result)
            if isinstance(result, Unknown):
                unknown = result
            self._clock.sleep_ms(
                self._retry.wait_ms(number, zlib.crc32(self._ids.unique().encode()))
            )
            try:
                latest = self._base(changes)
                own = self._find_own(latest, changes, 0 if base is None else base.id)
            except TableStoreError as error:
                raise self._unknown_error(changes, unknown, str(error)) from error
            if own is not None:
                # Its name may not be durable yet: this write synchronises the same folder.
                self._snapshots.write_hint(LATEST_HINT, own.id, durable=True)
                return Committed(snapshot=own)
        if unknown is not None:
            raise self._unknown_error(changes, unknown, unknown.reason)
        raise self._conflict_error(
            Conflict(
                reason=f"others committed first in all {self._retry.max_retries + 1} attempts",
                snapshot=latest,
            )
        )

    def _is_newest_damaged(self) -> bool:
        try:
            self._snapshots.latest()
        except CorruptFileError:
            return True
        return False

    def _base(self, changes: Changes) -> Snapshot | None:
        """Return what the next snapshot follows.

        For a rollback, which leads out of damage, that is the newest snapshot that can be read,
        under the id of the newest.
        """
        newest = self._snapshots.latest_id()
        if newest is None:
            return None
        for snapshot_id in range(newest, 0, -1):
            try:
                return replace(self._snapshots.get(snapshot_id), id=newest)
            except CorruptFileError:
                if changes.rollback_to is None:
                    raise
        return None

    def _attempt_locked(
        self, base: Snapshot | None, changes: Changes
    ) -> Committed | NoChange | Conflict | LostRace | Unknown:
        if self._lock is None:
            return self.attempt(base, changes)
        return self._lock.run(lambda: self.attempt(base, changes))

    def _earlier_commit(
        self, latest: Snapshot | None, changes: Changes, since: int | None
    ) -> Committed | NoChange | None:
        """Return the outcome when this user and identifier have committed before."""
        if latest is None:
            return None
        if changes.commit_identifier != BATCH_IDENTIFIER:
            last = latest.commit_identifiers.get(changes.commit_user)
            if last is None or last < changes.commit_identifier:
                return None
            since = 0
        elif since is None:
            since = max(0, latest.id - BATCH_LOOKBACK)
        own = self._find_own(latest, changes, since)
        if own is not None:
            return Committed(snapshot=own, repeated=True)
        if changes.commit_identifier != BATCH_IDENTIFIER:
            return NoChange(snapshot=latest)
        return None

    def _find_own(
        self, latest: Snapshot | None, changes: Changes, after_id: int
    ) -> Snapshot | None:
        if latest is None or latest.id <= after_id:
            return None
        if self._own(latest, changes):
            return latest
        for snapshot_id in range(latest.id - 1, after_id, -1):
            try:
                snapshot = self._snapshots.get(snapshot_id)
            except SnapshotNotFoundError:
                return None
            except CorruptFileError:
                continue  # whoever wrote it: a rollback has passed over it
            if self._own(snapshot, changes):
                return snapshot
        return None

    @staticmethod
    def _own(snapshot: Snapshot, changes: Changes) -> bool:
        return (snapshot.commit_user, snapshot.commit_identifier) == (
            changes.commit_user,
            changes.commit_identifier,
        )

    def _next_snapshot(
        self,
        base: Snapshot | None,
        changes: Changes,
        delta: Delta,
        schema: TableSchema,
        base_list: str,
        delta_list: str,
    ) -> Snapshot:
        number = 1 if base is None else base.id + 1
        offsets = FrozenMap() if base is None else base.log_offsets
        last_rollback = 0 if base is None else base.last_rollback
        watermark = changes.watermark
        if watermark is None and base is not None:
            watermark = base.watermark
        return Snapshot(
            id=number,
            schema_id=schema.id,
            base_manifest_list=base_list,
            delta_manifest_list=delta_list,
            commit_user=changes.commit_user,
            commit_identifier=changes.commit_identifier,
            commit_kind=changes.kind,
            # Never before the snapshot it follows, so that time travel can search by halves.
            time_ms=max(self._clock.now_ms(), 0 if base is None else base.time_ms),
            log_offsets={**offsets, **self._listener.log_offsets(schema), **changes.log_offsets},
            total_record_count=delta.total_record_count,
            delta_record_count=delta.record_count,
            next_sequence=delta.next_sequence,
            change_tracking=changes.are_tracked(schema),
            watermark=watermark,
            operation=changes.operation,
            commit_identifiers=Snapshot.identifiers_after(
                base, changes.commit_user, changes.commit_identifier
            ),
            last_rollback=last_rollback if changes.rollback_to is None else number,
            properties=changes.properties,
        )

    def _conflict_error(self, conflict: Conflict) -> CommitConflictError:
        other = conflict.snapshot
        return CommitConflictError(
            table=self._table_path,
            snapshot_id=None if other is None else other.id,
            commit_user=None if other is None else other.commit_user,
            operation=None if other is None else other.operation,
            reason=conflict.reason,
        )

    def _unknown_error(
        self, changes: Changes, unknown: Unknown | None, reason: str
    ) -> TableStoreError:
        return CommitStateUnknownError(
            table=self._table_path,
            commit_user=changes.commit_user,
            commit_identifier=changes.commit_identifier,
            reason=reason if unknown is None else unknown.reason,
        )
