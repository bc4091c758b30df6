"""The rows that DESCRIBE EXTENDED adds to Spark's own for a managed table (seeds 000, 002)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.jobs.progress import read_progress
from table_store.storage.file_store.metadata.live_files import PartitionSummary
from table_store.storage.file_store.metadata.watermark import is_wall_time
from table_store.storage.file_store.model.partition_path import partition_folders
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidSchemaError, NotFoundError
from table_store.storage.kernel.secrets import shown_value
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.kernel.values import EPOCH_UTC, Value
from table_store.storage.log_store.log_settings import log_system
from table_store.storage.options.log_options import (
    LOG_KAFKA_BOOTSTRAP_SERVERS,
    LOG_KAFKA_TOPIC,
    LOG_RETENTION,
    LOG_SYSTEM,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import (
    BUCKET,
    CHANGE_TRACKING,
    FILE_FORMAT,
    TABLE_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class DescribeRow:
    """One line; `value` is None if there is none, for example no brokers or no watermark."""

    name: str
    value: str | None
    description: str


def describe_rows(
    table: FileStoreTable,
    *,
    partition: Mapping[str, Value] | None = None,
    time_zone: str = "UTC",
) -> tuple[DescribeRow, ...]:
    """Return the seeds' rows for a table, or for one partition of it.

    Args:
        table: to describe as it is now.
        partition: column to value; all partition columns.
        time_zone: of the times in the rows.

    Raises:
        InvalidSchemaError: the partition names other columns than those of the table.
        NotFoundError: the partition has no rows.
    """
    schema = table.schema
    snapshot = table.latest_snapshot()
    live = table.live_files(snapshot, schema)
    zone = find_zone(time_zone)
    watermark = None if snapshot is None else snapshot.watermark
    if partition:
        values = _partition_values(schema, partition)
        found = live.in_scope(Scope(spec=dict(zip(schema.partition_keys, values, strict=True))))
        summaries = found.partitions()
        watermark = summaries[0].watermark if summaries else None
        folders = partition_folders(schema.partition_keys, values)
        if not summaries:
            raise NotFoundError(kind="partition", name="/".join(folders))
        spec = DescribeRow("partition", "/".join(folders), "partition")
        path = "/".join((table.path, *folders))
        first: tuple[DescribeRow, ...] = (spec,)
    else:
        summaries, path, first = live.partitions(), table.path, ()
    rows = _option_rows(schema)
    rows["file.path"] = DescribeRow("file.path", path, "where the files are")
    rows["watermark"] = _watermark_row(watermark, dt.UTC if is_wall_time(schema) else zone)
    ordered = [rows[key] for key in _ORDER]
    return (*first, *_query_rows(table, schema, zone), *ordered, *_file_rows(summaries, zone))


def _query_rows(
    table: FileStoreTable, schema: TableSchema, zone: dt.tzinfo
) -> tuple[DescribeRow, ...]:
    if schema.query is None:
        return ()
    progress = read_progress(table.file_io, table.path)
    barrier = None if progress is None else _time_text(progress.barrier, zone)
    upkeep = schema.upkeep
    schedule = None if upkeep.schedule is None else upkeep.schedule.sql
    because = "" if upkeep.suspended_because is None else f": {upkeep.suspended_because}"
    state = f"suspended{because}" if upkeep.is_suspended else "active"
    return (
        DescribeRow("query", schema.query.text, "query whose result the rows are"),
        DescribeRow("barrier", barrier, "when the rows were the query's result"),
        DescribeRow("refresh policy", upkeep.policy.value, "which way of refreshing is taken"),
        DescribeRow("schedule", schedule, "when a job runner refreshes it"),
        DescribeRow("state", state, "whether it may be refreshed"),
    )


_ORDER = (
    "log.system",
    "log.kafka.bootstrap.servers",
    "log.retention",
    "file.path",
    "log.kafka.topic",
    "watermark",
    "file.format",
    "bucket",
    "change-tracking",
)


def _option_rows(schema: TableSchema) -> dict[str, DescribeRow]:
    options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    brokers = options.get(LOG_KAFKA_BOOTSTRAP_SERVERS)
    values = {
        LOG_SYSTEM.key: (log_system(options).value, "log system"),
        LOG_KAFKA_BOOTSTRAP_SERVERS.key: (brokers, "Kafka brokers"),
        LOG_RETENTION.key: (
            schema.options.get(LOG_RETENTION.key),
            "how long changes are kept in the log",
        ),
        LOG_KAFKA_TOPIC.key: (options.get(LOG_KAFKA_TOPIC), "topic of Kafka"),
        FILE_FORMAT.key: (options.get(FILE_FORMAT), "format of new files"),
        BUCKET.key: (str(options.get(BUCKET)), "buckets of a partition"),
        CHANGE_TRACKING.key: (
            str(options.get(CHANGE_TRACKING)).lower(),
            "whether changes are tracked",
        ),
    }
    return {
        key: DescribeRow(key, shown_value(key, value), description)
        for key, (value, description) in values.items()
    }


def _watermark_row(watermark: int | None, zone: dt.tzinfo) -> DescribeRow:
    text = None if watermark is None else _time_text(watermark, zone)
    return DescribeRow("watermark", text, "watermark of the latest written rows")


def _file_rows(summaries: tuple[PartitionSummary, ...], zone: dt.tzinfo) -> tuple[DescribeRow, ...]:
    last_ms = max((summary.last_modified_ms for summary in summaries), default=None)
    is_compacted = all(summary.compacted for summary in summaries)
    file_count = sum(summary.file_count for summary in summaries)
    return (
        DescribeRow(
            "last-modified",
            None if last_ms is None else _time_text(last_ms, zone),
            "when the newest file was written",
        ),
        DescribeRow("compacted", str(is_compacted).lower(), "whether a read merges nothing"),
        DescribeRow("num-files", str(file_count), "number of data files"),
    )


def _partition_values(schema: TableSchema, partition: Mapping[str, Value]) -> tuple[Value, ...]:
    if set(partition) != set(schema.partition_keys):
        raise InvalidSchemaError(
            reason=f"a partition is named by all of ({', '.join(schema.partition_keys)}), not by "
            f"({', '.join(partition)})"
        )
    return tuple(partition[name] for name in schema.partition_keys)


def _time_text(time_ms: int, zone: dt.tzinfo) -> str:
    try:
        moment = (EPOCH_UTC + dt.timedelta(milliseconds=time_ms)).astimezone(zone)
    except OverflowError:
        return f"{time_ms} ms"  # Python does not know this year
    return moment.replace(tzinfo=None).isoformat(" ", "milliseconds")
