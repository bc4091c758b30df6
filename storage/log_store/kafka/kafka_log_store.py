"""The log of a table as a Kafka topic.

A statement publishes its snapshot first. Then the same process brings the topic up to date: it
fences every earlier writer, finds the last snapshot in the topic, and writes the later ones, each
in a transaction. If a process dies before that, the next one finds what is missing in the same way.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.kafka.kafka_client_settings import client_settings
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.kafka.kafka_log_writer import KafkaLogWriter
from table_store.storage.log_store.kafka.patience import patiently
from table_store.storage.log_store.kept_changes import KeptChanges
from table_store.storage.log_store.log_errors import (
    LogFencedError,
    LogUnavailableError,
    TopicExistsError,
    TopicNotFoundError,
)
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.log_store import is_logged, snapshots_after
from table_store.storage.log_store.snapshot_messages import snapshot_messages
from table_store.storage.options.log_options import LOG_KAFKA_TOPIC_ON_DROP

_log = logging.getLogger(__name__)
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@dataclass(frozen=True, slots=True)
class KafkaLogStore:
    """Implements `LogStore` as the topic of one table."""

    settings: KafkaSettings

    def cluster(self) -> KafkaCluster:
        """Return a connection to the brokers; the caller closes it."""
        return KafkaCluster(self.settings.brokers, self.settings.client, self.settings.timeout_ms)

    def check_settings(self) -> None:
        """See `LogStore`."""
        client_settings(self.settings.client)

    def create(self) -> None:
        """See `LogStore`."""
        settings = self.settings
        configs = {"cleanup.policy": "delete", **self._retention(settings.retention_ms)}
        with closing(self.cluster()) as cluster:
            if not cluster.topics.create(
                settings.topic,
                partitions=settings.partitions,
                replicas=settings.replicas,
                configs=configs,
            ):
                self._check_usable(cluster)
                cluster.topics.alter(settings.topic, configs)

    def drop(self) -> None:
        """See `LogStore`; where an option keeps the topic, no broker is asked."""
        settings = self.settings
        if settings.outlives_table:
            _log.warning("The topic %r stays at %s.", settings.topic, settings.brokers)
            return
        try:
            with closing(self.cluster()) as cluster:
                cluster.topics.delete(settings.topic)
        except LogUnavailableError as error:
            raise error.with_remedy(
                f" With {LOG_KAFKA_TOPIC_ON_DROP.key!r} = 'keep' the table goes without its topic."
            ) from error

    def set_retention(self) -> None:
        """See `LogStore`."""
        with closing(self.cluster()) as cluster:
            if self.settings.retention_ms is None:
                cluster.topics.reset(self.settings.topic, ["retention.ms"])
            else:
                cluster.topics.alter(
                    self.settings.topic, self._retention(self.settings.retention_ms)
                )

    def check_ready(self) -> None:
        """See `LogStore`: asks the brokers for the topic."""
        try:
            patiently(self.settings.timeout_ms, self._check_topic)
        except LogUnavailableError as error:
            raise error.with_remedy(
                " Nothing was changed; with 'change-tracking' = 'false' a statement does without "
                "the log."
            ) from error

    def offsets(self, table: FileStoreTable) -> Mapping[int, int]:
        """See `LogStore`; the answer is from the position file, not from the brokers."""
        return _positions(table).read().offsets

    def follow(self, table: FileStoreTable, last_id: int) -> LogPosition:
        """See `LogStore`."""
        with _locks[table.path]:
            return patiently(self.settings.timeout_ms, lambda: self._attempt(table, last_id))

    def keep(self, table: FileStoreTable, first_retained: int) -> None:
        """See `LogStore`.

        Changes are kept beside the data for the table's own readers: a topic in `upsert` mode
        does not have the rows from before an update, and a file is read 200 times as fast.
        """
        KeptChanges(table).keep(first_retained)

    def writer(self, noted: LogPosition) -> KafkaLogWriter:
        """Return a writer that goes on after the last snapshot in the topic; older ones are fenced.

        Args:
            noted: the position that was noted last.

        Raises:
            TopicNotFoundError: the topic is gone.
            LogUnavailableError, LogRefusedError, LogFencedError: the brokers failed or refused.
        """
        return KafkaLogWriter(self.cluster(), self.settings, noted)

    def _attempt(self, table: FileStoreTable, last_id: int) -> LogPosition:
        noted = _positions(table).read()
        if not any(is_logged(s) for s in snapshots_after(table, noted.snapshot_id, last_id)):
            return replace(noted, snapshot_id=max(last_id, noted.snapshot_id))
        with closing(self.writer(noted)) as writer:
            writer.check_known(table.snapshot_store.latest_id() or 0)
            done = writer.position.snapshot_id
            for snapshot in snapshots_after(table, done, last_id):
                if is_logged(snapshot):
                    messages = snapshot_messages(table, snapshot, self.settings)
                    writer.append(snapshot.id, snapshot.time_ms, messages)
            try:
                position = writer.settle(max(last_id, done))
            except LogFencedError:
                # Everything is in the topic. The next writer notes where the topic ends by then.
                return replace(noted, snapshot_id=max(last_id, done))
        _positions(table).write(position)
        return position

    def _check_topic(self) -> None:
        with closing(self.cluster()) as cluster:
            found = cluster.topics.partition_count(self.settings.topic)
        if found is None or found < self.settings.partitions:
            raise TopicNotFoundError(topic=self.settings.topic, brokers=self.settings.brokers)

    def _check_usable(self, cluster: KafkaCluster) -> None:
        settings = self.settings
        found = cluster.topics.partition_count(settings.topic)
        if not settings.takes_existing:
            reason = "nothing says that it is to be the table's"
        elif found != settings.partitions:
            reason = f"has {found} partitions where the table has {settings.partitions} buckets"
        else:
            ends = cluster.topics.end_offsets(settings.topic, found, is_committed=False)
            if not any(ends.values()):
                return
            reason = "records were written to it"
        raise TopicExistsError(topic=settings.topic, brokers=settings.brokers, reason=reason)

    @staticmethod
    def _retention(retention_ms: int | None) -> dict[str, str]:
        return {} if retention_ms is None else {"retention.ms": str(retention_ms)}


def _positions(table: FileStoreTable) -> PositionFile:
    return PositionFile(table.file_io, table.path)
