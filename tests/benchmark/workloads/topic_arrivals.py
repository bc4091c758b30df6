"""When a plain Kafka consumer gets the rows of a table's topic."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing

from kafka import KafkaConsumer, TopicPartition

from tests.benchmark.measurements import WrongResultError

_IDLE_S = 0.3


class TopicArrivals:
    """A plain consumer on a thread of its own, which notes when it got the row of each id."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False
        )
        self._consumer.assign([TopicPartition(topic, 0)])
        self._consumer.seek_to_beginning()
        self._arrived: dict[int, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self, count: int) -> dict[int, float]:
        """Milliseconds since 1970 by id, once `count` rows are there."""
        end = time.monotonic() + 30
        while len(self._arrived) < count and time.monotonic() < end:
            time.sleep(_IDLE_S)
        self._is_over.set()
        self._thread.join()
        if len(self._arrived) != count:
            raise WrongResultError(f"{len(self._arrived)} of {count} rows in the topic")
        return self._arrived

    def _run(self) -> None:
        with closing(self._consumer):
            while not self._is_over.is_set():
                for records in self._consumer.poll(timeout_ms=100).values():
                    now_ms = time.time() * 1000
                    self._arrived.update((_id_of(record.value), now_ms) for record in records)


def _id_of(value: bytes) -> int:
    row: dict[str, int] = json.loads(value)["after"]
    return row["id"]
