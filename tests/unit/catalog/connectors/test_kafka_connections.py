"""Goal: brokers that do not answer are not waited for at every look."""

from __future__ import annotations

import pytest

from table_store.catalog.connectors.kafka_connections import Brokers, SilentBrokers
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
