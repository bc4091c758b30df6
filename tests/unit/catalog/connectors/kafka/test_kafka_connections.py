"""Goal: a connection serves the next look, but not for ever; silent brokers are let alone."""

from __future__ import annotations

import threading

import pytest

from table_store.catalog.connectors.kafka.kafka_connections import (
    Brokers,
    IdleConnections,
    SilentBrokers,
)
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.log_errors import LogUnavailableError


def test_silent_brokers_are_left_alone_for_a_while() -> None:
    now = [100.0]
    silent = SilentBrokers(clock=lambda: now[0])
    one, other = Brokers("one:1", ()), Brokers("other:1", ())
    silent.check(one)
    silent.note(one, LogUnavailableError(brokers="one:1", action="read", reason="none"))
    silent.check(other)
    for moment in (100.0, 104.9):
        now[0] = moment
        with pytest.raises(LogUnavailableError, match="Kafka at one:1 could not read: none"):
            silent.check(one)
    now[0] = 105.0
    silent.check(one)
    now[0] = 200.0
    silent.note(one, LogUnavailableError(brokers="one:1", action="read", reason="again"))
    with pytest.raises(LogUnavailableError, match="again"):
        silent.check(one)
    assert list(silent.failures) == [one]


class Watched(KafkaCluster):
    """A connection, never made, that tells when it is closed."""

    def __init__(self) -> None:
        super().__init__("one:1", {}, 1000)
        self.closed = threading.Event()

    def close(self) -> None:
        super().close()
        self.closed.set()


def test_a_connection_is_kept_for_the_next_and_closed_when_nobody_comes() -> None:
    one, other = Brokers("one:1", ()), Brokers("other:1", ())
    idle = IdleConnections(rest_s=0.05)
    used, kept = Watched(), Watched()
    idle.give(one, used)
    assert idle.take(other) is None
    assert idle.take(one) is used
    assert idle.take(one) is None
    for _ in range(2):  # the second time with nothing left of the first
        idle.give(one, kept)
        assert kept.closed.wait(10)
        assert idle.take(one) is None
        kept.closed.clear()
    assert not used.closed.is_set()


def test_no_more_than_eight_are_kept() -> None:
    brokers = Brokers("one:1", ())
    idle = IdleConnections()
    clusters = [Watched() for _ in range(10)]
    for cluster in clusters:
        idle.give(brokers, cluster)
    assert [c.closed.is_set() for c in clusters] == [True] * 2 + [False] * 8
    assert idle.take(brokers) is clusters[-1]
