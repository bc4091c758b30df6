"""Writes the changes of a table's snapshots into its topic.

All writers of a table use one transactional id, so that a new writer fences the one before it. A
transaction holds the changes of one snapshot in all partitions. The headers of each record name
its snapshot, so the last committed records of the topic tell how far the log has come.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from table_store.storage.log_store.encoding.debezium_json import LogMessages
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.kafka.kafka_topics import KafkaRecord, Offsets
from table_store.storage.log_store.kafka.kafka_transactions import (
    OpenTransaction,
    SentBatch,
    checksum,
)
from table_store.storage.log_store.kafka.record_batch import (
    SNAPSHOT_HEADER,
    RecordOrigin,
    record_batches,
)
from table_store.storage.log_store.log_errors import (
    BadLogRecordError,
    LogUnavailableError,
    TopicNotFoundError,
)
from table_store.storage.log_store.log_position import LogPosition
from table_store.storage.log_store.log_settings import KafkaSettings

TRANSACTION_MS: Final = 900_000
"""A transaction that is open for longer is aborted; brokers allow no more by default."""

_log = logging.getLogger(__name__)

_IN_FLIGHT_MAX: Final = 4
_TAIL_STEPS: Final = (16, 1024, 1 << 16, 1 << 40)
"""How many records back from the end the search goes, step by step, until it finds some."""


class KafkaLogWriter:
    """Writes the changes of one snapshot after the other, until another writer fences it.

    Attributes:
        position: how far the topic has come.
    """

    def __init__(self, cluster: KafkaCluster, settings: KafkaSettings, noted: LogPosition) -> None:
        self._cluster = cluster
        self._settings = settings
        self._transactional_id = f"table-store.{settings.topic}"
        self._sequences: dict[int, int] = {}
        self._foreign: set[tuple[int, int]] = set()
        self._newest = (0, 0, 0)  # snapshot, partition, offset
        with ExitStack() as undone:
            undone.callback(cluster.close)
            self._producer = cluster.transactions.init_producer(
                self._transactional_id,
                TRANSACTION_MS,
                is_transactional=settings.is_transactional,
            )
            self.position = self._find_position(noted)
            undone.pop_all()

    def check_known(self, latest_id: int) -> None:
        """Check that the topic has no snapshot that is newer than the table's latest.

        Raises:
            BadLogRecordError: it has one, so it is not, or no longer, the log of this table.
        """
        snapshot_id, partition, offset = self._newest
        if snapshot_id > latest_id:
            raise BadLogRecordError(
                topic=self._settings.topic,
                partition=partition,
                offset=offset,
                reason=f"it tells of snapshot {snapshot_id}, the table's latest is {latest_id}",
            )

    def append(
        self, snapshot_id: int, time_ms: int, messages: Iterable[tuple[int, LogMessages]]
    ) -> None:
        """Write the messages of a snapshot, each with its bucket; readers see all or none.

        Raises:
            LogUnavailableError, LogRefusedError, LogFencedError: a new writer finds out whether
                it was committed. If not, readers see nothing of it, unless the log is not
                transactional.
        """
        topic, transactions = self._settings.topic, self._cluster.transactions
        sent, counts = deque[SentBatch](), dict[int, int]()
        is_transactional = self._settings.is_transactional
        transactional_id = self._transactional_id if is_transactional else None
        for bucket, of_bucket in messages:
            if bucket not in counts and is_transactional:
                transactions.add_partitions(self._transactional_id, self._producer, topic, [bucket])
            base = self._sequences.get(bucket, 0)
            first = counts.get(bucket, 0)
            origin = RecordOrigin(snapshot_id=snapshot_id, bucket=bucket, first_sequence=first)
            for batch in record_batches(
                of_bucket,
                origin,
                self._producer,
                base_sequence=base,
                time_ms=time_ms,
                checksum=checksum,
            ):
                if len(sent) == _IN_FLIGHT_MAX:
                    sent.popleft().wait()
                sent.append(transactions.send(topic, bucket, batch.data, transactional_id))
            self._sequences[bucket] = base + len(of_bucket)
            counts[bucket] = first + len(of_bucket)
        while sent:
            sent.popleft().wait()
        if counts and is_transactional:
            transactions.end(self._transactional_id, self._producer, topic)

    def settle(self, snapshot_id: int) -> LogPosition:
        """Wait until every reader sees what was appended; return the position after it.

        Raises:
            LogUnavailableError: the brokers do not finish a transaction in time.
            LogFencedError: another writer has begun; what was appended is in the topic.
        """
        ends = self._settled_ends()
        # The ends are read even if nothing was appended: another writer may have moved them.
        self._cluster.transactions.is_idle(self._transactional_id, self._producer)
        self.position = replace(self.position, snapshot_id=snapshot_id, offsets=ends)
        return self.position

    def close(self) -> None:
        """Close the connection. A transaction that was begun stays for the next writer to end."""
        self._cluster.close()

    # -- details -----------------------------------------------------------------------------------

    def _find_position(self, noted: LogPosition) -> LogPosition:
        topic, partitions = self._settings.topic, self._settings.partitions
        found = self._cluster.topics.partition_count(topic)
        if found is None or found < partitions:
            raise TopicNotFoundError(topic=topic, brokers=self._settings.brokers)
        ends = self._settled_ends()
        if dict(noted.offsets) == ends:
            return noted
        last = self._last_snapshot(ends)
        if not self._settings.is_transactional:
            last -= 1  # perhaps only a part of that snapshot is in the topic
        new = sum(offset >= noted.offsets.get(p, 0) for p, offset in self._foreign)
        if new:
            _log.warning("%d records of topic %r are not the table's", new, topic)
        return LogPosition(
            snapshot_id=max(last, noted.snapshot_id),
            foreign_records=noted.foreign_records + new,
            offsets=ends,
        )

    def _last_snapshot(self, ends: Mapping[int, int]) -> int:
        """Return the newest snapshot of which committed records are in the topic, 0 for none."""
        topic = self._settings.topic
        earliest = self._cluster.topics.earliest_offsets(topic, self._settings.partitions)
        left = {p for p, end in ends.items() if earliest[p] < end}
        last = 0
        for step in _TAIL_STEPS:
            start = {p: max(earliest[p], ends[p] - step) for p in left}
            records = self._cluster.topics.read(topic, start, ends, is_committed=True)
            origins = [(self._snapshot_of(r), r.partition, r.offset) for r in records]
            self._newest = max([self._newest, *origins])
            found = {partition for snapshot_id, partition, _ in origins if snapshot_id}
            last = max([last, *(snapshot_id for snapshot_id, _, _ in origins)])
            left = {p for p in left - found if start[p] > earliest[p]}
        return last

    def _snapshot_of(self, record: KafkaRecord) -> int:
        """Return the snapshot of a record, 0 for one that somebody else wrote.

        Raises:
            BadLogRecordError: somebody else wrote it, and the options do not allow that.
        """
        text = record.headers.get(SNAPSHOT_HEADER, b"")
        if text.isdigit():
            return int(text)
        if not self._settings.skips_foreign:
            raise BadLogRecordError(
                topic=self._settings.topic,
                partition=record.partition,
                offset=record.offset,
                reason=f"it has no header {SNAPSHOT_HEADER!r}",
            )
        self._foreign.add((record.partition, record.offset))
        return 0

    def _settled_ends(self) -> Offsets:
        """Wait until every transaction in the partitions has ended; return where they end.

        A coordinator that was killed after its decision, but before it wrote the last of its
        markers, believes later that it has written all of them. Another partition shows what it
        had decided; if no partition shows anything, no reader has seen it, and either is right.

        Raises:
            LogUnavailableError: a transaction does not end.
            LogFencedError: a transaction does not end, and another writer has begun.
        """
        topic, partitions = self._settings.topic, self._settings.partitions
        stop = time.monotonic() + self._settings.timeout_ms / 1000
        patience = time.monotonic() + min(1.0, self._settings.timeout_ms / 4000)
        while True:
            ends = self._cluster.topics.end_offsets(topic, partitions, is_committed=False)
            visible = self._cluster.topics.end_offsets(topic, partitions, is_committed=True)
            if ends == visible:
                return ends
            now = time.monotonic()
            if now > stop:
                raise LogUnavailableError(
                    brokers=self._settings.brokers,
                    action=f"end the transactions of topic {topic!r}",
                    reason=f"readers are held back at {visible} before {ends}",
                )
            if now > patience:
                self._end_forgotten(visible)
            time.sleep(0.005)

    def _end_forgotten(self, visible: Offsets) -> None:
        """End the transactions that nobody else is going to end.

        Raises:
            LogFencedError: another writer has begun; a transaction may be its own.
        """
        topic, transactions = self._settings.topic, self._cluster.transactions
        # The order matters: a writer that begins after the question is not among those found.
        found = transactions.unended(topic, self._settings.partitions)
        if not transactions.is_idle(self._transactional_id, self._producer):
            return
        for hanging in found:
            is_commit = self._was_committed(hanging, visible)
            if is_commit is not None:
                transactions.write_marker(topic, hanging, is_commit=is_commit)

    def _was_committed(self, hanging: OpenTransaction, visible: Offsets) -> bool | None:
        """Return what was decided of a transaction, None for one that somebody else will end."""
        own = self._producer
        if (hanging.producer_id, hanging.epoch) == (own.producer_id, own.epoch):
            return True  # the coordinator told `append` that it is committed
        topic, at = self._settings.topic, hanging.partition
        start = {at: hanging.start_offset}
        (first, *_) = self._cluster.topics.read(
            topic, start, {at: hanging.start_offset + 1}, is_committed=False
        )
        snapshot_id = self._snapshot_of(first)
        if not snapshot_id:
            return None
        others = {p: end for p, end in visible.items() if p != at}
        return bool(others) and self._last_snapshot(others) == snapshot_id
