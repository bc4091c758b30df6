"""Goal: batches of any producer are read as Kafka's own client builds and reads them."""

from __future__ import annotations

import gzip
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from table_store.storage.log_store.kafka.kafka_transactions import checksum
from table_store.storage.log_store.kafka.record_decoding import (
    Records,
    UnreadableBatchError,
    decoded,
)

TEXTS = st.one_of(st.none(), st.binary(max_size=200))
RECORDS = st.lists(
    st.tuples(
        TEXTS,
        TEXTS,
        st.lists(st.tuples(st.text(max_size=9), TEXTS), max_size=3),
        st.integers(0, 10**12),
    ),
    min_size=1,
    max_size=30,
)


def built(records: list[tuple[object, ...]], *, compression: int = 0, producer: int = -1) -> bytes:
    """A batch as Kafka's client builds it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=producer >= 0,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        batch_size=1 << 20,
    )
    for number, (key, value, headers, time_ms) in enumerate(records):
        assert builder.append(number, timestamp=time_ms, key=key, value=value, headers=headers)
    return bytes(builder.build())


def moved(batch: bytes, base: int) -> bytes:
    """The batch at another first offset, which the checksum does not cover."""
    return struct.pack(">q", base) + batch[8:]


def values(data: bytes, aborted: list[tuple[int, int]] | None = None) -> list[bytes]:
    found = decoded(data, aborted or [], checksum, with_headers=False)
    return [value for _, records in found if records for value in records.values.to_pylist()]


@given(records=RECORDS, base=st.integers(0, 2**50), is_packed=st.booleans())
def test_any_records_come_back(
    records: list[tuple[object, ...]], base: int, is_packed: bool
) -> None:
    data = moved(built(records, compression=1 if is_packed else 0), base)
    ((behind, found),) = decoded(data + data[:40], [], checksum, with_headers=True)
    assert found is not None
    assert behind == base + len(records)
    assert found.offsets.tolist() == list(range(base, behind))
    assert found.keys.to_pylist() == [key for key, *_ in records]
    assert found.values.to_pylist() == [value for _, value, *_ in records]
    assert found.times_ms.tolist() == [time_ms for *_, time_ms in records]
    assert found.headers is not None
    assert found.headers.to_pylist() == [headers for _, _, headers, _ in records]


def repacked(codec: int, body: bytes) -> bytes:
    """A batch whose records are compressed in another way."""
    plain = built(RECORD)
    after = struct.pack(">h", codec) + plain[23:61] + body
    length = struct.pack(">i", 9 + len(after))
    return plain[:8] + length + plain[12:17] + struct.pack(">I", checksum(after)) + after


RECORD: list[tuple[object, ...]] = [(None, b"a row" * 30, [], 5)]


@pytest.mark.parametrize("kind", ["gzip", "snappy", "xerial", "lz4", "zstd"])
def test_every_compression_of_kafka(kind: str) -> None:
    body = built(RECORD)[61:]
    if kind == "gzip":
        packed, codec = gzip.compress(body), 1
    elif kind == "xerial":
        halves = [pa.Codec("snappy").compress(part, asbytes=True) for part in (body[:9], body[9:])]
        blocks = b"".join(struct.pack(">i", len(half)) + half for half in halves)
        packed, codec = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" + blocks, 2
    else:
        packed = pa.Codec(kind).compress(body, asbytes=True)
        codec = {"snappy": 2, "lz4": 3, "zstd": 4}[kind]
    assert values(repacked(codec, packed)) == [b"a row" * 30]


def marker(producer: int, *, is_commit: bool) -> bytes:
    """The record that ends a transaction."""
    batch = built([(struct.pack(">hh", 0, int(is_commit)), b"", [], 0)], producer=producer)
    after = struct.pack(">h", 0x30) + batch[23:]
    return batch[:17] + struct.pack(">I", checksum(after)) + after


def test_aborted_transactions_are_left_out() -> None:
    """Also while another producer writes between, and until the same one commits."""
    parts = [
        built([(None, b"aborted", [], 0)], producer=7),
        built([(None, b"plain", [], 0)]),
        built([(None, b"committed", [], 0)], producer=8),
        marker(7, is_commit=False),
        built([(None, b"again", [], 0)], producer=7),
        marker(8, is_commit=True),
        marker(7, is_commit=True),
    ]
    data = b"".join(moved(part, number) for number, part in enumerate(parts))
    assert values(data, [(7, 0)]) == [b"plain", b"committed", b"again"]
    assert values(data) == [b"aborted", b"plain", b"committed", b"again"]


def test_what_is_no_batch_is_told() -> None:
    batch = built(RECORD)
    with pytest.raises(UnreadableBatchError, match="checksum"):
        values(batch[:-1] + b"?")
    with pytest.raises(UnreadableBatchError, match="older than Kafka"):
        values(batch[:16] + b"\x01" + batch[17:])
    with pytest.raises(UnreadableBatchError, match="damaged"):
        values(repacked(4, b"no zstd"))


def test_parts_of_records() -> None:
    found = [records for _, records in decoded(built(RECORD * 5), [], checksum, with_headers=True)]
    assert found[0] is not None
    joined = Records.joined([found[0].between(1, 3), found[0].slice(4, 1)])
    assert joined.offsets.tolist() == [1, 2, 4]
    assert len(joined.values) == len(joined) == 3
