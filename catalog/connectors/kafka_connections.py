"""Connections to Kafka that a process keeps for its next look or task."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.options.kafka_source_options import PROPERTIES

_TIMEOUT_MS: Final = 10_000
_IDLE_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Brokers:
    """How a topic is reached.

    Attributes:
        servers: `host:port`, with commas between them.
        properties: further ones of the client, sorted; passwords among them.
    """

    servers: str
    properties: tuple[tuple[str, str], ...] = field(repr=False)

    def cluster(self) -> KafkaCluster:
        """Return a connection that the caller closes.

        Raises:
            InvalidOptionError: the client has no such property, or not such a value.
        """
        return KafkaCluster(self.servers, dict(self.properties), _TIMEOUT_MS, PROPERTIES.prefix)


@dataclass(frozen=True, slots=True)
class _Idle:
    """Connections that nobody uses, the last one last."""

    connections: deque[tuple[Brokers, KafkaCluster]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, brokers: Brokers) -> KafkaCluster | None:
        with self.lock:
            for known, cluster in reversed(self.connections):
                if known == brokers:
                    self.connections.remove((known, cluster))
                    return cluster
            return None

    def give(self, brokers: Brokers, cluster: KafkaCluster) -> None:
        with self.lock:
            self.connections.append((brokers, cluster))
            oldest = self.connections.popleft() if len(self.connections) > _IDLE_MAX else None
        if oldest is not None:
            oldest[1].close()


_IDLE: Final = _Idle()


@contextmanager
def connected(brokers: Brokers) -> Iterator[KafkaCluster]:
    """Lend a connection; after an error it is closed."""
    cluster = _IDLE.take(brokers) or brokers.cluster()
    is_well = False
    try:
        yield cluster
        is_well = True
    finally:
        if is_well:
            _IDLE.give(brokers, cluster)
        else:
            cluster.close()
