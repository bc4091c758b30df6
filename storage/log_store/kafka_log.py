"""Opening the log of a table in Kafka, for whoever may never need to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_store.storage.log_store.log_settings import KafkaSettings

if TYPE_CHECKING:
    from table_store.storage.log_store.kafka_log_store import KafkaLogStore


def kafka_log(settings: KafkaSettings) -> KafkaLogStore:
    """Return the topic of a table."""
    # Here, and not above: Kafka's client takes a quarter of a second to load.
    from table_store.storage.log_store.kafka_log_store import KafkaLogStore

    return KafkaLogStore(settings)
