"""Reads single pages of a Parquet file, though Arrow's reader always begins at the first page.

To read one row of a large row group, Arrow is given a view of the file without the pages in front
of the one that has the row. The headers of the pages tell where each begins; they are Thrift
structs in the compact protocol (source: apache/parquet-format, README and thrift/Thrift.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_store.storage.kernel.bounded_cache import BoundedCache

_PIECE_BYTES: Final = 512
"""How many bytes of a page header are read first: most headers are shorter.

A header has no greatest length, because the bounds of texts in it may have any.
"""

_PLACES_MAX: Final = 1 << 18
"""How many places of pages are remembered."""

_PAGE_BYTES: Final = 3
_VALUE_COUNT: Final = 1
_DATA_PAGES: Final = ([5], [8])
"""Numbers of the Thrift fields of PageHeader that hold DataPageHeader and DataPageHeaderV2."""

_INTEGERS: Final = (4, 5, 6)
_BOOLEANS: Final = (1, 2)
_BINARY: Final = 8
_STRUCT: Final = 12
_VARINT_BITS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A data page: where its header begins, and the place of its first row in the row group."""

    start: int
    first_row: int


_PLACES: Final = BoundedCache[tuple[PagePlace, ...]](_PLACES_MAX, len)


def page_places(
    source: pa.NativeFile, path: str, start: int, end: int, row_count: int
) -> tuple[PagePlace, ...]:
    """Return the data pages of a column without nesting in a row group, in order.

    Headers have no checksums. Damage that would move a page to other rows shows all the same:
    the headers must lead exactly to the end of the last page, with all rows of the row group.

    Args:
        source: the file.
        path: its path; files never change, and the pages are remembered under it.
        start: where the header of the column's first data page begins.
        end: where the column's last page ends.
        row_count: of the row group.

    Raises:
        ValueError: there are no such page headers there.
    """
    name = f"{path}@{start}"
    known = _PLACES.get(name)
    if known is not None:
        return known
    places = []
    first_row, piece_bytes = 0, _PIECE_BYTES
    while start < end:
        length, page_bytes, value_count = _read_header(source, start, end, piece_bytes)
        places.append(PagePlace(start, first_row))
        first_row += value_count
        start += length + page_bytes
        piece_bytes = max(_PIECE_BYTES, length)
    if (start, first_row) != (end, row_count):
        raise ValueError("its pages are others than its footer says")
    _PLACES.put(name, tuple(places))
    return tuple(places)


class PageView:
    """A file in which columns seem to begin at a later page; for `pa.PythonFile`.

    Zeros then follow the last page of such a column. A reader does not meet them as long as it
    reads the first page alone.
    """

    closed = False

    def __init__(self, source: pa.NativeFile, size_bytes: int) -> None:
        self._source = source
        self._size_bytes = size_bytes
        self._moved: list[tuple[int, int, int]] = []
        self._position = 0

    def begin_at(self, page: PagePlace, start: int, end: int) -> None:
        """Let the data pages between `start` and `end` seem to begin with `page`, one of them."""
        if page.start > start:
            self._moved.append((start, end, page.start - start))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place of the file."""
        base = (0, self._position, self._size_bytes)[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._position

    def read(self, count: int = -1) -> bytes:
        """Return bytes of the file as it seems to be."""
        low = self._position
        high = self._size_bytes if count < 0 else min(low + count, self._size_bytes)
        data = bytearray(self._source.read_at(max(0, high - low), low))
        for start, end, skipped in self._moved:
            first, last = max(low, start), min(high, end)
            if first < last:
                seen = self._source.read_at(
                    max(0, min(last, end - skipped) - first), first + skipped
                )
                data[first - low : last - low] = seen.ljust(last - first, b"\0")
        self._position = max(low, high)
        return bytes(data)

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Do nothing: the source stays open."""
        self.closed = True


def _read_header(
    source: pa.NativeFile, start: int, end: int, piece_bytes: int
) -> tuple[int, int, int]:
    """Return what `_parse_header` does for the header at `start`.

    `piece_bytes` are read first, then twice as many each time.

    Raises:
        ValueError: there is no header of a data page, or it does not end in front of `end`.
    """
    bytes_max = end - start
    data = source.read_at(min(piece_bytes, bytes_max), start)
    while (header := _parse_header(data, bytes_max)) is None:
        more = source.read_at(min(len(data), bytes_max - len(data)), start + len(data))
        if not more:
            raise ValueError("a page header is not complete")
        data += more
    return header


def _parse_header(data: bytes, bytes_max: int) -> tuple[int, int, int] | None:
    """Return the length of a page header, the bytes of the page behind it, and its values.

    None means that the header, with which `data` begins, goes on behind `data`.

    Raises:
        ValueError: it is no header of a data page, or is longer than `bytes_max`.
    """
    position = number = 0
    page_bytes = value_count = -1
    parents: list[int] = []
    try:
        while True:
            head = data[position]
            position += 1
            if not head:
                if not parents:
                    break
                number = parents.pop()
                continue
            if head < 16:
                raise ValueError("it has no page header where one belongs")
            number += head >> 4
            kind = head & 15
            if kind == _STRUCT:
                parents.append(number)
                number = 0
            elif kind not in _BOOLEANS:
                value = shift = 0
                while (byte := data[position]) & 128:
                    value |= (byte & 127) << shift
                    shift += 7
                    position += 1
                    if shift >= _VARINT_BITS_MAX:
                        raise ValueError("it has no page header where one belongs")
                value |= byte << shift
                position += 1
                if kind == _BINARY:
                    position += value
                    if position >= bytes_max:
                        raise ValueError("a page header is not complete")
                elif kind not in _INTEGERS:
                    raise ValueError("it has no page header where one belongs")
                elif number == _PAGE_BYTES and not parents:
                    page_bytes = (value >> 1) ^ -(value & 1)
                elif number == _VALUE_COUNT and parents in _DATA_PAGES:
                    value_count = (value >> 1) ^ -(value & 1)
    except IndexError:
        return None
    if min(page_bytes, value_count) < 0:
        raise ValueError("it has another page where data belongs")
    return position, page_bytes, value_count
