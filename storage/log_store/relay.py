"""Brings the changes of a table's snapshots into its topic, in order, each once.

A statement publishes its snapshot first. Then its process relays: it fences every relay before
it, finds the last snapshot in the topic, and writes those that follow, a transaction each. What a
process that died has left over, the next one finds in the same way.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.bucket import bucket_columns, bucket_ids
from table_store.storage.file_store.change_labels import CHANGE_TYPE
from table_store.storage.file_store.change_rows import ChangeKind
from table_store.storage.file_store.change_split import ChangeMode
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import SnapshotNotFoundError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.debezium_json import LogMessages, encode_changes
from table_store.storage.log_store.file_log import FileLog, is_told
from table_store.storage.log_store.kafka_log import kafka_log
from table_store.storage.log_store.log_errors import LogFencedError, LogUnavailableError
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from table_store.storage.log_store.log_settings import KafkaSettings

T = TypeVar("T")

_ROWS_TOGETHER: Final = 64 * 1024
_PAUSE_MIN_S: Final = 0.1
_PAUSE_MAX_S: Final = 3.2
_PREIMAGE: Final = ChangeKind.UPDATE_PREIMAGE.name.lower()

_log = logging.getLogger(__name__)
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True, slots=True)
class LogRelay:
    """The listener of a table's commits that relays them; does nothing for one without topic."""

    table: FileStoreTable

    def before_commit(self, schema: TableSchema) -> None:
        """Ask the brokers for the topic, so that no change is committed that cannot be told now.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: of the brokers.
        """
        settings = KafkaSettings.of(schema)
        if settings is None:
            return
        try:
            _patiently(settings, lambda: kafka_log(settings).check_topic())
        except LogUnavailableError as error:
            raise LogUnavailableError(
                brokers=error.brokers,
                action=error.action,
                reason=error.reason,
                remedy=" Nothing was changed; with 'change-tracking' = 'false' a statement does "
                "without the log.",
            ) from error

    def log_offsets(self, schema: TableSchema) -> Mapping[int, int]:
        """Return where the topic ended when its position was noted last; reads one small file."""
        if KafkaSettings.of(schema) is None:
            return FrozenMap()
        return self._positions.read().offsets

    def on_commit(self, snapshot: Snapshot) -> None:
        """Relay; a failure is logged, and leaves the changes to the next commit. Never raises."""
        try:
            self.relay()
        except Exception as error:  # noqa: BLE001 - the commit has happened, whatever this is
            _log.warning(
                "snapshot %d of %s is committed, but the log lags behind until the next commit or "
                "CALL sys.relay_log: %s",
                snapshot.id,
                self.table.path,
                error,
            )

    def before_expiry(self, first_retained: int) -> None:
        """Bring into the log what can only be told while its snapshots are there."""
        if self.relay() is None:
            FileLog(self.table).keep(first_retained)

    def relay(self) -> LogPosition | None:
        """Bring all that is missing into the topic; return how far it has come.

        None for a table without topic. Costs one small file where nothing is missing.

        Raises:
            LogUnavailableError, LogRefusedError, TopicNotFoundError: of the brokers.
        """
        settings = KafkaSettings.of(self.table.schema)
        if settings is None:
            return None
        with _locks[self.table.path]:
            return _patiently(settings, lambda: self._attempt(settings))

    def _attempt(self, settings: KafkaSettings) -> LogPosition:
        noted = self._positions.read()
        latest = self.table.snapshot_store.latest_id() or 0
        if not any(is_told(s) for s in self._snapshots(noted.snapshot_id, latest)):
            return replace(noted, snapshot_id=max(latest, noted.snapshot_id))
        with kafka_log(settings).writer(noted) as writer:
            done = writer.position.snapshot_id
            for snapshot in self._snapshots(done, latest):
                if is_told(snapshot):
                    messages = snapshot_messages(self.table, snapshot, settings)
                    writer.append(snapshot.id, snapshot.time_ms, messages)
            try:
                position = writer.settle(max(latest, done))
            except LogFencedError:
                # All is there. Where it ends by now, the next writer notes.
                return LogPosition(snapshot_id=max(latest, done), offsets=noted.offsets)
        self._positions.write(position)
        return position

    def _snapshots(self, after_id: int, last_id: int) -> Iterator[Snapshot]:
        """Yield the snapshots behind `after_id`; those that have expired had been relayed."""
        for snapshot_id in range(after_id + 1, last_id + 1):
            try:
                yield self.table.snapshot_store.get(snapshot_id)
            except SnapshotNotFoundError:
                earliest = self.table.snapshot_store.earliest_id() or 0
                if snapshot_id >= earliest:
                    raise

    @property
    def _positions(self) -> PositionFile:
        return PositionFile(self.table.file_io, self.table.path)


def _patiently(settings: KafkaSettings, call: Callable[[], T]) -> T:
    """Return what `call` does, again where another process or a cut connection was in the way."""
    stop = time.monotonic() + settings.timeout_ms / 1000
    # What fails at once may be a connection that was cut; what takes long has waited.
    last_retry = time.monotonic() + settings.timeout_ms / 4000
    pause_s = _PAUSE_MIN_S
    while True:
        try:
            return call()
        except LogFencedError:
            if time.monotonic() > stop:
                raise
            # Where all takes long, two would else go on fencing each other before either is done.
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)
        except LogUnavailableError:
            if time.monotonic() > last_retry:
                raise
        # Another process is at work; it is either done soon, or dead.
        time.sleep(random.uniform(0.1, 1) * pause_s)


def snapshot_messages(
    table: FileStoreTable, snapshot: Snapshot, settings: KafkaSettings
) -> Iterator[tuple[int, LogMessages]]:
    """Yield the messages of one snapshot with their buckets; changes of a key are in order."""
    schema = table.schema_store.get(snapshot.schema_id)
    mode = ChangeMode(computes_updates=bool(schema.primary_key))
    scan = table.changes(snapshot.id, snapshot.id, mode=mode, labels=(CHANGE_TYPE,), schema=schema)
    hashed = bucket_columns(schema)
    for rows in _whole_updates(scan.to_batches(), scan.arrow_schema):
        if not settings.keeps_preimages:
            rows = rows.filter(pc.not_equal(rows[CHANGE_TYPE], _PREIMAGE))
        if settings.partitions == 1:
            yield 0, encode_changes(rows, schema)
            continue
        buckets = bucket_ids(rows, hashed, settings.partitions)
        for bucket in np.unique(buckets).tolist():
            yield bucket, encode_changes(rows.filter(pa.array(buckets == bucket)), schema)


def _whole_updates(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows in larger pieces; a preimage and its postimage are never parted."""
    pending: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        pending.append(batch)
        count += batch.num_rows
        if count >= _ROWS_TOGETHER and batch[CHANGE_TYPE][-1].as_py() != _PREIMAGE:
            yield pa.Table.from_batches(pending, schema=schema)
            pending, count = [], 0
    if pending:
        yield pa.Table.from_batches(pending, schema=schema)
