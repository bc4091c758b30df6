"""Which log a table has."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.log_store.file_log_store import FileLogStore
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.log_store import LogStore
from table_store.storage.log_store.sinks.blackhole_sink import BlackholeSink
from table_store.storage.log_store.sinks.filesystem_sink import FilesystemSink
from table_store.storage.log_store.sinks.print_sink import PrintSink
from table_store.storage.log_store.sinks.sink_log import SinkLog
from table_store.storage.options.connector_options import CONNECTOR


def log_store(schema: TableSchema) -> LogStore:
    """Return the log of a table with this definition."""
    connector = schema.options.get(CONNECTOR.key)
    if connector is not None:
        return _connector_log(connector.strip().lower(), schema)
    settings = KafkaSettings.of(schema)
    if settings is None:
        return FileLogStore()
    # Imported here because Kafka's client takes a quarter of a second to load.
    from table_store.storage.log_store.kafka.kafka_log_store import KafkaLogStore

    return KafkaLogStore(settings)


def _connector_log(connector: str, schema: TableSchema) -> LogStore:
    """Return what takes the rows of a table with a connector."""
    match connector:
        case "print":
            return SinkLog(PrintSink.of(schema))
        case "blackhole":
            return SinkLog(BlackholeSink())
        case "filesystem":
            return SinkLog(FilesystemSink.of(schema))
        case "kafka" | "upsert-kafka":
            # As below.
            from table_store.storage.log_store.sinks.kafka_sink import KafkaSink

            return SinkLog(KafkaSink.of(schema))
    return FileLogStore()
