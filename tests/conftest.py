"""What tests of all kinds share: one real Kafka broker for each test process that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers.kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running broker; tests use topics of their own and leave it running."""
    from tests.servers.kafka_broker import KafkaBroker  # takes its time; most tests need none

    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.kill()
