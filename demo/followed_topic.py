"""A topic of changes by key as a plain consumer reads it, while they come."""

from __future__ import annotations

import json
import threading
from typing import Any

from kafka import KafkaConsumer, TopicPartition

Value = dict[str, Any]


class FollowedTopic:
    """A thread that reads a topic of one partition from its beginning, until it is stopped.

    A record replaces what is known of its key, and one without a value takes it away.
    """

    def __init__(self, brokers: str, topic: str) -> None:
        """Begin to read."""
        self._partition = TopicPartition(topic, 0)
        self._consumer = KafkaConsumer(
            bootstrap_servers=brokers,
            isolation_level="read_committed",
            enable_auto_commit=False,
        )
        self._consumer.assign([self._partition])
        self._consumer.seek_to_beginning()
        self._last: dict[str, Value] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self.records = 0
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        is_at_end = False
        while not (self._is_over.is_set() and is_at_end):
            for records in self._consumer.poll(timeout_ms=200).values():
                with self._lock:
                    for record in records:
                        self._take(record.key.decode(), record.value)
            end = self._consumer.end_offsets([self._partition])[self._partition]
            is_at_end = self._consumer.position(self._partition) >= end
        self._consumer.close()

    def _take(self, key: str, value: bytes | None) -> None:
        self.records += 1
        if value is None:
            self._last.pop(key, None)
        else:
            self._last[key] = json.loads(value)

    def values(self) -> list[Value]:
        """Return the last value of each key."""
        with self._lock:
            return list(self._last.values())

    def stop(self) -> None:
        """Read to the end of the topic, and return then."""
        self._is_over.set()
        self._thread.join()
