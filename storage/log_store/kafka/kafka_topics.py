"""The topics of a Kafka cluster: made, changed, removed, measured and read."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, OffsetSpec

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection, check_code

Offsets: TypeAlias = dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecord:
    """One record as a consumer gets it."""

    partition: int
    offset: int
    time_ms: int
    value: bytes | None
    headers: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic; its `id` is another one after it was deleted and created again."""

    id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """The topics that a connection leads to."""

    _connection: KafkaConnection

    def partition_count(self, topic: str) -> int | None:
        """Return how many partitions a topic has, None where there is no such topic."""

        def find() -> int | None:
            (found,) = self._connection.admin().describe_topics([topic])
            if found["error_code"] == kafka_errors.UnknownTopicOrPartitionError.errno:
                return None
            check_code(found["error_code"])
            return len(found["partitions"])

        return self._connection.run(f"describe topic {topic!r}", find)

    def facts(self, topic: str) -> TopicFacts:
        """Return what a topic is now.

        Raises:
            TopicNotFoundError: there is none.
        """

        def find() -> TopicFacts:
            (found,) = self._connection.admin().describe_topics([topic])
            check_code(found["error_code"])
            # Brokers older than 2.8 know no ids.
            return TopicFacts(id=str(found.get("topic_id")), partitions=len(found["partitions"]))

        return self._connection.run(f"describe topic {topic!r}", find, topic)

    def create(
        self, topic: str, *, partitions: int, replicas: int, configs: Mapping[str, str]
    ) -> bool:
        """Create a topic; return False if it exists. With -1 replicas the brokers choose."""

        def create() -> bool:
            wanted = {
                "num_partitions": partitions,
                "replication_factor": replicas,
                "configs": dict(configs),
            }
            try:
                self._connection.admin().create_topics({topic: wanted}, wait_for_metadata=True)
            except kafka_errors.TopicAlreadyExistsError:
                return False
            return True

        return self._connection.run(f"create topic {topic!r}", create)

    def delete(self, topic: str) -> None:
        """Delete a topic; one that is gone is fine."""

        def delete() -> None:
            with suppress(kafka_errors.UnknownTopicOrPartitionError):
                self._connection.admin().delete_topics([topic])

        self._connection.run(f"delete topic {topic!r}", delete)

    def alter(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set configurations of a topic."""
        resource = ConfigResource("TOPIC", topic, dict(configs))
        self._connection.run(
            f"alter topic {topic!r}", lambda: self._connection.admin().alter_configs([resource])
        )

    def reset(self, topic: str, names: Collection[str]) -> None:
        """Take configurations of a topic back to the brokers' defaults."""
        resource = ConfigResource("TOPIC", topic, list(names))
        self._connection.run(
            f"alter topic {topic!r}", lambda: self._connection.admin().reset_configs([resource])
        )

    def earliest_offsets(self, topic: str, partitions: int) -> Offsets:
        """Return the first offset of every partition that is still there."""
        return self._offsets(topic, partitions, OffsetSpec.EARLIEST, "read_uncommitted")

    def end_offsets(self, topic: str, partitions: int, *, is_committed: bool) -> Offsets:
        """Return where partitions end: with `is_committed`, for readers of committed records."""
        isolation = "read_committed" if is_committed else "read_uncommitted"
        return self._offsets(topic, partitions, OffsetSpec.LATEST, isolation)

    def offsets_since(self, topic: str, partitions: int, time_ms: int) -> Offsets:
        """Return the first offset of a record that is not older than a time, else the end."""
        found = self._offsets(topic, partitions, time_ms, "read_uncommitted")
        if any(offset < 0 for offset in found.values()):
            ends = self.end_offsets(topic, partitions, is_committed=False)
            found = {p: ends[p] if offset < 0 else offset for p, offset in found.items()}
        return found

    def _offsets(self, topic: str, partitions: int, spec: Any, isolation: str) -> Offsets:
        wanted = {TopicPartition(topic, p): spec for p in range(partitions)}

        def find() -> Offsets:
            found = self._connection.admin().list_partition_offsets(
                wanted, isolation_level=isolation
            )
            return {tp.partition: at.offset for tp, at in found.items()}

        return self._connection.run(f"read offsets of topic {topic!r}", find, topic)

    def read(
        self, topic: str, start: Mapping[int, int], end: Mapping[int, int], *, is_committed: bool
    ) -> list[KafkaRecord]:
        """Return the records of each partition from `start` to before `end`, in order.

        Raises:
            LogUnavailableError: nothing came for the whole time limit.
        """
        wanted = {p: offset for p, offset in start.items() if offset < end[p]}
        if not wanted:
            return []
        return self._connection.run(
            f"read topic {topic!r}", lambda: self._read(topic, wanted, end, is_committed), topic
        )

    def _read(
        self, topic: str, start: Mapping[int, int], end: Mapping[int, int], is_committed: bool
    ) -> list[KafkaRecord]:
        consumer = KafkaConsumer(
            bootstrap_servers=self._connection.brokers,
            isolation_level="read_committed" if is_committed else "read_uncommitted",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            allow_auto_create_topics=False,
            max_poll_records=50_000,
            **self._connection.limits(),
            **self._connection.only(KafkaConsumer),
        )
        records: list[KafkaRecord] = []
        try:
            left = {TopicPartition(topic, p) for p in start}
            consumer.assign(sorted(left))
            for tp in left:
                consumer.seek(tp, start[tp.partition])
            stop = time.monotonic() + self._connection.timeout_ms / 1000
            while left:
                got = consumer.poll(timeout_ms=100)
                for tp, of_partition in got.items():
                    records += [_record(r) for r in of_partition if r.offset < end[tp.partition]]
                done = {tp for tp in left if consumer.position(tp) >= end[tp.partition]}
                if got or done:
                    stop = time.monotonic() + self._connection.timeout_ms / 1000
                elif time.monotonic() > stop:
                    raise kafka_errors.KafkaTimeoutError("no record came")
                left -= done
                consumer.pause(*done)
        finally:
            consumer.close(autocommit=False)
        return records


def _record(record: Any) -> KafkaRecord:
    return KafkaRecord(
        partition=record.partition,
        offset=record.offset,
        time_ms=record.timestamp,
        value=record.value,
        headers=dict(record.headers),
    )
