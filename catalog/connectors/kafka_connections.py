"""Connections to Kafka that a process keeps for its next look or task."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from table_store.catalog.connectors.connector_errors import SourceTopicNotFoundError
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.log_errors import LogUnavailableError, TopicNotFoundError
from table_store.storage.options.kafka_source_options import PROPERTIES

_TIMEOUT_MS: Final = 10_000
_IDLE_MAX: Final = 8
_REST_S: Final = 5.0


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


@dataclass(frozen=True, slots=True)
class SilentBrokers:
    """Brokers that have just not answered: until when they are left alone, and how they failed."""

    clock: Callable[[], float] = time.monotonic
    failures: dict[Brokers, tuple[float, LogUnavailableError]] = field(default_factory=dict)

    def check(self, brokers: Brokers) -> None:
        """Raise the failure again of brokers that are left alone."""
        until, error = self.failures.get(brokers, (0.0, None))
        if error is not None and self.clock() < until:
            raise error.with_remedy(error.remedy)

    def note(self, brokers: Brokers, error: LogUnavailableError) -> None:
        """Leave brokers alone for a while."""
        now = self.clock()
        for known in [b for b, (until, _) in list(self.failures.items()) if until < now]:
            self.failures.pop(known, None)
        self.failures.setdefault(brokers, (now + _REST_S, error))


_IDLE: Final = _Idle()
_SILENT: Final = SilentBrokers()


@contextmanager
def connected(brokers: Brokers, topic: str) -> Iterator[KafkaCluster]:
    """Lend a connection for a topic; after an error it is closed.

    Brokers that did not answer are not asked again for a while, since whoever asks waits long.

    Raises:
        SourceTopicNotFoundError: what is done with it finds no such topic.
        LogUnavailableError: the brokers have not answered just now.
    """
    _SILENT.check(brokers)
    cluster = _IDLE.take(brokers) or brokers.cluster()
    is_well = False
    try:
        yield cluster
        is_well = True
    except LogUnavailableError as error:
        _SILENT.note(brokers, error)
        raise
    except TopicNotFoundError as error:
        raise SourceTopicNotFoundError(topic=topic, brokers=brokers.servers) from error
    finally:
        if is_well:
            _IDLE.give(brokers, cluster)
        else:
            cluster.close()
