"""The options of a table's log; `table_options` has them with all others.

Keys, defaults and meanings are FLIP-188's, but for those of the topic and the client.
"""

from __future__ import annotations

from datetime import timedelta

from table_store.storage.options.options import (
    DURATION,
    FOR_SESSION_AND_TABLE,
    FOR_TABLE,
    FOR_TABLE_AND_READ,
    TEXT,
    Option,
    OptionPrefix,
    integer,
    long,
    one_of,
)

LOG_SYSTEM: Option[str | None] = Option(
    key="log.system",
    type=one_of("kafka", "file", "none"),
    default=None,
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    derived_default="kafka with brokers, else file; none without change tracking",
    doc="Where the changes of the table are kept: in a Kafka topic, or beside the data.",
)
LOG_RETENTION: Option[timedelta | None] = Option(
    key="log.retention",
    type=DURATION,
    default=None,
    scopes=FOR_SESSION_AND_TABLE,
    derived_default="as long as the snapshots; in a topic as its brokers do",
    doc="How long changes are kept in the log. Longer: consumers may come back later, and the log "
    "needs more space.",
)
LOG_CONSISTENCY = Option(
    key="log.consistency",
    type=one_of("transactional", "eventual"),
    default="transactional",
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    doc="`transactional`: changes are visible with their snapshot. `eventual` (only with primary "
    "key): at once, with intermediate states that are put right later.",
)
LOG_CHANGELOG_MODE = Option(
    key="log.changelog-mode",
    type=one_of("auto", "upsert", "all"),
    default="auto",
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    doc="`upsert` (only with primary key): the log has no rows from before an update; `all`: it "
    "has (needs `transactional`); `auto`: upsert with primary key, all without.",
)
LOG_KEY_FORMAT = Option(
    key="log.key.format",
    type=one_of("json"),
    default="json",
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    doc="Format of the log's keys for a table with primary key.",
)
LOG_FORMAT = Option(
    key="log.format",
    type=one_of("debezium-json"),
    default="debezium-json",
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    doc="Format of the log's messages.",
)
LOG_SCAN = Option(
    key="log.scan",
    type=one_of("full", "latest", "from-timestamp"),
    default="full",
    scopes=FOR_TABLE_AND_READ,
    doc="Where a consumer starts: `full`: with a snapshot, then its changes; `latest`: with new "
    "changes; `from-timestamp`: with the changes since `log.scan.timestamp-mills`.",
)
LOG_SCAN_TIMESTAMP_MILLS: Option[int | None] = Option(
    key="log.scan.timestamp-mills",
    type=long(),
    default=None,
    scopes=FOR_TABLE_AND_READ,
    doc="Time (milliseconds since 1970) for `from-timestamp`.",
)
SCAN_BOUNDED_MODE = Option(
    key="scan.bounded.mode",
    type=one_of("unbounded", "latest", "latest-offset"),
    default="unbounded",
    scopes=FOR_TABLE_AND_READ,
    mutable=False,
    doc="Where a table that is read in streaming mode ends: `latest`: with what it has when the "
    "statement runs, so that a SELECT has an end and an INSERT runs once. Of a table `kafka` or "
    "`upsert-kafka`: `latest-offset`: with what its topic has when it is first read.",
)
UNTRACKED_CHANGES = Option(
    key="untracked-changes",
    type=one_of("fail", "skip"),
    default="fail",
    scopes=FOR_TABLE_AND_READ,
    doc="What a reader of changes does at a commit without `change-tracking`: `fail`, or `skip` "
    "what it changed.",
)
LOG_KAFKA_BOOTSTRAP_SERVERS: Option[str | None] = Option(
    key="log.kafka.bootstrap.servers",
    type=TEXT,
    default=None,
    scopes=FOR_SESSION_AND_TABLE,
    doc="Kafka brokers, such as `localhost:9092`.",
)
LOG_KAFKA_TOPIC: Option[str | None] = Option(
    key="log.kafka.topic",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="catalog.namespace.table when it is created",
    doc="Topic of the table. It stays when the table gets another name, and goes with the table.",
)
LOG_KAFKA_TOPIC_EXISTING = Option(
    key="log.kafka.topic.existing",
    type=one_of("refuse", "use"),
    default="refuse",
    scopes=FOR_TABLE,
    doc="What CREATE TABLE does where there is a topic of that name: `refuse`, or `use` it if "
    "nothing was ever written to it.",
)
LOG_KAFKA_TOPIC_ON_DROP = Option(
    key="log.kafka.topic.on-drop",
    type=one_of("delete", "keep"),
    default="delete",
    scopes=FOR_TABLE,
    doc="What DROP TABLE does with the topic. With `keep` it asks no broker, so that a table can "
    "go whose brokers are gone.",
)
LOG_KAFKA_TOPIC_REPLICATION_FACTOR: Option[int | None] = Option(
    key="log.kafka.topic.replication-factor",
    type=integer(1, 32_767),
    default=None,
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    derived_default="the brokers'",
    doc="Brokers that hold each partition of the topic. More: what fewer failures lose.",
)
LOG_KAFKA_FOREIGN_RECORDS = Option(
    key="log.kafka.foreign-records",
    type=one_of("fail", "skip"),
    default="fail",
    scopes=FOR_TABLE,
    doc="What the table's writer does at records of the topic that others wrote: `fail`, so that "
    "the log stays behind until somebody looks, or `skip` and count them (CALL sys.relay_log tells "
    "how many).",
)
LOG_KAFKA_TIMEOUT = Option(
    key="log.kafka.timeout",
    type=DURATION,
    default=timedelta(seconds=10),
    scopes=FOR_SESSION_AND_TABLE,
    doc="How long a statement waits for the brokers. Longer: it rides out longer failures, and "
    "says later that there is one.",
)
LOG_KAFKA = OptionPrefix(
    prefix="log.kafka.",
    scopes=FOR_SESSION_AND_TABLE,
    doc="Any property of the Kafka client. In place of its value `${secret:env:NAME}` or "
    "`${secret:file:/path}`, which whoever reaches Kafka looks up.",
)
