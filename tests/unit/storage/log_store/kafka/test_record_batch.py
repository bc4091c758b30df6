"""Goal: Kafka's own decoder reads the batches that are built here, record by record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.util import encode_varint

from table_store.storage.log_store.encoding.debezium_json import LogMessages
from table_store.storage.log_store.kafka.kafka_transactions import checksum
from table_store.storage.log_store.kafka.record_batch import (
    BATCH_BYTES_MAX,
    ProducerState,
    RecordBatch,
    RecordOrigin,
    record_batches,
    varints,
)

PRODUCER = ProducerState(producer_id=77, epoch=3, is_transactional=True)


@given(
    values=st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=40),
    has_key=st.booleans(),
    has_headers=st.booleans(),
    snapshot_id=st.integers(1, 2**62),
    first=st.integers(0, 2**40),
)
def test_any_records_come_back(
    values: list[bytes | None], has_key: bool, has_headers: bool, snapshot_id: int, first: int
) -> None:
    keys = [value and value[:5] for value in values] if has_key else None
    origin = RecordOrigin(snapshot_id=snapshot_id, bucket=5, first_sequence=first)
    (batch,) = batches(values, keys, origin if has_headers else None)
    decoded = DefaultRecordBatch(batch.data)
    assert decoded.validate_crc()
    assert decoded.is_transactional
    assert (decoded.producer_id, decoded.producer_epoch, decoded.base_sequence) == (77, 3, 9)
    records = list(decoded)
    assert [r.value for r in records] == values
    assert [r.key for r in records] == (keys if has_key else [None] * len(values))
    assert [r.offset for r in records] == list(range(len(values)))
    assert {r.timestamp for r in records} == {1234}
    for number, record in enumerate(records):
        expected = [
            ("snapshot", str(snapshot_id).encode()),
            ("bucket", b"5"),
            ("sequence", str(first + number).encode()),
        ]
        assert record.headers == (expected if has_headers else [])


def test_many_records_are_several_batches_that_follow_each_other() -> None:
    rng = np.random.default_rng(1)
    values = [rng.bytes(1000) for _ in range(6000)]  # nothing to compress
    found = batches(values, None, RecordOrigin(snapshot_id=1, bucket=0, first_sequence=0))
    assert len(found) > 6
    assert all(len(batch.data) <= BATCH_BYTES_MAX + 100 for batch in found)
    decoded = [DefaultRecordBatch(batch.data) for batch in found]
    sequences = [batch.base_sequence - 9 for batch in decoded]
    assert sequences == np.cumsum([0, *[batch.count for batch in found[:-1]]]).tolist()
    assert [r.value for batch in decoded for r in batch] == values


def test_a_record_that_is_too_large_for_a_batch_is_one() -> None:
    values = [b"a", np.random.default_rng(1).bytes(2_000_000), b"b"]
    found = batches(values, None, RecordOrigin(snapshot_id=1, bucket=0, first_sequence=0))
    assert [batch.count for batch in found] == [1, 1, 1]


@given(st.lists(st.integers(-(2**31), 2**31)))
def test_numbers_are_as_kafka_writes_them(numbers: list[int]) -> None:
    expected = []
    for number in numbers:
        out = bytearray()
        encode_varint(number, out.append)
        expected.append(bytes(out))
    assert varints(np.array(numbers, np.int64)).to_pylist() == expected


def batches(
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None,
    origin: RecordOrigin | None,
) -> list[RecordBatch]:
    messages = LogMessages(
        keys=None if keys is None else pa.array(keys, pa.large_binary()),
        values=pa.array(values, pa.large_binary()),
    )
    found = record_batches(
        messages, origin, PRODUCER, base_sequence=9, time_ms=1234, checksum=checksum
    )
    return list(found)
