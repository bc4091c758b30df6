"""Headers of Parquet pages with bounds of any length, which Arrow would not write."""

from __future__ import annotations

from typing import Final

BOUND_LENGTHS: Final = (
    *(0, 1, 31, 32, 255, 256, 474, 475, 476, 511, 512),
    *(4095, 4096, 4097, 65_535, 65_536, 1 << 20),
)
"""Of a value in the header of a page; about 475 bytes make a header of 512."""


def _varint(number: int) -> bytes:
    """An integer as Thrift's compact protocol has it, before zigzag."""
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def page_header(
    bound_bytes: int, page_bytes: int, value_count: int, stated: int | None = None
) -> bytes:
    """The header of a data page with a greatest value of that length.

    Its length is given as `stated`, if that is not None.
    """
    bound = b"\x18" + _varint(bound_bytes if stated is None else stated) + b"z" * bound_bytes
    counts = b"\x15" + _varint(2 * value_count) + b"\x15\0\x15\x06\x15\x06"
    sizes = b"\x15\0\x15" + _varint(2 * page_bytes) + b"\x15" + _varint(2 * page_bytes)
    return sizes + b"\x15\0\x1c" + counts + b"\x1c" + bound + b"\0\0\0"
