"""`'connector' = 'kafka'` and `'upsert-kafka'`: changes become records of a topic.

The changes of one snapshot are one transaction, which also notes the snapshot's number for a
consumer group that has the name of the transactional id. So after a death the next writer, which
first fences the one before it, finds there up to where the topic has come, whoever else writes it.
Without transactions a snapshot may be written twice.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_rows import ChangeKind
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.encoding.debezium_json import (
    OPERATIONS,
    LogMessages,
    changed_values,
)
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.kafka.kafka_log_writer import TRANSACTION_MS
from table_store.storage.log_store.kafka.kafka_transactions import SentBatch, checksum
from table_store.storage.log_store.kafka.patience import patiently
from table_store.storage.log_store.kafka.record_batch import ProducerState, record_batches
from table_store.storage.log_store.log_errors import SinkTopicNotFoundError
from table_store.storage.log_store.sinks.kafka_target import TIMEOUT_MS, KafkaTarget, Part
from table_store.storage.log_store.sinks.key_partition import key_partitions
from table_store.storage.log_store.sinks.row_encoders import RegisteredEncoder
from table_store.storage.log_store.sinks.sink import changed_rows
from table_store.storage.options.message_format_options import DEBEZIUM

_IN_FLIGHT_MAX: Final = 4
_DELETE: Final = ChangeKind.DELETE.name.lower()
_PREIMAGE: Final = ChangeKind.UPDATE_PREIMAGE.name.lower()
_GOES: Final = pa.array([_DELETE, _PREIMAGE])


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Writes the changes of a table into a topic that is there already."""

    target: KafkaTarget

    @classmethod
    def of(cls, schema: TableSchema) -> KafkaSink:
        """Return the sink of a table with this definition."""
        return cls(KafkaTarget.of(schema))

    @property
    def forgets(self) -> bool:
        """See `Sink`: rows that are only added need none of the former ones."""
        return not self.target.takes_changes

    def check_ready(self) -> None:
        """See `Sink`: asks the brokers for the topic, and a registry for the ids of schemas."""

        def check() -> None:
            with closing(self.target.cluster()) as cluster:
                self._partitions(cluster)

        patiently(TIMEOUT_MS, check)
        for part in (self.target.key, self.target.value):
            if part is not None and isinstance(part.encoder, RegisteredEncoder):
                part.encoder.check_ready()

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        """See `Sink`."""
        patiently(TIMEOUT_MS, lambda: self._attempt(table, snapshots))

    def _attempt(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        target = self.target
        own_id = target.transactional_id(table.path, table.created_ms)
        with closing(self.target.cluster()) as cluster:
            partitions = self._partitions(cluster)
            producer = cluster.transactions.init_producer(
                own_id, TRANSACTION_MS, is_transactional=target.is_exactly_once
            )
            done = cluster.positions.read(own_id, target.topic) if target.is_exactly_once else 0
            writer = _Writer(cluster, target, own_id, producer, partitions, defaultdict(int))
            for snapshot in snapshots:
                if snapshot.id > done:
                    writer.write(table, snapshot)

    def _partitions(self, cluster: KafkaCluster) -> int:
        found = cluster.topics.partition_count(self.target.topic)
        if found is None:
            raise SinkTopicNotFoundError(topic=self.target.topic, brokers=self.target.brokers)
        return found


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes one snapshot after the other; `sequences` counts the records of each partition."""

    cluster: KafkaCluster
    target: KafkaTarget
    own_id: str
    producer: ProducerState
    partitions: int
    sequences: defaultdict[int, int]

    def write(self, table: FileStoreTable, snapshot: Snapshot) -> None:
        """Write the changes of a snapshot; readers of committed records see all or none."""
        transactions, topic = self.cluster.transactions, self.target.topic
        is_exact = self.target.is_exactly_once
        sent, begun = deque[SentBatch](), set[int]()
        for place, changes in enumerate(changed_rows(table, snapshot)):
            for partition, messages in self._messages(changes, snapshot.id + place):
                if is_exact and partition not in begun:
                    transactions.add_partitions(self.own_id, self.producer, topic, [partition])
                begun.add(partition)
                for batch in record_batches(
                    messages,
                    None,
                    self.producer,
                    base_sequence=self.sequences[partition],
                    time_ms=snapshot.time_ms,
                    checksum=checksum,
                ):
                    if len(sent) == _IN_FLIGHT_MAX:
                        sent.popleft().wait()
                    own_id = self.own_id if is_exact else None
                    sent.append(transactions.send(topic, partition, batch.data, own_id))
                self.sequences[partition] += len(messages)
        while sent:
            sent.popleft().wait()
        if begun and is_exact:
            own_id = self.own_id
            self.cluster.positions.commit(own_id, topic, snapshot.id, own_id, self.producer)
            transactions.end(own_id, self.producer, topic)

    def _messages(self, changes: pa.RecordBatch, place: int) -> Iterator[tuple[int, LogMessages]]:
        """Yield messages with their partitions; records without a key are those of `place`."""
        target, kinds = self.target, changes[CHANGE_TYPE]
        is_envelope = target.takes_changes and not target.is_upsert
        if not is_envelope:
            changes = changes.filter(pc.not_equal(kinds, _PREIMAGE))
            kinds = changes[CHANGE_TYPE]
        columns = [changes[name] for name in target.value.columns]
        if is_envelope:
            values = _enveloped(target.value, columns, pc.is_in(kinds, _GOES))
        else:
            values = target.value.encoder.encoded(columns)
        if target.is_upsert:
            values = pc.if_else(pc.equal(kinds, _DELETE), pa.scalar(None, values.type), values)
        if target.key is None:
            # Changes would lose their order in several partitions.
            partition = 0 if is_envelope or target.is_fixed else place % self.partitions
            yield partition, LogMessages(keys=None, values=values)
            return
        keys = target.key.encoder.encoded([changes[name] for name in target.key.columns])
        if target.is_fixed:
            yield 0, LogMessages(keys=keys, values=values)
            return
        found = key_partitions(pc.fill_null(keys, b""), self.partitions)
        for partition in np.unique(found).tolist():
            is_there = pa.array(found == partition)
            messages = LogMessages(keys=keys.filter(is_there), values=values.filter(is_there))
            yield partition, messages


def _enveloped(
    part: Part, columns: Sequence[pa.Array], gone: pa.BooleanArray
) -> pa.LargeBinaryArray:
    """Return a value for each row that comes or goes."""
    if part.format == DEBEZIUM:
        return changed_values(part.encoder.encoded(columns), gone)
    names = list(part.columns)
    before = pa.StructArray.from_arrays(columns, names, mask=pc.invert(gone))
    after = pa.StructArray.from_arrays(columns, names, mask=gone)
    return part.encoder.encoded([before, after, OPERATIONS.take(gone.cast(pa.int8()))])
