"""Goal: what others do to the topic of a table is noticed, and named with where and what to do."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from kafka import KafkaProducer, TopicPartition

from servers.kafka_broker import KafkaBroker
from servers.topic_reader import committed_messages
from table_store import TableDescriptor, connect
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.kafka.kafka_log_store import KafkaLogStore
from table_store.storage.log_store.log_errors import BadLogRecordError, TopicNotFoundError
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_position import PositionFile
from table_store.storage.log_store.log_settings import KafkaSettings

pytestmark = pytest.mark.crash
_names = count()


def new_table(folder: Path, brokers: str) -> FileStoreTable:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("v", "STRING")
    descriptor = descriptor.primary_key("id").option("bucket", "2")
    descriptor = descriptor.option("log.kafka.bootstrap.servers", brokers)
    return connect(str(folder)).create(f"faults{os.getpid()}_{next(_names)}", descriptor).storage


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"id": pa.array([p[0] for p in pairs], pa.int64()), "v": [p[1] for p in pairs]})


def change(table: FileStoreTable) -> None:
    table.append(rows((1, "b"), (2, "b"), (3, "b"), (4, "b")))


def settings_of(table: FileStoreTable) -> KafkaSettings:
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    return settings


def send_foreign(table: FileStoreTable, *headers: tuple[str, bytes]) -> None:
    settings = settings_of(table)
    producer = KafkaProducer(bootstrap_servers=settings.brokers)
    producer.send(settings.topic, b"not ours", headers=list(headers), partition=1).get(10)
    producer.close()


def test_a_record_of_somebody_else_is_named_or_passed_over(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    table.append(rows((1, "a"), (2, "a")))
    at = LogListener(table).catch_up().offsets[1]
    send_foreign(table)
    change(table)  # the commit has happened
    assert PositionFile(table.file_io, table.path).read().snapshot_id == 1
    with pytest.raises(BadLogRecordError, match=rf"partition 1, offset {at} .*foreign-records"):
        LogListener(table).catch_up()
    skips = {**table.schema.options, "log.kafka.foreign-records": "skip"}
    assert table.schema_store.publish(replace(table.schema, id=1, options=skips))
    for _ in range(20):
        send_foreign(table)
    position = LogListener(table).catch_up()
    assert (position.snapshot_id, position.foreign_records) == (2, 21)
    send_foreign(table)
    change(table)
    assert LogListener(table).catch_up().foreign_records == 22
    settings = settings_of(table)
    with pytest.raises(json.JSONDecodeError):
        committed_messages(settings.brokers, settings.topic)


def test_a_topic_that_is_ahead_of_its_table_is_not_its_log(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    table.append(rows((1, "a")))
    send_foreign(table, ("snapshot", b"900"))
    replace(table, listener=NO_LISTENER).append(rows((2, "a")))
    with pytest.raises(BadLogRecordError, match=r"tells of snapshot 900.* latest is 2"):
        LogListener(table).catch_up()


def test_a_topic_that_was_deleted_is_missed_and_may_be_made_again(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    table.append(rows((1, "a"), (2, "a")))
    settings = settings_of(table)
    KafkaLogStore(settings).drop()
    with pytest.raises(TopicNotFoundError, match="Create it again"):
        change(table)
    assert table.snapshot_store.latest_id() == 1
    assert table.changes(1).to_arrow().num_rows == 2
    KafkaLogStore(settings).create()
    change(table)
    messages = committed_messages(settings.brokers, settings.topic)
    assert {m.snapshot_id for m in messages} == {2}


def test_a_topic_whose_data_has_expired_goes_on(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    table.append(rows((1, "a"), (2, "a")))
    table.append(rows((3, "a"), (4, "a")))
    ends = LogListener(table).catch_up().offsets
    settings = settings_of(table)
    with kafka_broker.admin() as admin:
        admin.delete_records({TopicPartition(settings.topic, p): end for p, end in ends.items()})
    change(table)
    messages = committed_messages(settings.brokers, settings.topic)
    assert {m.snapshot_id for m in messages} == {3}
    assert len(messages) == 4  # updates
    assert set(table.changes(1).to_arrow()["_commit_version"].to_pylist()) == {1, 2, 3}
