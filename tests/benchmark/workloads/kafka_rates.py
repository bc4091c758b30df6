"""How fast changes go into the Kafka log and out of it again, without Spark.

Records are Debezium JSON of about 200 bytes, without their keys. What is consumed is checked, once
for all values, then by count.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from kafka import KafkaConsumer, TopicPartition

from table_store import TableDescriptor, connect
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import KafkaSettings
from tests.benchmark.bench import Bench
from tests.benchmark.measurements import OURS, WrongResultError

_PARTITIONS = 2
_CHECKED_ROWS = 20_000
_RECORDS_MIN = 200_000
_FILLING = (
    "a remark that makes the message two hundred bytes in all, with its quotes and names, about: "
)
_PRODUCE, _CONSUME = "Kafka log, produce", "Kafka log, consume (plain client)"


@dataclass(slots=True)
class KafkaRates:
    """Relays snapshots of a tenth of the run's rows into a topic and reads them as anybody."""

    bench: Bench
    brokers: str

    def run(self) -> None:
        """Check the records, then measure both ways; one table and topic for each repetition."""
        self.bench.say("Kafka log")
        self._check()
        for number in range(self.bench.repeats):
            table = self._table(f"rates_{number}", self._count)
            self.bench.measured.measure(_PRODUCE, OURS, partial(self._relay, table))
            values: list[bytes] = []
            self.bench.measured.measure(_CONSUME, OURS, partial(self._consume, table, values))
            if len(values) != self._count:
                raise WrongResultError(f"{len(values)} of {self._count} records came")
            record_bytes = sum(map(len, values)) / len(values)
        for work in (_PRODUCE, _CONSUME):
            seconds = self.bench.measured.median(work, OURS)
            assert seconds is not None
            rate = {"records_per_s": self._count / seconds, "value_bytes": record_bytes}
            self.bench.measured.figures[work] = rate

    @property
    def _count(self) -> int:
        return max(_RECORDS_MIN, self.bench.rows // 10)

    def _check(self) -> None:
        table = self._table("rates_checked", _CHECKED_ROWS)
        self._relay(table)
        values: list[bytes] = []
        self._consume(table, values)
        rows = sorted((json.loads(value)["after"] for value in values), key=lambda row: row["id"])
        if rows != table.scan().to_arrow().sort_by("id").to_pylist():
            raise WrongResultError("the topic and the table differ")

    def _table(self, name: str, count: int) -> FileStoreTable:
        descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("name", "STRING")
        descriptor = descriptor.column("note", "STRING").column("price", "DOUBLE")
        descriptor = descriptor.primary_key("id").option("bucket", str(_PARTITIONS))
        descriptor = descriptor.option("log.kafka.bootstrap.servers", self.brokers)
        table = (
            connect(str(self.bench.folder / "rates"))
            .create(f"{name}_{os.getpid()}", descriptor)
            .storage
        )
        # Committed, and not yet told.
        FileStoreTable(table.file_io, table.path, listener=NO_LISTENER).append(_rows(count))
        return table

    def _relay(self, table: FileStoreTable) -> None:
        LogListener(table).catch_up()

    def _consume(self, table: FileStoreTable, values: list[bytes]) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self.brokers,
            isolation_level="read_committed",
            enable_auto_commit=False,
            max_poll_records=50_000,
            fetch_max_bytes=64 << 20,
            max_partition_fetch_bytes=16 << 20,
        )
        try:
            partitions = [TopicPartition(_settings(table).topic, p) for p in range(_PARTITIONS)]
            consumer.assign(partitions)
            consumer.seek_to_beginning(*partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(part) < end for part, end in ends.items()):
                for records in consumer.poll(timeout_ms=500).values():
                    values += [record.value for record in records]
        finally:
            consumer.close()


def _settings(table: FileStoreTable) -> KafkaSettings:
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    return settings


def _rows(count: int) -> pa.Table:
    random = np.random.default_rng(3)
    names = pa.array(random.integers(10**11, 10**12, count)).cast(pa.string())
    return pa.table(
        {
            "id": pa.array(random.permutation(count), pa.int64()),
            "name": names,
            "note": pa.compute.binary_join_element_wise(_FILLING, names, ""),
            "price": random.integers(1, 10**6, count) / 100,
        }
    )
