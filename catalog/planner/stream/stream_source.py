"""A table that a stream reads: where it starts, how far a batch goes, and what the batch reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.names.found_name import FoundName
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.row_column import ROW_COLUMN
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import (
    ChangelogHandle,
    TableHandle,
)
from table_store.catalog.planner.protocol.scans import AskedScan
from table_store.catalog.planner.read.read_options import read_options
from table_store.catalog.planner.stream.stream_limits import Amount, ReadLimits
from table_store.catalog.planner.stream.stream_offset import StreamOffset
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, CHANGE_TYPE
from table_store.storage.file_store.changes.change_range import (
    ChangeBound,
    ChangeHistory,
    ChangeRange,
)
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.changes.change_split import ChangeMode, ChangeSplit, Retractions
from table_store.storage.file_store.metadata.live_files import read_delta
from table_store.storage.file_store.model.errors import (
    ChangesNotAvailableError,
    SnapshotNotFoundError,
    StreamSourceChangedError,
)
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import (
    LOG_SCAN,
    LOG_SCAN_TIMESTAMP_MILLS,
    UNTRACKED_CHANGES,
)
from table_store.storage.options.options import OptionValues
from table_store.storage.options.stream_options import CONSUMER_ID, STREAM_RETRACTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSource:
    """A table that a stream reads, as one request sees it.

    `columns` are those of the query; Spark adds either all metadata columns to them or none. The
    table at `location` was `found` by a name, unless it is a temporary one.
    """

    table: FileStoreTable
    schema: TableSchema
    name: str
    columns: tuple[str, ...]
    options: OptionValues
    changes: ChangelogHandle | None
    location: str
    found: FoundName | None

    @classmethod
    def of(cls, session: PlannerSession, scan: AskedScan) -> StreamSource:
        """Return the source of a request."""
        handle = scan.table.handle
        assert isinstance(handle, TableHandle | ChangelogHandle), "no others are read as streams"
        table = open_logged(handle.path)
        schema = table.schema_store.get(handle.schema_id)
        changes = handle if isinstance(handle, ChangelogHandle) else None
        access = CatalogAccess.of(session, scan.table.relation.catalog)
        return cls(
            table=table,
            schema=schema,
            name=scan.table.relation.text,
            columns=scan.columns,
            options=read_options(scan.options, schema, of_changes=changes is not None),
            changes=changes,
            location=handle.path,
            found=scan.table.found_name(access.warehouse.root),
        )

    def offset(self, version: int, *, is_before_all: bool = False) -> StreamOffset:
        """Return the offset after snapshot `version`, or before everything."""
        return StreamOffset(
            table=self.table.created_ms, version=version, is_before_all=is_before_all
        )

    def start(self) -> int | None:
        """The snapshot after which a new stream begins; None if it begins with a whole snapshot."""
        if self.changes is not None:
            self.changes.check_available(self.name)
            return self.changes.range.first_id - 1 if self.changes.has_start else None
        history = self.table.history(self.name)
        match self.options.get(LOG_SCAN):
            case "latest":
                return self.table.snapshot_store.latest_id() or 0
            case "from-timestamp":
                return self._before_time(history, self.options.get(LOG_SCAN_TIMESTAMP_MILLS) or 0)
        return None

    def _before_time(self, history: ChangeHistory, time_ms: int) -> int:
        latest = self.table.latest_snapshot()
        last_ms = 0 if latest is None else latest.time_ms
        if last_ms < time_ms <= self.table.clock.now_ms():
            return 0 if latest is None else latest.id  # nothing was committed since then
        return history.resolve(ChangeBound(timestamp_us=time_ms * 1000), None).first_id - 1

    def mode(self) -> ChangeMode:
        """Return the form of the changes, which depends on whether the query reads their type."""
        if self.changes is not None:
            return self.changes.mode
        if CHANGE_TYPE in self.columns:
            return ChangeMode(computes_updates=True)
        return ChangeMode(retractions=Retractions(self.options.get(STREAM_RETRACTIONS)))

    def note_progress(self, start: StreamOffset, end: StreamOffset) -> None:
        """Protect from expiry the snapshots that this batch and all later batches need."""
        name = self.options.get(CONSUMER_ID)
        if name is None or end.version == 0:
            return
        is_begun = not start.is_before_all and start.parts is None
        self.table.consumers.note(name, start.version + 1 if is_begun else end.version)

    def check_name(self) -> None:
        """Check that no other table has the name by now; costs a look at it.

        The rows of the old one stay where they are, so that nothing else would tell.

        Raises:
            StreamSourceChangedError: another one has it.
        """
        location = self.location
        if self.found is not None and self.found.location_since(location) != location:
            self._check_key()
            raise StreamSourceChangedError(
                table=self.name,
                reason="it was replaced while the query ran; start the query with a new checkpoint",
            )

    def latest_version(self) -> int:
        """The newest snapshot that the stream may read; 0 where there is none."""
        latest = self.table.snapshot_store.latest_id() or 0
        if self.changes is not None and self.changes.has_end:
            latest = min(latest, self.changes.range.last_id)
        return latest

    def end(self, start: StreamOffset, latest: int, limits: ReadLimits) -> StreamOffset:
        """The end of a batch that begins at `start` and reads at most up to snapshot `latest`.

        Raises:
            StreamSourceChangedError: the table is another one.
        """
        self._check_identity(start)
        if start.parts is not None:
            return self._part_of_snapshot(start, limits)
        if latest <= start.version:
            return start
        if limits.is_none:
            return self.offset(latest)
        if start.is_before_all:
            whole = self._amount_of_snapshot(latest)
            part_bytes = limits.part_bytes(whole, self._whole(latest).target_bytes)
            begin = replace(self.offset(latest), parts=0, part_bytes=part_bytes)
            return self._part_of_snapshot(begin, limits)
        commits = range(start.version + 1, latest + 1)
        return self.offset(start.version + limits.fitting(map(self._amount_of_commit, commits)))

    def splits(
        self, start: StreamOffset, end: StreamOffset, parallelism: int
    ) -> tuple[ChangeSplit, ...]:
        """The splits that the tasks of the batch between two offsets read."""
        part_bytes = end.part_bytes or start.part_bytes
        if part_bytes is None:
            return self.scan(start, end, parallelism).splits()
        self._check_same_table(end)
        return self._parts(end.version, part_bytes)[start.parts or 0 : end.parts]

    def _part_of_snapshot(self, start: StreamOffset, limits: ReadLimits) -> StreamOffset:
        assert start.parts is not None
        assert start.part_bytes is not None
        parts = self._parts(start.version, start.part_bytes)
        rest = parts[start.parts :]
        taken = len(rest) if limits.is_none else limits.fitting(map(_amount_of_part, rest))
        if taken == len(rest):
            return self.offset(start.version)
        return replace(start, parts=start.parts + taken)

    def _parts(self, version: int, part_bytes: int) -> tuple[ChangeSplit, ...]:
        """The parts of a whole snapshot; every call cuts it in the same way."""
        try:
            return replace(self._whole(version), target_bytes=part_bytes).splits()
        except SnapshotNotFoundError as error:
            asked = f"at version {version}, of which the stream has read a part"
            available = f"available are the versions {error.earliest_id} to {error.latest_id}"
            raise self._expired(asked, available) from error

    def _whole(self, version: int) -> ChangeScan:
        return self.scan(self.offset(0, is_before_all=True), self.offset(version), 1)

    def _amount_of_snapshot(self, version: int) -> Amount:
        live = self.table.live_files(self.table.snapshot_store.get(version), self.schema)
        return _amount_of(live.entries)

    def _amount_of_commit(self, version: int) -> Amount:
        try:
            snapshot = self.table.history(self.name).get(version)
        except SnapshotNotFoundError:
            return Amount()  # planning the batch raises the error
        if snapshot.commit_kind is CommitKind.COMPACT:
            return Amount()
        return _amount_of(read_delta(self.table.metadata, snapshot, self.schema))

    def scan(self, start: StreamOffset, end: StreamOffset, parallelism: int) -> ChangeScan:
        """Return a scan of everything between two offsets.

        Raises:
            ChangesNotAvailableError: snapshots that the stream has not read yet have expired.
            StreamSourceChangedError: the table is another one, or has other columns.
        """
        self._check_same_table(end)
        history = self.table.history(self.name)
        begins = start.is_before_all and end.version > 0
        first = end.version if begins else start.version + 1
        if not begins and first <= end.version:
            bound = ChangeBound(version=start.version, is_inclusive=False)
            try:
                history.resolve(bound, ChangeBound(version=end.version))
            except ChangesNotAvailableError as error:
                asked = f"behind version {start.version}, up to which the stream has read it"
                raise self._expired(asked, error.available) from error
        scan = self.table.changes(
            columns=self._stored(),
            mode=self.mode(),
            labels=CHANGE_LABELS,
            skips_untracked=self.options.get(UNTRACKED_CHANGES) == "skip",
            schema=self.schema,
        )
        found = ChangeRange(first_id=first, last_id=end.version)
        return replace(scan, range=found, begins_with_snapshot=begins, parallelism=parallelism)

    def _stored(self) -> tuple[str, ...]:
        """The columns to read from storage: all of the table's if the query has the whole row."""
        if ROW_COLUMN not in self.columns:
            return self.columns
        return (*self.schema.column_names, *(c for c in self.columns if c in CHANGE_LABELS))

    def _expired(self, asked: str, available: str) -> ChangesNotAvailableError:
        return ChangesNotAvailableError(
            table=self.name,
            asked=asked,
            available=f"{available}. Start it anew with another checkpoint, and let "
            "'log.retention' exceed the time it may be away, or give it a 'consumer-id'",
        )

    def _check_identity(self, offset: StreamOffset) -> None:
        if offset.table != self.table.created_ms:
            raise StreamSourceChangedError(
                table=self.name,
                reason="it was replaced, or dropped and made again, since the checkpoint was "
                "written, or the checkpoint is that of a query of another table; start the query "
                "with a new checkpoint",
            )

    def _check_key(self) -> None:
        if self.table.schema.successor is not None:
            raise StreamSourceChangedError(
                table=self.name,
                reason="it has got another primary key while the query ran, and with it a new "
                "history; start the query with a new checkpoint",
            )

    def _check_same_table(self, end: StreamOffset) -> None:
        self._check_identity(end)
        if end.version:
            schema_id = self.table.history(self.name).get(end.version).schema_id
            newer = schema_id > self.schema.id
            if newer:
                self._check_key()
            if newer and _read_alike(self.table.schema_store.get(schema_id)) != _read_alike(
                self.schema
            ):
                raise StreamSourceChangedError(
                    table=self.name,
                    reason="its columns were altered while the query ran; start the query again "
                    "with the same checkpoint, and it goes on with the columns of now",
                )


def _read_alike(schema: TableSchema) -> list[Field]:
    """The columns without comments and defaults, which do not affect the rows that are read."""
    return [replace(field, comment=None, default=None) for field in schema.fields]


def _amount_of(entries: pa.Table) -> Amount:
    return Amount(
        files=entries.num_rows,
        rows=pc.sum(entries["row_count"]).as_py() or 0,
        size_bytes=pc.sum(entries["size_bytes"]).as_py() or 0,
    )


def _amount_of_part(split: ChangeSplit) -> Amount:
    return Amount(
        files=len(split.files),
        rows=sum(file.row_count for file in split.files),
        size_bytes=sum(file.size_bytes for file in split.files),
    )
