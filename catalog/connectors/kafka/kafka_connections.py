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
class IdleConnections:
    """Connections that nobody uses, the last one last; after `rest_s` seconds they are closed."""

    rest_s: float = 60.0
    connections: deque[tuple[float, Brokers, KafkaCluster]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)
    watched: threading.Event = field(default_factory=threading.Event)

    def take(self, brokers: Brokers) -> KafkaCluster | None:
        """Return a connection that is the caller's from now on; None where there is none."""
        with self.lock:
            for entry in reversed(self.connections):
                if entry[1] == brokers:
                    self.connections.remove(entry)
                    return entry[2]
            return None

    def give(self, brokers: Brokers, cluster: KafkaCluster) -> None:
        """Keep a connection for who takes it next."""
        with self.lock:
            self.connections.append((time.monotonic(), brokers, cluster))
            oldest = self.connections.popleft() if len(self.connections) > _IDLE_MAX else None
            if not self.watched.is_set():
                self.watched.set()
                self._close_after(self.rest_s)
        if oldest is not None:
            oldest[2].close()

    def _close_after(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._close_rested)
        timer.daemon = True
        timer.start()

    def _close_rested(self) -> None:
        rested = []
        with self.lock:
            end = time.monotonic() - self.rest_s
            while self.connections and self.connections[0][0] <= end:
                rested.append(self.connections.popleft()[2])
            if self.connections:
                self._close_after(self.connections[0][0] - end)
            else:
                self.watched.clear()
        for cluster in rested:
            cluster.close()


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


_IDLE: Final = IdleConnections()
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
