"""All that is asked of a Kafka cluster, over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection
from table_store.storage.log_store.kafka.kafka_topics import KafkaTopics
from table_store.storage.log_store.kafka.kafka_transactions import KafkaTransactions


class KafkaCluster:
    """Brokers that are reached at the first call; to be closed.

    Every call returns or fails within about `timeout_ms`.
    """

    def __init__(self, brokers: str, properties: Mapping[str, str], timeout_ms: int) -> None:
        self._connection = KafkaConnection(brokers, properties, timeout_ms)
        self.topics: Final = KafkaTopics(self._connection)
        self.transactions: Final = KafkaTransactions(self._connection)

    def close(self) -> None:
        """Close the connection; nothing is ended or flushed."""
        self._connection.close()
