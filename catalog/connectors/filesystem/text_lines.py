"""The lines of a text file, many at once."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_store.storage.kernel.arrays import IntArray, Mask

_BLOCK_BYTES: Final = 8 << 20
_QUOTED_BYTES_MAX: Final = 64 << 20
"""A quote that is not closed before so many bytes, or the end of the file, stands for itself, so
that one bad line does not take all that are behind it along."""

_LINE_END, _RETURN, _QUOTE = b'\n\r"'


def text_lines(source: Any, delimiter: str | None) -> Iterator[pa.LargeBinaryArray]:
    """Yield the lines of a stream without their ends and without empty ones.

    A byte order mark at its beginning is no part of the first line.

    Where a delimiter stands between fields, an end of line within a quoted field belongs to the
    field. A field is quoted if it begins with a quote; within others a quote is a character, as
    Arrow reads it, too. Source: RFC 4180.

    Args:
        source: has `read(count)`.
        delimiter: one character; None: each end of line ends a line.
    """
    data, is_over = source.read(len(BOM_UTF8)).removeprefix(BOM_UTF8), False
    while True:
        ends = _line_ends(data, delimiter)
        if len(ends):
            yield _lines(data, ends)
            data = data[int(ends[-1]) + 1 :]
        elif (is_over or len(data) > _QUOTED_BYTES_MAX) and b"\n" in data:
            first = data.index(b"\n")
            yield _lines(data, np.array([first]))
            data = data[first + 1 :]
            continue
        if not is_over:
            block = source.read(_BLOCK_BYTES)
            is_over = not block
            data += block
            if is_over and data:
                data += b"\n"
        elif not data:
            return


def _line_ends(data: bytes, delimiter: str | None) -> IntArray:
    """Return the places of line ends that end a line; `data` begins with a line."""
    octets = np.frombuffer(data, np.uint8)
    ends: IntArray = np.flatnonzero(octets == _LINE_END)
    if delimiter is None or not len(ends):
        return ends
    quotes: IntArray = np.flatnonzero(octets == _QUOTE)
    if not len(quotes):
        return ends
    quotes = np.delete(quotes, _plain_quotes(octets, quotes, delimiter.encode()[-1]))
    is_outside: Mask = np.searchsorted(quotes, ends) % 2 == 0
    return ends[is_outside]


def _plain_quotes(octets: Any, quotes: IntArray, delimiter: int) -> list[int]:
    """Return which quotes, by number, neither begin a quoted field nor are part of one.

    Of the others each second one is where a field begins, or the second of two in a field that
    stand for one. All that are neither are found at once for both ways to count.
    """
    before = octets[np.maximum(quotes - 1, 0)]
    may_begin = (before == _LINE_END) | (before == delimiter) | (quotes == 0)
    may_begin[1:] |= np.diff(quotes) == 1
    wrong = [2 * np.flatnonzero(~may_begin[parity::2]) + parity for parity in (0, 1)]
    plain: list[int] = []
    number = 0
    while True:
        candidates = wrong[number % 2]
        at = int(np.searchsorted(candidates, number))
        if at == len(candidates):
            return plain
        number = int(candidates[at])
        plain.append(number)
        number += 1
        while number < len(quotes) and quotes[number] == quotes[number - 1] + 1:
            plain.append(number)
            number += 1


def _lines(data: bytes, ends: IntArray) -> pa.LargeBinaryArray:
    octets = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], ends[:-1] + 1])
    stops = ends.copy()
    while True:
        is_longer: Mask = (stops > starts) & (octets[np.maximum(stops - 1, 0)] == _RETURN)
        if not is_longer.any():
            break
        stops -= is_longer
    # What is between two lines are values, too, and left out.
    offsets = np.stack([starts, stops], axis=1).reshape(-1).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    values = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    return values.take(pa.array(2 * np.flatnonzero(stops > starts)))
