"""Requests of a running stream: where it starts, what is new, and what a batch reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from table_store.catalog.planner.change_plan import change_task, payloads
from table_store.catalog.planner.changelog import ChangelogHandle
from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.planner.read_options import read_options
from table_store.catalog.planner.session import PlannerSession
from table_store.catalog.planner.stream_offset import StreamOffset, identity_of
from table_store.storage.file_store.change_labels import CHANGE_LABELS, CHANGE_TYPE
from table_store.storage.file_store.change_range import ChangeBound, ChangeHistory, ChangeRange
from table_store.storage.file_store.change_scan import ChangeScan
from table_store.storage.file_store.change_split import ChangeMode, Retractions
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    ChangesNotAvailableError,
    StreamSourceChangedError,
)
from table_store.storage.kernel.options import OptionValues
from table_store.storage.table_options import (
    LOG_SCAN,
    LOG_SCAN_TIMESTAMP_MILLS,
    STREAM_RETRACTIONS,
    UNTRACKED_CHANGES,
)


def stream_start(session: PlannerSession, argument: Argument) -> str:
    """The offset before the first batch of a new stream, which the bridge keeps."""
    source = _Source.of(argument)
    begins = source.start()
    return source.offset(begins or 0, is_before_all=begins is None).to_text()


def stream_latest(session: PlannerSession, argument: Argument) -> str:
    """The offset up to which there is something to read; the one given where nothing is new.

    `bound` is a limit. Without `start` only the version of the answer has a meaning.
    """
    source = _Source.of(argument)
    latest = source.table.snapshot_store.latest_id() or 0
    if argument.get("bound") is not None:
        latest = min(latest, StreamOffset.from_text(argument["bound"]).version)
    if source.changes is not None and source.changes.has_end:
        latest = min(latest, source.changes.range.last_id)
    if argument.get("start") is None:
        return source.offset(latest).to_text()
    start = StreamOffset.from_text(argument["start"])
    return start.to_text() if latest <= start.version else source.offset(latest).to_text()


def plan_stream(session: PlannerSession, argument: Argument) -> list[dict[str, Any]]:
    """The splits of the batch between two offsets.

    Raises:
        ChangesNotAvailableError: snapshots that the stream has not read yet have expired.
        StreamSourceChangedError: the table is another one, or has other columns.
    """
    source = _Source.of(argument)
    start, end = (StreamOffset.from_text(argument[name]) for name in ("start", "end"))
    return payloads(source.scan(start, end, argument.get("parallelism", 1)).splits())


def stream_task(session: PlannerSession, argument: Argument) -> dict[str, str]:
    """What reads the splits of every batch."""
    source = _Source.of(argument)
    nothing = source.offset(0)
    return change_task(source.scan(nothing, nothing, 1), argument)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A table that a stream reads, as one request sees it."""

    table: FileStoreTable
    schema: TableSchema
    name: str
    columns: tuple[str, ...]
    options: OptionValues
    changes: ChangelogHandle | None

    @classmethod
    def of(cls, argument: Argument) -> _Source:
        handle = argument["handle"]
        table = FileStoreTable.open(handle["path"])
        return cls(
            table=table,
            schema=table.schema_store.get(handle["schema"]),
            name=".".join([*argument["namespace"], argument["name"]]),
            columns=tuple(argument["columns"]),
            options=read_options(argument),
            changes=ChangelogHandle.from_json(handle) if "changes" in handle else None,
        )

    def offset(self, version: int, *, is_before_all: bool = False) -> StreamOffset:
        return StreamOffset(
            table=identity_of(self.table), version=version, is_before_all=is_before_all
        )

    def start(self) -> int | None:
        """The snapshot behind which a new stream begins; None where it begins with a whole one."""
        if self.changes is not None:
            self.changes.check_available(self.name)
            return self.changes.range.first_id - 1 if self.changes.has_start else None
        history = ChangeHistory(self.table.snapshot_store, self.name)
        match self.options.get(LOG_SCAN):
            case "latest":
                return self.table.snapshot_store.latest_id() or 0
            case "from-timestamp":
                time_us = (self.options.get(LOG_SCAN_TIMESTAMP_MILLS) or 0) * 1000
                return history.resolve(ChangeBound(timestamp_us=time_us), None).first_id - 1
        return None

    def mode(self) -> ChangeMode:
        if self.changes is not None:
            return self.changes.mode
        if CHANGE_TYPE in self.columns:
            return ChangeMode(computes_updates=True)
        return ChangeMode(retractions=Retractions(self.options.get(STREAM_RETRACTIONS)))

    def scan(self, start: StreamOffset, end: StreamOffset, parallelism: int) -> ChangeScan:
        self._check_same_table(end)
        history = ChangeHistory(self.table.snapshot_store, self.name)
        begins = start.is_before_all and end.version > 0
        first = end.version if begins else start.version + 1
        if not begins and first <= end.version:
            bound = ChangeBound(version=start.version, is_inclusive=False)
            try:
                history.resolve(bound, ChangeBound(version=end.version))
            except ChangesNotAvailableError as error:
                raise ChangesNotAvailableError(
                    table=self.name,
                    asked=f"behind version {start.version}, up to which the stream has read it",
                    available=f"{error.available}. Start it anew with another checkpoint, and let "
                    "'snapshot.time-retained' exceed the time it may be away",
                ) from error
        scan = self.table.changes(
            columns=self.columns,
            mode=self.mode(),
            labels=CHANGE_LABELS,
            skips_untracked=self.options.get(UNTRACKED_CHANGES) == "skip",
            schema=self.schema,
        )
        found = ChangeRange(first_id=first, last_id=end.version)
        return replace(scan, range=found, begins_with_snapshot=begins, parallelism=parallelism)

    def _check_same_table(self, end: StreamOffset) -> None:
        if end.table != identity_of(self.table):
            raise StreamSourceChangedError(
                table=self.name,
                reason="it was replaced, or dropped and made again, since the checkpoint was "
                "written; start the query with a new checkpoint",
            )
        if end.version:
            written = self.table.snapshot(version=end.version)
            schema_id = self.schema.id if written is None else written.schema_id
            newer = schema_id > self.schema.id
            if newer and self.table.schema_store.get(schema_id).fields != self.schema.fields:
                raise StreamSourceChangedError(
                    table=self.name,
                    reason="its columns were altered while the query ran; start the query again "
                    "with the same checkpoint, and it goes on with the columns of now",
                )
