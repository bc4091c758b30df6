"""A number that a consumer group keeps: how far somebody has come who writes in transactions.

It is committed together with the records of a transaction, so that it says exactly which are there
(KIP-98). It stands where members of a group note offsets, at partition 0 of the topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.producer import AddOffsetsToTxnRequest, TxnOffsetCommitRequest

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection
from table_store.storage.log_store.kafka.record_batch import ProducerState

_TXN_VERSION_MAX: Final = 3
_STABLE_VERSION: Final = 7


@dataclass(frozen=True, slots=True)
class KafkaGroupPositions:
    """The numbers of the groups that a connection leads to."""

    _connection: KafkaConnection

    def read(self, group: str, topic: str) -> int:
        """Return the number of a group, when no transaction is open that changes it; 0 for none."""
        return max(0, *self.offsets(group, topic, 1).values())

    def offsets(self, group: str, topic: str, partitions: int) -> dict[int, int]:
        """Return what a group notes of the first partitions of a topic; -1 where it notes nothing.

        It waits for open transactions that change it.
        """
        indexes = list(range(partitions))
        asked = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)
        request = OffsetFetchRequest(
            group_id=group,
            topics=[asked],
            require_stable=True,
            min_version=_STABLE_VERSION,
            max_version=_STABLE_VERSION,
        )
        answer = self._connection.ask_coordinator(
            f"read what group {group!r} notes", group, request, topic, is_group=True
        )
        return dict.fromkeys(indexes, -1) | {
            int(part.partition_index): int(part.committed_offset)
            for at in answer.topics
            for part in at.partitions
        }

    def commit(
        self, group: str, topic: str, number: int, transactional_id: str, producer: ProducerState
    ) -> None:
        """Make a number that of the group, if the producer's transaction is committed.

        Raises:
            LogFencedError: another epoch of the producer has begun.
        """
        adding = AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group,
            max_version=_TXN_VERSION_MAX,
        )
        action = f"note in group {group!r} what is written"
        self._connection.ask_coordinator(action, transactional_id, adding, topic)
        kind = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        part = kind.TxnOffsetCommitRequestPartition(
            partition_index=0,
            committed_offset=number,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=[kind(name=topic, partitions=[part])],
            max_version=_TXN_VERSION_MAX,
        )
        self._connection.ask_coordinator(action, group, request, topic, is_group=True)
