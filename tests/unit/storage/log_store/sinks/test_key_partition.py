"""Goal: a key's partition is the one that Kafka's own producers choose."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from table_store.storage.log_store.sinks.key_partition import key_partitions


@given(st.lists(st.binary(max_size=20), max_size=30), st.integers(1, 50))
def test_it_is_that_of_the_client(keys: list[bytes], partitions: int) -> None:
    found = key_partitions(pa.array(keys, pa.large_binary()), partitions)
    assert found.tolist() == [(murmur2(key) & 0x7FFFFFFF) % partitions for key in keys]
