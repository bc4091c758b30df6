"""Everything that we ask a Kafka cluster, over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.log_store.kafka.kafka_connection import KafkaConnection
from table_store.storage.log_store.kafka.kafka_group_positions import KafkaGroupPositions
from table_store.storage.log_store.kafka.kafka_records import KafkaRecords
from table_store.storage.log_store.kafka.kafka_topics import KafkaTopics
from table_store.storage.log_store.kafka.kafka_transactions import KafkaTransactions
from table_store.storage.options.log_options import LOG_KAFKA


class KafkaCluster:
    """The brokers of a cluster, connected at the first call; the caller closes it.

    Every call returns or fails within about `timeout_ms`. `prefix` is that of the options that give
    the properties, for messages.
    """

    def __init__(
        self,
        brokers: str,
        properties: Mapping[str, str],
        timeout_ms: int,
        prefix: str = LOG_KAFKA.prefix,
    ) -> None:
        self._connection = KafkaConnection(brokers, properties, timeout_ms, prefix)
        self.records: Final = KafkaRecords(self._connection)
        self.positions: Final = KafkaGroupPositions(self._connection)
        self.topics: Final = KafkaTopics(self._connection)
        self.transactions: Final = KafkaTransactions(self._connection)

    def close(self) -> None:
        """Close the connection; open transactions stay open."""
        self._connection.close()
