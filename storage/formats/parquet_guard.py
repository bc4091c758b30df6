"""The guard of a Parquet file's footer, in which a flipped bit would go unnoticed.

Parquet has checksums for pages but none for the footer, which holds the row counts and the bounds
by which readers skip rows. So the 8 bytes in front of the footer are a guard: the magic `TSF1`,
then the CRC-32 (little endian) of the footer and all that follows it. Parquet allows any bytes
there, because readers find everything by offsets; other readers do not notice the guard.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.error_keeping_sink import ErrorKeepingSink

_MAGIC: Final = b"TSF1"
_GUARD_BYTES: Final = 8
_TAIL_BYTES: Final = 8
"""Length of the footer (4 bytes, little endian) and `PAR1`."""

_FIRST_READ_BYTES: Final = 64 << 10


class GuardingSink(ErrorKeepingSink):
    """Puts the guard in front of the footer.

    The checksum needs the whole footer, so the last bytes are held back until it is complete.
    """

    def __init__(self, sink: OutputFile) -> None:
        super().__init__(sink)
        self._held: list[bytes] | None = None

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        """Write the bytes or hold them back; return their number."""
        if self._held is None:
            return super().write(data)
        self._held.append(bytes(data))
        return len(self._held[-1])

    def tell(self) -> int:
        """Return the place of the next byte."""
        return super().tell() + sum(map(len, self._held or ()))

    def hold(self) -> None:
        """Hold back all bytes from now on, because the footer is among them."""
        self._held = []

    def release(self) -> None:
        """Write what was held back, with the guard."""
        held = b"".join(self._held or ())
        self._held = None
        (footer_bytes,) = struct.unpack_from("<I", held, len(held) - _TAIL_BYTES)
        start = len(held) - _TAIL_BYTES - footer_bytes
        guard = _MAGIC + struct.pack("<I", zlib.crc32(held[start:]))
        super().write(held[:start] + guard + held[start:])


def checked_metadata(source: pa.NativeFile, size_bytes: int) -> pq.FileMetaData:
    """Return the footer if its guard agrees; one read for footers below 64 KiB.

    Raises:
        ValueError: it does not, or there is none.
    """
    tail = source.read_at(
        min(size_bytes, _FIRST_READ_BYTES), max(0, size_bytes - _FIRST_READ_BYTES)
    )
    if len(tail) < _TAIL_BYTES or tail[-4:] != b"PAR1":
        raise ValueError("it does not end as a Parquet file does")
    (footer_bytes,) = struct.unpack_from("<I", tail, len(tail) - _TAIL_BYTES)
    needed = footer_bytes + _TAIL_BYTES + _GUARD_BYTES
    if needed > size_bytes:
        raise ValueError("its footer is longer than the file")
    if needed > len(tail):
        tail = source.read_at(needed, size_bytes - needed)
    start = len(tail) - needed
    footer = tail[start + _GUARD_BYTES :]
    guard = _MAGIC + struct.pack("<I", zlib.crc32(footer))
    if tail[start : start + _GUARD_BYTES] != guard:
        raise ValueError("the checksum of its footer is wrong")
    return pq.read_metadata(pa.BufferReader(b"PAR1" + footer))
