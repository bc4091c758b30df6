"""Committing to a table: one attempt, and the loop that repeats attempts.

Protocol (seeds 002, "Write Process"; put-if-absent as in Delta's and Paimon's file commits):
read the latest snapshot i, write new manifests, make them durable, create `snapshot-(i+1)` only if
it is absent, and see that i+1 has not expired meanwhile. The creation is the commit. Losing the
race costs another attempt. tests/property/test_commit_protocol.py is the proof.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.commit.commit_attempt import CommitAttempt
from table_store.storage.file_store.commit.commit_counts import (
    CONFLICTS,
    LOST_RACES,
    count_published,
)
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER, CommitListener
from table_store.storage.file_store.commit.commit_outcome import (
    Committed,
    LostRace,
    NoChange,
    Unknown,
)
from table_store.storage.file_store.commit.commit_plan import Changes, CommitPlanner
from table_store.storage.file_store.commit.conflict import Conflict
from table_store.storage.file_store.commit.own_commits import OwnCommits
from table_store.storage.file_store.commit.prepared_files import commit_user_of, prepared_after
from table_store.storage.file_store.metadata.manifest_file import (
    PROCESS_CACHE,
    ManifestCache,
    MetadataReader,
)
from table_store.storage.file_store.metadata.manifest_writer import ManifestWriter
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    RuleOfLaterError,
)
from table_store.storage.file_store.model.row_rules import added_rule
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import (
    BATCH_IDENTIFIER,
    ROLLBACK_TO,
    CommitKind,
    Snapshot,
)
from table_store.storage.file_store.model.storage_settings import RetryPolicy
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import CorruptFileError, TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import IdSource


class TableCommit:
    """Commits to one table. It holds no state of the table, so it never becomes stale."""

    def __init__(
        self,
        file_io: FileIO,
        table_path: str,
        schema_store: SchemaStore,
        clock: Clock,
        ids: IdSource,
        *,
        cache: ManifestCache = PROCESS_CACHE,
        retry: RetryPolicy | None = None,
        listener: CommitListener = NO_LISTENER,
    ) -> None:
        self._table_path = table_path
        self._schemas = schema_store
        self._clock = clock
        self._ids = ids
        self._retry = retry or RetryPolicy()
        self._listener = listener
        self._snapshots = SnapshotStore(file_io, table_path)
        reader = MetadataReader(file_io=file_io, table_path=table_path, cache=cache)
        self._pins = Pins(file_io, table_path)
        self._tags = Tags(file_io, table_path)
        self._own = OwnCommits(self._snapshots)
        self._attempt = CommitAttempt(
            schemas=schema_store,
            snapshots=self._snapshots,
            planner=CommitPlanner(reader=reader, snapshots=self._snapshots, tags=self._tags),
            manifests=ManifestWriter(reader=reader, ids=ids),
            listener=listener,
            clock=clock,
        )

    def commit(
        self,
        messages: Sequence[CommitMessage],
        *,
        kind: CommitKind,
        commit_user: str | None,
        commit_identifier: int = BATCH_IDENTIFIER,
        previous_identifier: int | None = None,
        read_snapshot_id: int | None = None,
        read_scope: Scope | None = None,
        overwrite: Scope | None = None,
        track_changes: bool | None = None,
        operation: str = "WRITE",
        expected_schema_id: int | None = None,
        since_snapshot_id: int | None = None,
        allow_empty: bool = False,
        log_offsets: Mapping[int, int] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Committed | NoChange:
        """Publish the files of `messages` as one new snapshot.

        The same user and identifier never commit twice. Identifiers of one user must ascend, or
        all be `BATCH_IDENTIFIER` with a user name that is used for one statement only.

        Args:
            messages: what writers or compactions returned; empty for an overwrite by nothing.
            kind: COMPACT if the files' rows are the table's: sequence numbers are then absolute.
            commit_user: who commits. None: the files name the commit, so that the same messages
                are committed once, and messages that share some of their files are a conflict.
            commit_identifier: names the commit among those of the user; see above.
            previous_identifier: of the user's last commit (0: none), on which this one builds: a
                later one is a conflict. None: it builds on none.
            read_snapshot_id: the snapshot the statement read (0: the empty table). Any later
                commit that changed rows in `read_scope` (default: the whole table; for an
                overwrite: what it replaces) is a conflict. None: nothing was read.
            read_scope: what the statement read.
            overwrite: all files in this scope go, too, also as a compaction has renewed them since.
            track_changes: whether readers of changes shall see it; None: as the table's option.
            operation: the statement's name, for people.
            expected_schema_id: refuse the commit if the table has another schema by now.
            since_snapshot_id: latest when a batch statement began (0: none): its earlier commit is
                searched behind it. None: as `read_snapshot_id`, or in the last `BATCH_LOOKBACK`.
            allow_empty: make a snapshot even if no file changes (a stream's checkpoint).
            log_offsets: by bucket; a bucket that is absent keeps its offset.
            properties: texts that the committer wants to find again in the snapshot.

        Raises:
            CommitConflictError: another commit is in the way; nothing of this one is visible.
            TableMovedError: another table has the place of this one; nothing is visible.
            CommitStateUnknownError: the store failed; the commit may or may not be visible.
            FileAccessError: the store refused before publishing; nothing is visible.
        """
        messages = tuple(messages)
        prepared_id = None if commit_user is not None else prepared_after(messages)
        if since_snapshot_id is None:
            since_snapshot_id = prepared_id if prepared_id is not None else read_snapshot_id
        return self._run(
            Changes(
                messages=messages,
                kind=kind,
                commit_user=commit_user or commit_user_of(messages, kind) or self._ids.unique(),
                prepared_id=prepared_id,
                commit_identifier=commit_identifier,
                previous_identifier=previous_identifier,
                read_snapshot_id=read_snapshot_id,
                read_scope=read_scope,
                overwrite=overwrite,
                track_changes=track_changes,
                operation=operation,
                expected_schema_id=expected_schema_id,
                allow_empty=allow_empty,
                log_offsets=log_offsets or FrozenMap(),
                properties=properties or FrozenMap(),
            ),
            since=since_snapshot_id,
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
        read_snapshot_id: int | None = None,
        track_changes: bool | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Committed | NoChange:
        """Publish a new snapshot whose files are those of `snapshot_id`; history is kept.

        That snapshot may have expired if a tag keeps it. The schema stays the latest one. For the
        other arguments see `commit`.

        Raises:
            CommitConflictError: rows have changed since `read_snapshot_id`.
            RuleOfLaterError: rows of the snapshot need not satisfy what the table declares now.
            SnapshotNotFoundError: the snapshot does not exist and has no tag, or no longer.
            CommitStateUnknownError: see `commit`.
        """
        target = self._tags.snapshot(snapshot_id)
        changes = Changes(
            messages=(),
            kind=CommitKind.OVERWRITE,
            commit_user=commit_user,
            commit_identifier=commit_identifier,
            read_snapshot_id=read_snapshot_id,
            rollback_to=target,
            allow_empty=self._is_newest_damaged(),
            track_changes=track_changes,
            operation="ROLLBACK",
            properties=FrozenMap({**(properties or {}), ROLLBACK_TO: str(snapshot_id)}),
        )
        rule = added_rule(self._schemas.get(target.schema_id), self._schemas.latest())
        if rule is not None:
            raise RuleOfLaterError(table=self._table_path, snapshot_id=snapshot_id, rule=rule)
        # The snapshot is pinned by now, and each attempt checks that it is still there.
        with self._pins.pinned(target, self._ids.unique()):
            return self._run(changes, since=None)

    def renew(self, content: Snapshot | None, *, lost_id: int, commit_user: str) -> None:
        """Publish the content of a snapshot anew, with the id after `lost_id`; None is no rows.

        Snapshots after `content` are lost or damaged, up to `lost_id`. If there is one after that
        by now, the table goes on with it, and nothing is published.

        Raises:
            TableMovedError: another table has the place of this one.
            CommitStateUnknownError: see `commit`.
        """
        changes = Changes(
            messages=(),
            kind=CommitKind.OVERWRITE,
            commit_user=commit_user,
            commit_identifier=BATCH_IDENTIFIER,
            lost_id=lost_id,
            # What it changes is not known.
            track_changes=False,
            allow_empty=True,
            operation="REPAIR",
        )
        with ExitStack() as pinned:
            if content is not None:
                pinned.enter_context(self._pins.pinned(content, self._ids.unique()))
            result = self._attempt.run(content, changes)
            if isinstance(result, Conflict):
                raise self._conflict_error(result)
            if isinstance(result, Unknown):
                raise self._unknown_error(changes, result.reason)

    def _run(self, changes: Changes, *, since: int | None) -> Committed | NoChange:
        outcome = self._outcome(changes, since=since)
        if isinstance(outcome, Committed):
            if not outcome.repeated:
                count_published(changes)
            # The commit has happened all the same; the log catches up later.
            with suppress(TableStoreError):
                schema = self._schemas.get(outcome.snapshot.schema_id)
                self._listener.on_commit(outcome.snapshot, schema)
        return outcome

    def _outcome(self, changes: Changes, *, since: int | None) -> Committed | NoChange:
        latest = self._base(changes)
        done = self._own.earlier(latest, changes, since)
        if done is not None:
            return done
        doubts: list[Unknown] = []
        try:
            return self._repeated(latest, changes, doubts)
        except TableStoreError as error:
            if not doubts:
                raise
            # The later attempt's error says nothing about the earlier one, which may still succeed.
            raise self._unknown_error(changes, doubts[0].reason) from error

    def _repeated(
        self, latest: Snapshot | None, changes: Changes, doubts: list[Unknown]
    ) -> Committed | NoChange:
        """Repeat attempts until the outcome is known; attempts in doubt are added to `doubts`."""
        for number in range(self._retry.max_retries + 1):
            result = self._attempt.run(latest, changes)
            if isinstance(result, Committed) or (isinstance(result, NoChange) and not doubts):
                return result
            if isinstance(result, LostRace):
                LOST_RACES.add()
            if isinstance(result, Conflict):
                raise self._conflict_error(result)
            self._clock.sleep_ms(
                self._retry.wait_ms(number, zlib.crc32(self._ids.unique().encode()))
            )
            if isinstance(result, Unknown):
                doubts.append(result)
            latest = self._base(changes)
            done = self._settled(result, latest, changes)
            if done is not None:
                return done
        raise self._conflict_error(
            Conflict(
                reason=f"others committed first in all {self._retry.max_retries + 1} attempts",
                snapshot=latest,
            )
        )

    def _settled(
        self, result: NoChange | LostRace | Unknown, latest: Snapshot | None, changes: Changes
    ) -> Committed | NoChange | None:
        """Return the outcome of an attempt in doubt; None if another attempt does no harm.

        Another attempt does no harm if this one lost, and also while its snapshot id is free: the
        next attempt takes the same id, and only one of the two can ever get it.

        Raises:
            SnapshotNotFoundError: the snapshot has expired, so nobody knows whose it was.
        """
        if not isinstance(result, Unknown) or latest is None or latest.id < result.snapshot_id:
            return None
        if changes.commit_identifier != BATCH_IDENTIFIER:
            last = latest.commit_identifiers.get(changes.commit_user)
            if last is None or last < changes.commit_identifier:
                return None
            own = self._own.find(latest, changes, result.snapshot_id - 1)
            if own is None:
                return NoChange(snapshot=latest)
        else:
            own = self._snapshots.get(result.snapshot_id)
            if not changes.made(own):
                return None
        # The name of the snapshot may not be durable yet; this write synchronises its folder.
        self._snapshots.write_hint(own.id, durable=True)
        return Committed(snapshot=own)

    def _is_newest_damaged(self) -> bool:
        try:
            self._snapshots.latest()
        except CorruptFileError:
            return True
        return False

    def _base(self, changes: Changes) -> Snapshot | None:
        """Return the snapshot that the next one follows.

        For a rollback, which must work on a damaged table, it is the newest snapshot that can be
        read, with the id of the newest one.
        """
        try:
            return self._snapshots.latest()
        except CorruptFileError:
            if changes.rollback_to is None:
                raise
        newest = self._snapshots.latest_id() or 0
        for snapshot_id in range(newest, 0, -1):
            with suppress(CorruptFileError):
                return replace(self._snapshots.get(snapshot_id), id=newest)
        return None

    def _conflict_error(self, conflict: Conflict) -> CommitConflictError:
        CONFLICTS.add()
        other = conflict.snapshot
        return CommitConflictError(
            table=self._table_path,
            snapshot_id=None if other is None else other.id,
            commit_user=None if other is None else other.commit_user,
            operation=None if other is None else other.operation,
            reason=conflict.reason,
        )

    def _unknown_error(self, changes: Changes, reason: str) -> CommitStateUnknownError:
        return CommitStateUnknownError(
            table=self._table_path,
            commit_user=changes.commit_user,
            commit_identifier=changes.commit_identifier,
            reason=reason,
        )
