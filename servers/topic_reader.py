"""The log of a table as anybody reads it: a plain consumer and a JSON parser, nothing of ours."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One record: the change of one row, by the snapshot that made it."""

    partition: int
    snapshot_id: int
    sequence: int
    key: Any
    before: Any
    after: Any
    operation: str


def committed_messages(brokers: str, topic: str) -> list[Message]:
    """All messages that are there now, in the order of the snapshots."""
    messages = [_message(record) for record in committed_records(brokers, topic)]
    return sorted(messages, key=lambda m: m.snapshot_id)


def committed_records(brokers: str, topic: str) -> list[Any]:
    """All records that a `read_committed` consumer gets now; in order within each partition."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    try:
        partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        records: list[Any] = []
        while any(consumer.position(tp) < end for tp, end in ends.items()):
            for found in consumer.poll(timeout_ms=200).values():
                records += found
    finally:
        consumer.close()
    return records


def _message(record: Any) -> Message:
    value, headers = json.loads(record.value), dict(record.headers)
    assert int(headers["bucket"]) == record.partition
    return Message(
        partition=record.partition,
        snapshot_id=int(headers["snapshot"]),
        sequence=int(headers["sequence"]),
        key=None if record.key is None else json.loads(record.key),
        before=value["before"],
        after=value["after"],
        operation=value["op"],
    )


def replayed(messages: list[Message], up_to: int | None = None) -> Counter[str]:
    """The rows (as JSON) that a table has after the messages of snapshots up to `up_to`.

    With a key a new row takes the place of the old one; without, rows are counted.
    """
    by_key: dict[str, str] = {}
    rows: Counter[str] = Counter()
    for message in messages:
        if up_to is not None and message.snapshot_id > up_to:
            continue
        before, after = _text(message.before), _text(message.after)
        if message.key is not None:
            key = json.dumps(message.key)
            if after is None:
                assert by_key.pop(key) == before
            else:
                assert before is None or by_key[key] == before
                by_key[key] = after
            continue
        if before is not None:
            assert rows[before] > 0, f"{before} was not there"
            rows[before] -= 1
        if after is not None:
            rows[after] += 1
    return Counter(by_key.values()) if by_key else +rows


def _text(row: Any) -> str | None:
    return None if row is None else json.dumps(row)
