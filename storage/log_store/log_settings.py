"""What the options of a table say about its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.options.log_options import (
    LOG_CHANGELOG_MODE,
    LOG_CONSISTENCY,
    LOG_KAFKA,
    LOG_KAFKA_BOOTSTRAP_SERVERS,
    LOG_KAFKA_FOREIGN_RECORDS,
    LOG_KAFKA_TIMEOUT,
    LOG_KAFKA_TOPIC,
    LOG_KAFKA_TOPIC_EXISTING,
    LOG_KAFKA_TOPIC_ON_DROP,
    LOG_KAFKA_TOPIC_REPLICATION_FACTOR,
    LOG_RETENTION,
    LOG_SYSTEM,
)
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.table_options import BUCKET, CHANGE_TRACKING, TABLE_OPTIONS

_NOT_THE_CLIENTS: Final = frozenset(
    option.key.removeprefix(LOG_KAFKA.prefix)
    for option in (
        LOG_KAFKA_BOOTSTRAP_SERVERS,
        LOG_KAFKA_FOREIGN_RECORDS,
        LOG_KAFKA_TIMEOUT,
        LOG_KAFKA_TOPIC,
        LOG_KAFKA_TOPIC_EXISTING,
        LOG_KAFKA_TOPIC_ON_DROP,
        LOG_KAFKA_TOPIC_REPLICATION_FACTOR,
    )
)


class LogSystem(StrEnum):
    """Where the log of a table is; the values are those of `log.system`."""

    KAFKA = "kafka"
    FILE = "file"
    NONE = "none"


def log_system(options: OptionValues) -> LogSystem:
    """Return where the log is of a table with these options."""
    given = options.get(LOG_SYSTEM)
    if given is not None:
        return LogSystem(given)
    if not options.get(CHANGE_TRACKING):
        return LogSystem.NONE
    has_brokers = options.get(LOG_KAFKA_BOOTSTRAP_SERVERS) is not None
    return LogSystem.KAFKA if has_brokers else LogSystem.FILE


def kept_ms(schema: TableSchema) -> int | None:
    """Return how long the table's changes outlive their snapshots; None if they do not."""
    options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    retention = options.get(LOG_RETENTION)
    if log_system(options) is LogSystem.NONE or retention is None:
        return None
    return int(retention.total_seconds() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """The topic of a table, and how it is reached.

    Attributes:
        brokers: `host:port`, with commas between them.
        topic: its name.
        partitions: as many as the table has buckets.
        replicas: of each partition; -1 is the brokers' default.
        retention_ms: how long records stay; None is the brokers' default.
        outlives_table: whether the topic stays when the table is dropped.
        takes_existing: whether an empty topic that exists may become the table's.
        keeps_preimages: whether the message of an update has the row from before it.
        is_transactional: whether readers see all records of a snapshot or none.
        skips_foreign: whether records that others wrote to the topic are ignored.
        timeout_ms: for each call.
        client: further properties of the client, such as `sasl.mechanism`; passwords among them.
    """

    brokers: str
    topic: str
    partitions: int
    replicas: int
    retention_ms: int | None
    outlives_table: bool
    takes_existing: bool
    keeps_preimages: bool
    is_transactional: bool
    skips_foreign: bool
    timeout_ms: int
    client: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, schema: TableSchema) -> KafkaSettings | None:
        """Return the settings of a table; None where its log is not in Kafka."""
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        brokers, topic = options.get(LOG_KAFKA_BOOTSTRAP_SERVERS), options.get(LOG_KAFKA_TOPIC)
        if brokers is None or topic is None:
            return None
        retention = options.get(LOG_RETENTION)
        client = options.with_prefix(LOG_KAFKA)
        return cls(
            brokers=brokers,
            topic=topic,
            partitions=options.get(BUCKET),
            replicas=options.get(LOG_KAFKA_TOPIC_REPLICATION_FACTOR) or -1,
            retention_ms=None if retention is None else int(retention.total_seconds() * 1000),
            outlives_table=options.get(LOG_KAFKA_TOPIC_ON_DROP) == "keep",
            takes_existing=options.get(LOG_KAFKA_TOPIC_EXISTING) == "use",
            keeps_preimages=_keeps_preimages(options, has_key=bool(schema.primary_key)),
            is_transactional=options.get(LOG_CONSISTENCY) == "transactional",
            skips_foreign=options.get(LOG_KAFKA_FOREIGN_RECORDS) == "skip",
            timeout_ms=int(options.get(LOG_KAFKA_TIMEOUT).total_seconds() * 1000),
            client={key: text for key, text in client.items() if key not in _NOT_THE_CLIENTS},
        )


def _keeps_preimages(options: OptionValues, *, has_key: bool) -> bool:
    mode = options.get(LOG_CHANGELOG_MODE)
    return mode == "all" or (mode == "auto" and not has_key)
