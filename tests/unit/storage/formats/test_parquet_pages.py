"""A few rows of a large row group: the pages that have them, and no others, are decoded."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.formats.parquet_format import ParquetFormat, ParquetFormatReader
from table_store.storage.formats.parquet_pages import PagePlace, page_places
from table_store.storage.formats.row_stretch import RowStretch
from tests.unit.storage.formats.page_header import BOUND_LENGTHS, page_header

_ROWS: Final = 50_000
_PLACES: Final = (0, 1, 19_999, 20_000, 20_001, 33_333, 49_999)


def _rows(first: int) -> pa.Table:
    ids = range(first, first + _ROWS)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "text": [None if i % 7 == 0 else f"{i * 2654435761 % 2**32:x}" * 5 for i in ids],
            "word": [f"word {i % 50}" for i in ids],
            "nothing": pa.nulls(_ROWS, pa.int32()),
            "amount": pa.array([Decimal(i % 1000) for i in ids], pa.decimal128(12, 2)),
            "list": [None if i % 5 == 0 else [i] * (i % 3) for i in ids],
            "struct": [None if i % 4 == 0 else {"a": i, "b": f"b{i}"} for i in ids],
        }
    )


@pytest.fixture(scope="module")
def stored() -> tuple[bytes, pa.Table]:
    """A file of two row groups, and its rows."""
    groups = [_rows(0), _rows(_ROWS)]
    sink = MemoryFile()
    writer = ParquetFormat().open_writer(sink, groups[0].schema, ["id"])
    for group in groups:
        writer.write(group)
    writer.close()
    return bytes(sink.data), pa.concat_tables(groups)


class MemoryFile:
    """A file in memory."""

    closed = False
    checksum = 0

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        self.data += data
        return len(data)

    def tell(self) -> int:
        return len(self.data)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class _Counted:
    """Counts the bytes that are read, and in how many calls."""

    closed = False

    def __init__(self, data: bytes) -> None:
        self._source = pa.BufferReader(data)
        self.count = self.calls = 0

    def read(self, count: int = -1) -> bytes:
        found: bytes = self._source.read(None if count < 0 else count)
        self.count += len(found)
        self.calls += 1
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        return int(self._source.tell())

    def close(self) -> None: ...


def test_rows_are_those_of_a_whole_read(stored: tuple[bytes, pa.Table]) -> None:
    """With NULLs, dictionaries, values in lists and structs, at the edges of pages and groups."""
    data, rows = stored
    reader = ParquetFormatReader(pa.BufferReader(data), len(data), "whole")
    everything = range(rows.num_columns)
    for group in (0, 1):
        for place in _PLACES:
            found = reader.stretch(everything, RowStretch(group, place, 1)).to_pylist()
            assert found == rows.slice(group * _ROWS + place, 1).to_pylist()
    expected = rows.select([0, 4]).slice(_ROWS + 7, 1).to_pylist()
    assert reader.stretch([4, 0], RowStretch(1, 7, 1)).to_pylist() == expected


@pytest.mark.parametrize("count", [2, 300, 16_384, 16_385, 40_000, _ROWS])
def test_rows_of_several_pages(stored: tuple[bytes, pa.Table], count: int) -> None:
    """With NULLs, dictionaries, values in lists and structs; up to the last row of a row group."""
    data, rows = stored
    reader = ParquetFormatReader(pa.BufferReader(data), len(data), "several")
    choose = random.Random(count)
    last = _ROWS - count
    for group in (0, 1):
        for first in {0, last, choose.randint(0, last), min(16_383, last), min(16_384, last)}:
            found = reader.stretch(range(rows.num_columns), RowStretch(group, first, count))
            expected = rows.slice(group * _ROWS + first, count)
            assert found.to_pydict() == expected.to_pydict(), (group, first)


def test_one_page_of_many_is_read(stored: tuple[bytes, pa.Table]) -> None:
    """Of the column of long texts, which has most of the file."""
    data, _ = stored
    source = _Counted(data)
    reader = ParquetFormatReader(pa.PythonFile(source, "r"), len(data), "one page")
    count, calls = source.count, source.calls
    reader.stretch([1], RowStretch(0, 49_999, 1))
    assert source.count - count < len(data) / 4
    calls_at_first = source.calls - calls
    reader.stretch([1], RowStretch(0, 49_998, 1))
    # Where pages are is known by now.
    assert source.calls - calls - calls_at_first < calls_at_first


@pytest.mark.parametrize("count", [1, 10_000])
@pytest.mark.parametrize("is_known", [False, True])
def test_damage_gives_no_other_row(
    stored: tuple[bytes, pa.Table], count: int, is_known: bool
) -> None:
    """Any bit may have flipped in the pages and their headers: the rows are right, or refused.

    Also where it flips when it is known already where the pages are.
    """
    data, rows = stored
    expected = rows.select([0, 1]).slice(30_000, count)
    asked = RowStretch(0, 30_000, count)
    choose = random.Random(4)
    reader = ParquetFormatReader(pa.BufferReader(data), len(data), "known")
    row_group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    starts = [row_group.column(i).data_page_offset for i in (0, 1)]
    near_headers = [start + offset for start in starts for offset in range(40)]
    if is_known:
        reader.stretch([0, 1], asked)
    refused = 0
    for place in [*near_headers, *choose.sample(range(starts[0], starts[1] + 400_000), 240)]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << choose.randrange(8)
        path = "known" if is_known else f"damaged at {place}"
        reader = ParquetFormatReader(pa.BufferReader(bytes(damaged)), len(data), path)
        try:
            assert reader.stretch([0, 1], asked).equals(expected), place
        except (ValueError, OSError, pa.ArrowException):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("length", BOUND_LENGTHS)
def test_headers_of_any_length(length: int) -> None:
    """They are found between short ones, and little more than they are is read."""
    data, places = b"PAR1", []
    for page, bound_bytes in enumerate((length, 0, length, length)):
        places.append(PagePlace(len(data), page * 7))
        data += page_header(bound_bytes, 3000, 7) + b"p" * 3000
    source = _Counted(data + b"behind")
    file = pa.PythonFile(source, "r")
    assert page_places(file, f"headers of {length}", 4, len(data), 28) == tuple(places)
    assert source.count <= 3 * 2 * (length + 600) + max(512, length)


@pytest.mark.parametrize("length", BOUND_LENGTHS)
def test_written_bounds_of_any_length(length: int) -> None:
    """The pages of files that have texts of any length as bounds in their headers are found."""
    texts = [letter * length for letter in ("a", "b", "\U0010ffff") for _ in range(3)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": texts}), sink, max_rows_per_page=2, compression="none")
    data = sink.getvalue()
    chunk = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0)
    start, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    if chunk.dictionary_page_offset is not None:
        end -= chunk.data_page_offset - chunk.dictionary_page_offset
    places = page_places(pa.BufferReader(data), f"bounds of {length}", start, end, len(texts))
    assert [page.first_row for page in places] == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("length", [0, 474, 512, 4096, 65_536])
def test_an_incomplete_header_is_no_page(length: int) -> None:
    """Wherever the column ends within it; and no more than the column is read."""
    header = page_header(length, 10, 1)
    for count in {*range(1, 60), *range(len(header) - 60, len(header))} & {*range(1, len(header))}:
        source = _Counted(header + b"behind" * 1000)
        with pytest.raises(ValueError, match="header is not complete"):
            page_places(pa.PythonFile(source, "r"), f"{length} {count}", 0, count, 1)
        assert source.count <= count
        with pytest.raises(ValueError, match="header is not complete"):
            page_places(pa.BufferReader(header[:count]), f"cut {length} {count}", 0, 1 << 30, 1)


@pytest.mark.parametrize(
    "stated", [100_001, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, 1 << 70, 1 << 7000]
)
def test_a_damaged_length_is_not_believed(stated: int) -> None:
    """A value that would end behind the column is noticed without reading that far."""
    data = page_header(20, 10, 1, stated) + b"p" * 100_000
    source = _Counted(data)
    with pytest.raises(ValueError, match="page header"):
        page_places(pa.PythonFile(source, "r"), f"damaged {stated}", 0, 100_000, 1)
    assert source.count <= 512
