"""Which log a table has."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.log_store.file_log_store import FileLogStore
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.log_store import LogStore


def log_store(schema: TableSchema) -> LogStore:
    """Return the log of a table with this definition."""
    settings = KafkaSettings.of(schema)
    if settings is None:
        return FileLogStore()
    # Imported here because Kafka's client takes a quarter of a second to load.
    from table_store.storage.log_store.kafka.kafka_log_store import KafkaLogStore

    return KafkaLogStore(settings)
