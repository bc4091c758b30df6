"""What can go wrong with the log of a table."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.options.log_options import LOG_KAFKA


class LogUnavailableError(TableStoreError):
    """The log system does not answer, or not in time."""

    condition = "TABLE_STORE_LOG_UNAVAILABLE"
    sql_state = "08001"
    retriable = True

    def __init__(
        self,
        *,
        brokers: str,
        action: str,
        reason: str,
        remedy: str = "",
        prefix: str = LOG_KAFKA.prefix,
    ) -> None:
        self.brokers = brokers
        self.action = action
        self.reason = reason
        self.remedy = remedy
        self.prefix = prefix
        super().__init__(
            f"Kafka at {brokers} could not {action}: {reason}. Check that the brokers run and "
            f"that '{prefix}bootstrap.servers' and the other '{prefix}*' options are right."
            f"{remedy}"
        )

    def with_remedy(self, remedy: str) -> LogUnavailableError:
        """Return the same error with another advice of what may help."""
        return LogUnavailableError(
            brokers=self.brokers,
            action=self.action,
            reason=self.reason,
            remedy=remedy,
            prefix=self.prefix,
        )


class LogRefusedError(TableStoreError):
    """The log system answered, and refuses."""

    condition = "TABLE_STORE_LOG_REFUSED"
    sql_state = "42501"

    def __init__(
        self, *, brokers: str, action: str, reason: str, prefix: str = LOG_KAFKA.prefix
    ) -> None:
        self.brokers = brokers
        self.action = action
        self.reason = reason
        super().__init__(
            f"Kafka at {brokers} refused to {action}: {reason}. Check the rights of the user and "
            f"the '{prefix}*' options of the table."
        )


class TopicExistsError(TableStoreError):
    """A new table's topic is there already."""

    condition = "TABLE_STORE_TOPIC_ALREADY_EXISTS"
    sql_state = "42710"

    def __init__(self, *, topic: str, brokers: str, reason: str) -> None:
        self.topic = topic
        self.brokers = brokers
        self.reason = reason
        super().__init__(
            f"The topic {topic!r} exists at {brokers} already, and {reason}. Delete it, choose "
            "another with 'log.kafka.topic', or, if it is empty, take it over with "
            "'log.kafka.topic.existing' = 'use'."
        )


class TopicNotFoundError(TableStoreError):
    """The topic of a table is gone."""

    condition = "TABLE_STORE_TOPIC_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, topic: str, brokers: str) -> None:
        self.topic = topic
        self.brokers = brokers
        super().__init__(
            f"The topic {topic!r} of the table is not at {brokers}. Create it again with as many "
            "partitions as the table has buckets; what the log held is in the table's snapshots."
        )


class LogFencedError(TableStoreError):
    """Another process has taken over writing the log of the table; it goes on with the work."""

    condition = "TABLE_STORE_LOG_FENCED"
    sql_state = "40001"
    retriable = True

    def __init__(self, *, topic: str) -> None:
        self.topic = topic
        super().__init__(f"Another process writes the topic {topic!r} by now.")


class SinkTopicNotFoundError(TableStoreError):
    """The topic that a table writes is not there."""

    condition = "TABLE_STORE_SINK_TOPIC_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, topic: str, brokers: str) -> None:
        self.topic = topic
        self.brokers = brokers
        super().__init__(
            f"There is no topic {topic!r} at {brokers}, into which the table's rows go. Create it, "
            "or create the table with the right 'topic' and 'properties.bootstrap.servers'."
        )


class BadLogRecordError(TableStoreError):
    """A record of the log is not one of this table's changes."""

    condition = "TABLE_STORE_BAD_LOG_RECORD"
    sql_state = "22000"

    def __init__(self, *, topic: str, partition: int, offset: int, reason: str) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.reason = reason
        super().__init__(
            f"The record of topic {topic!r}, partition {partition}, offset {offset} is not a "
            f"change of the table: {reason}. Find who writes to the topic besides the table; with "
            "'log.kafka.foreign-records' = 'skip' records without the table's headers are passed "
            "over."
        )


class RecordsGoneError(TableStoreError):
    """A topic has deleted records that are still to be read."""

    condition = "TABLE_STORE_RECORDS_GONE"
    sql_state = "55000"

    def __init__(self, *, topic: str, partition: int, offset: int) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        super().__init__(
            f"Topic {topic!r} has no longer the records of partition {partition} from offset "
            f"{offset} on: they were deleted before they were read, by the topic's retention or by "
            "somebody. To go on without them, run the INSERT with another 'pipeline.name' from a "
            "source that is created anew, with another 'scan.startup.mode' if need be; for the "
            "future let the topic's 'retention.ms' exceed the time that jobs may be away."
        )


class UnreadableRecordError(TableStoreError):
    """A record of a topic that a table reads cannot be read."""

    condition = "TABLE_STORE_UNREADABLE_RECORD"
    sql_state = "22000"

    def __init__(self, *, topic: str, partition: int, offset: int, reason: str) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.reason = reason
        super().__init__(
            f"The record of topic {topic!r}, partition {partition}, offset {offset} is not a row "
            f"of the table: {reason}. Change the definition of the table, or, where it has "
            "a 'format' such as 'json', let such records go to a table of their own with "
            "'dead-letter.table' = 'namespace.table', which is made if there is none, or be left "
            "out with 'json.ignore-parse-errors' = 'true', or that of its format."
        )


class SchemaRegistryUnavailableError(TableStoreError):
    """The schema registry of a table's records does not answer."""

    condition = "TABLE_STORE_SCHEMA_REGISTRY_UNAVAILABLE"
    sql_state = "08001"
    retriable = True

    def __init__(self, *, url: str, action: str, reason: str) -> None:
        self.url = url
        self.action = action
        self.reason = reason
        super().__init__(
            f"The schema registry at {url} could not {action}: {reason}. Check that it runs, and "
            "that the option '….url' of the format is right. Jobs wait, and go on by themselves."
        )


class SchemaRegistryRefusedError(TableStoreError):
    """The schema registry of a table's records answered, and refuses."""

    condition = "TABLE_STORE_SCHEMA_REGISTRY_REFUSED"
    sql_state = "42501"

    def __init__(self, *, url: str, action: str, reason: str) -> None:
        self.url = url
        self.action = action
        self.reason = reason
        super().__init__(
            f"The schema registry at {url} refused to {action}: {reason}. Check the "
            "options of the table's format, the user's rights, and what the registry "
            "has under the subject."
        )
