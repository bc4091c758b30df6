"""Reads ranges of a topic's records as whole columns, straight from the brokers' answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.protocol.consumer import FetchRequest

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection, check_code
from table_store.storage.log_store.kafka.kafka_transactions import checksum
from table_store.storage.log_store.kafka.record_decoding import (
    Records,
    UnreadableBatchError,
    decoded,
)
from table_store.storage.log_store.log_errors import RecordsGoneError, UnreadableRecordError

_FETCH_BYTES: Final = 8 << 20
_WAIT_MS: Final = 500
_PAUSE_S: Final = 0.05
_VERSION_MAX: Final = 11
"""Greatest version of requests: later ones name topics by their ids."""


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """The records that a connection leads to."""

    _connection: KafkaConnection

    def read(
        self,
        topic: str,
        partition: int,
        start: int,
        end: int,
        *,
        is_committed: bool,
        with_headers: bool = False,
    ) -> Iterator[Records]:
        """Yield the records of a partition from `start` to before `end`, a batch at a time.

        Args:
            topic: its name.
            partition: its number.
            start: the first offset.
            end: behind the last one; it has been reached already.
            is_committed: whether records of aborted transactions are left out.
            with_headers: whether headers are read.

        Raises:
            RecordsGoneError: the topic has deleted a part of them.
            UnreadableRecordError: a batch is of an older format or damaged.
            LogUnavailableError: nothing came for the whole time limit.
        """
        at = start
        while at < end:
            answer = self._answer(topic, partition, at, is_committed=is_committed)
            aborted = [(t.producer_id, t.first_offset) for t in answer.aborted_transactions or ()]
            batches = decoded(bytes(answer.records), aborted, checksum, with_headers=with_headers)
            before = at
            try:
                for behind, records in batches:
                    found = None if records is None else records.between(at, end)
                    at = max(at, behind)
                    if found:
                        yield found
                    if at >= end:
                        return
            except UnreadableBatchError as error:
                raise UnreadableRecordError(
                    topic=topic, partition=partition, offset=error.offset, reason=error.reason
                ) from error
            if at == before:
                reason = "its batch is cut off"
                raise UnreadableRecordError(
                    topic=topic, partition=partition, offset=at, reason=reason
                )

    def _answer(self, topic: str, partition: int, at: int, *, is_committed: bool) -> Any:
        """Return the answer of the partition's leader that has records."""
        of_partition = FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=at, partition_max_bytes=_FETCH_BYTES
        )
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_FETCH_BYTES,
            isolation_level=1 if is_committed else 0,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[of_partition])],
            max_version=_VERSION_MAX,
        )
        connection = self._connection

        def ask() -> Any:
            stop = time.monotonic() + connection.timeout_ms / 1000
            while True:
                answer = connection.ask_leader(TopicPartition(topic, partition), request)
                check_code(answer.error_code)
                found = answer.responses[0].partitions[0]
                if found.error_code == kafka_errors.OffsetOutOfRangeError.errno:
                    raise RecordsGoneError(topic=topic, partition=partition, offset=at)
                try:
                    check_code(found.error_code)
                except kafka_errors.RetriableError:
                    if time.monotonic() > stop:
                        raise
                    connection.forget_leaders()
                    time.sleep(_PAUSE_S)
                    continue
                if found.records:
                    return found
                if time.monotonic() > stop:
                    raise kafka_errors.KafkaTimeoutError("no record came")

        return connection.run(f"read topic {topic!r}", ask, topic)
