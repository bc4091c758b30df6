"""Begins transactions of a Kafka cluster, fills them with batches and ends them.

Ready batches are sent by the library's protocol classes, because its producer encodes record by
record in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

import crc32c
from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection, check_code
from table_store.storage.log_store.kafka.record_batch import ProducerState

_TXN_VERSION_MAX: Final = 3
"""Greatest version of requests: later ones change the producer's epoch in each transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that has begun and not ended in one partition."""

    partition: int
    producer_id: int
    epoch: int
    start_offset: int
    coordinator_epoch: int


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch on its way; `wait` returns when all replicas have it, and raises if they do not."""

    wait: Callable[[], None]


def checksum(data: bytes) -> int:
    """Return the CRC-32C of `data`."""
    crc: int = crc32c.crc32c(data)
    return crc


@dataclass(frozen=True, slots=True)
class KafkaTransactions:
    """The transactions that a connection leads to."""

    _connection: KafkaConnection

    def init_producer(
        self, transactional_id: str, transaction_ms: int, *, is_transactional: bool
    ) -> ProducerState:
        """Return a new epoch of a producer; older ones are fenced, their transactions aborted.

        `is_transactional` says whether the producer is going to write in transactions; the
        transactional id is the same in either case.
        """
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_ms,
            producer_id=-1,
            producer_epoch=-1,
            max_version=4,
        )
        answer = self._connection.ask_coordinator("begin to write", transactional_id, request)
        return ProducerState(
            producer_id=answer.producer_id,
            epoch=answer.producer_epoch,
            is_transactional=is_transactional,
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerState,
        topic: str,
        partitions: Collection[int],
    ) -> None:
        """Make partitions part of the transaction, which begins with the first.

        Raises:
            LogFencedError: another epoch has begun.
        """
        added = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
            name=topic, partitions=sorted(partitions)
        )
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[added],
            max_version=_TXN_VERSION_MAX,
        )
        self._connection.ask_coordinator("begin a transaction", transactional_id, request, topic)

    def end(self, transactional_id: str, producer: ProducerState, topic: str) -> None:
        """Commit. On return this is decided; readers see it soon after.

        Raises:
            LogFencedError: another epoch has begun; its writer finds out whether this was
                committed.
        """
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=True,
            max_version=_TXN_VERSION_MAX,
        )
        self._connection.ask_coordinator("commit a transaction", transactional_id, request, topic)

    def send(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None
    ) -> SentBatch:
        """Send a batch; batches of a partition arrive in the order of the calls."""
        part = ProduceRequest.TopicProduceData.PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=self._connection.timeout_ms,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[part])],
            min_version=3,
            max_version=9,
        )
        action = f"write to topic {topic!r}"

        def start() -> Any:
            node = self._connection.leader(TopicPartition(topic, partition))
            manager = self._connection.admin()._manager

            async def send() -> Any:
                return await manager.send(request, node_id=node)

            return manager.call_soon(send)

        sent = self._connection.run(action, start, topic)

        def wait() -> None:
            def finish() -> None:
                manager = self._connection.admin()._manager
                answer = manager.run(manager.wait_for, sent, self._connection.timeout_ms)
                check_code(answer.responses[0].partition_responses[0].error_code)

            self._connection.run(action, finish, topic)

        return SentBatch(wait)

    def unended(self, topic: str, partitions: int) -> tuple[OpenTransaction, ...]:
        """Return the open transactions, behind which readers of committed records cannot read."""

        def find() -> tuple[OpenTransaction, ...]:
            wanted = [TopicPartition(topic, p) for p in range(partitions)]
            found = self._connection.admin().describe_producers(wanted)
            return tuple(
                OpenTransaction(
                    partition=tp.partition,
                    producer_id=producer.producer_id,
                    epoch=producer.producer_epoch,
                    start_offset=producer.current_transaction_start_offset,
                    coordinator_epoch=producer.coordinator_epoch,
                )
                for tp, state in found.items()
                for producer in state.active_producers
                if producer.current_transaction_start_offset >= 0
            )

        return self._connection.run(f"look at transactions of topic {topic!r}", find, topic)

    def is_idle(self, transactional_id: str, producer: ProducerState) -> bool:
        """Return whether the coordinator says that all transactions of a producer have ended.

        Raises:
            LogFencedError: another epoch has begun.
        """

        def describe() -> bool:
            found = self._connection.admin().describe_transactions([transactional_id])
            now = found[transactional_id]
            if (now.producer_id, now.producer_epoch) != (producer.producer_id, producer.epoch):
                raise kafka_errors.ProducerFencedError
            return not now.state.value.startswith("Prepare")

        return self._connection.run("look at a transaction", describe, transactional_id)

    def write_marker(self, topic: str, open_: OpenTransaction, *, is_commit: bool) -> None:
        """End a transaction in one partition, though its coordinator believes that it has ended."""
        kind = WriteTxnMarkersRequest.WritableTxnMarker
        marker = kind(
            producer_id=open_.producer_id,
            producer_epoch=open_.epoch,
            transaction_result=is_commit,
            coordinator_epoch=open_.coordinator_epoch,
            topics=[kind.WritableTxnMarkerTopic(name=topic, partition_indexes=[open_.partition])],
        )
        request = WriteTxnMarkersRequest(markers=[marker])

        def write() -> None:
            node = self._connection.leader(TopicPartition(topic, open_.partition))
            manager = self._connection.admin()._manager

            async def send() -> Any:
                return await manager.send(request, node_id=node)

            answer = manager.run(send)
            check_code(answer.markers[0].topics[0].partitions[0].error_code)

        self._connection.run(f"end a transaction of topic {topic!r}", write, topic)
