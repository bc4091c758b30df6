"""Texts of any length in a Parquet file: which have bounds, and how many rows make a batch."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.formats.parquet_format import ParquetFormat, ParquetFormatReader
from table_store.storage.formats.parquet_pages import page_places
from tests.unit.storage.formats.test_parquet_pages import MemoryFile

_ROWS: Final = 40


def _stored(rows: pa.Table, *key: str) -> bytes:
    sink = MemoryFile()
    writer = ParquetFormat().open_writer(sink, rows.schema, key)
    writer.write(rows)
    writer.close()
    return bytes(sink.data)


def _with_statistics(data: bytes) -> set[str]:
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    return {column.path_in_schema for column in columns if column.is_stats_set}


def test_bounds_of_long_values_are_left_out() -> None:
    """At any place but in the key; those of short ones and of numbers are there."""
    long, short = "z" * 1000, "z" * 100
    kind = pa.struct(
        [("long", pa.string()), ("n", pa.int32()), ("in", pa.struct([("b", "string")]))]
    )
    rows = pa.table(
        {
            "key": [f"{i:03}{long}" for i in range(_ROWS)],
            "long": [long] * _ROWS,
            "short": [short] * _ROWS,
            "some": [None] * (_ROWS - 1) + [long],
            "bytes": [long.encode()] * _ROWS,
            "nothing": pa.nulls(_ROWS, pa.string()),
            "n": pa.array([Decimal(1)] * _ROWS, pa.decimal128(38, 2)),
            "struct": pa.array([{"long": long, "n": 1, "in": {"b": short}}] * _ROWS, kind),
            "list": [[1, 2]] * _ROWS,
            "map": pa.array([[("a", 1)]] * _ROWS, pa.map_(pa.string(), pa.int32())),
        }
    )
    assert _with_statistics(_stored(rows, "key")) == {
        *("key", "short", "nothing", "n", "struct.n", "struct.in.b"),
    }


@pytest.mark.parametrize("length", [0, 1, 31, 32, 120, 200, 475, 512, 4095, 4096, 4097, 65_536])
@pytest.mark.parametrize("is_key", [False, True])
def test_rows_and_bounds(length: int, is_key: bool) -> None:
    """Values come back; bounds are there for short ones and for keys, unless Arrow leaves them."""
    texts = sorted("é" * (length // 2) + f"{i:02}" for i in range(_ROWS))
    rows = pa.table({"text": texts})
    data = _stored(rows, *(["text"] if is_key else []))
    reader = ParquetFormatReader(pa.BufferReader(data), len(data), f"{length} {is_key}")
    assert reader.table([0], [0]).equals(rows)
    bounds = reader.bounds(0, 0)
    longest = len(texts[-1].encode())
    if longest > 4096 or (longest > 128 and not is_key):
        assert bounds is None
    else:
        assert bounds == (pa.scalar(texts[0]), pa.scalar(texts[-1]), 0)
    chunk = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    end = chunk.data_page_offset + chunk.total_compressed_size
    if chunk.dictionary_page_offset is not None:
        end -= chunk.data_page_offset - chunk.dictionary_page_offset
    source = pa.BufferReader(data)
    places = page_places(source, f"pages {length} {is_key}", chunk.data_page_offset, end, _ROWS)
    assert [page.first_row for page in places] == [0]


@pytest.mark.parametrize(("length", "count"), [(10, 50), (100, 300), (100_000, 300), (1 << 20, 50)])
def test_batches_are_limited(length: int, count: int) -> None:
    """Whether there are few long rows or many."""
    texts = [f"{i:09}" + "z" * length for i in range(count)]
    rows = pa.table({"n": range(count), "text": texts})
    data = _stored(rows)
    reader = ParquetFormatReader(pa.BufferReader(data), len(data), f"batches of {length}")
    batches = list(reader.batches([0, 1], [0]))
    assert pa.Table.from_batches(batches).equals(rows)
    assert max(batch.nbytes for batch in batches) <= (16 << 20) + length + 1000
    assert len(batches) <= rows.nbytes / (8 << 20) + 1
