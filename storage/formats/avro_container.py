"""Avro's object container files: a header with the schema, and blocks of records behind it.

Source: Apache Avro 1.11 specification, "Object Container Files".
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from table_store.storage.formats.avro_decoding import PADDING_BYTES
from table_store.storage.kernel.arrays import IntArray

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
SCHEMA_KEY: Final = "avro.schema"
CODEC_KEY: Final = "avro.codec"
_READ_BYTES: Final = 1 << 20
_HEADER_BYTES_MAX: Final = 64 << 20
_CRC_BYTES: Final = 4
_DEFLATE_LEVEL: Final = 1
_RECORDS_MAX: Final = (1 << 31) - 1
_CONTENT_BYTES_MAX: Final = 1 << 30
"""Of a block. Nobody writes one as large, but a few bytes can say so."""

_SNAPPY_FACTOR: Final = 32
"""Two or three bytes stand for at most 64. Source: google/snappy, format_description.txt."""

_SNAPPY_SIZE_BYTES: Final = 5


class Readable(Protocol):
    """Bytes from front to back."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many; none at the end."""


class _Unpacker(Protocol):
    """What the codecs of Python's library have in common."""

    @property
    def eof(self) -> bool:
        """Whether the end has been met."""

    @property
    def unused_data(self) -> bytes:
        """What follows the end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what is in the data, at most so many bytes."""


@dataclass(slots=True)
class AvroContainer:
    """Reads a file from front to back.

    Attributes:
        header: what its header says, by key.
    """

    source: Readable
    header: dict[str, bytes] = field(default_factory=dict)
    _held: bytes = b""
    _at: int = 0
    _sync: bytes = b""

    @classmethod
    def of(cls, source: Readable) -> AvroContainer:
        """Return a file whose header is read.

        Raises:
            ValueError: it is no such file.
        """
        found = cls(source)
        if found._take(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as an Avro file does")
        while count := found._varint():
            if count < 0:
                found._varint()
            for _ in range(abs(count)):
                key = found._bytes(_HEADER_BYTES_MAX).decode(errors="replace")
                found.header[key] = found._bytes(_HEADER_BYTES_MAX)
        found._sync = found._take(SYNC_BYTES)
        return found

    @property
    def codec(self) -> str:
        """How blocks are compressed."""
        return self.header.get(CODEC_KEY, b"null").decode(errors="replace")

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the blocks: how many records each has, and its content as it is stored.

        Raises:
            ValueError: the file is damaged.
        """
        while self._fill(1):
            count, content = self._varint(), self._bytes(None)
            if not 0 <= count <= _RECORDS_MAX:
                raise ValueError("a block has an impossible length")
            if self._take(SYNC_BYTES) != self._sync:
                raise ValueError("a block does not end with the file's marker")
            yield count, content

    def _fill(self, count: int) -> bool:
        """Hold so many bytes, unless the file ends before; return whether it does not."""
        if len(self._held) - self._at >= count:
            return True
        parts = [self._held[self._at :]]
        size = len(parts[0])
        while size < count and (more := self.source.read(_READ_BYTES)):
            parts.append(more)
            size += len(more)
        self._held, self._at = b"".join(parts), 0
        return size >= count

    def _take(self, count: int) -> bytes:
        if not self._fill(count):
            raise ValueError("it ends too early")
        self._at += count
        return self._held[self._at - count : self._at]

    def _varint(self) -> int:
        number, shift = 0, 0
        while True:
            (octet,) = self._take(1)
            number |= (octet & 0x7F) << shift
            shift += 7
            if octet < 0x80:
                return (number >> 1) ^ -(number & 1)
            if shift > 63:
                raise ValueError("a number is longer than 64 bits")

    def _bytes(self, count_max: int | None) -> bytes:
        count = self._varint()
        if count < 0 or (count_max is not None and count > count_max):
            raise ValueError("a text has an impossible length")
        return self._take(count)


def header(entries: Mapping[str, bytes]) -> tuple[bytes, bytes]:
    """Return a file's header, and the marker that ends each of its blocks.

    Any 16 bytes will do for it that hardly occur by chance; these depend on the entries alone.
    """
    text = b"".join(_text(key.encode()) + _text(value) for key, value in entries.items())
    sync = struct.pack("<IIII", *(zlib.crc32(text, seed) for seed in range(4)))
    return MAGIC + _varint(len(entries)) + text + _varint(0) + sync, sync


def block(count: int, content: bytes, sync: bytes) -> bytes:
    """Return a block of so many records; the content is compressed already."""
    return _varint(count) + _text(content) + sync


def packed(codec: str, content: bytes) -> bytes:
    """Return a block's content as a codec stores it."""
    return _CODECS[codec][0](content)


def unpacked(codec: str, content: bytes) -> bytes:
    """Return a block's content as it was.

    Raises:
        ValueError: it is damaged, or there is no such codec.
    """
    if codec not in _CODECS:
        raise ValueError(f"its blocks have the codec {codec!r}, which nobody here knows")
    try:
        found = _CODECS[codec][1](content)
    except (zlib.error, lzma.LZMAError, EOFError, OSError, pa.ArrowException) as error:
        raise ValueError(f"a block cannot be decompressed ({error})") from error
    if len(found) > _CONTENT_BYTES_MAX:
        raise ValueError(f"a block has more than {_CONTENT_BYTES_MAX} bytes")
    return found


def side_by_side(
    contents: Sequence[bytes],
) -> tuple[np.ndarray, IntArray, IntArray]:
    """Return blocks one after the other, as `decode_columns` takes them, with starts and ends."""
    sizes = np.array([len(content) for content in contents], np.int64)
    data = np.frombuffer(b"".join([*contents, bytes(PADDING_BYTES)]), np.uint8)
    ends = np.cumsum(sizes)
    return data, ends - sizes, ends


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(_DEFLATE_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def _snappy(content: bytes) -> bytes:
    return bytes(pa.compress(content, "snappy", asbytes=True)) + _crc(content)


def _from_snappy(content: bytes) -> bytes:
    stored, crc = content[:-_CRC_BYTES], content[-_CRC_BYTES:]
    size = shift = 0
    for octet in stored[:_SNAPPY_SIZE_BYTES]:  # the size comes first, seven bits a byte
        size |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    if size > _SNAPPY_FACTOR * len(stored):
        raise OSError("its size is an impossible one")
    found = bytes(pa.decompress(stored, size, "snappy", asbytes=True))
    if _crc(found) != crc:
        raise OSError("its checksum is another one")
    return found


def _crc(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CRC_BYTES, "big")


def _from_zstandard(content: bytes) -> bytes:
    stream = pa.input_stream(pa.py_buffer(content), compression="zstd")
    return bytes(stream.read(_CONTENT_BYTES_MAX + 1))


def _inflated(content: bytes) -> bytes:
    found, _ = _stream(zlib.decompressobj(-zlib.MAX_WBITS), content, _CONTENT_BYTES_MAX + 1)
    return found


def _from_bzip2(content: bytes) -> bytes:
    return _streams(bz2.BZ2Decompressor, content)


def _from_xz(content: bytes) -> bytes:
    return _streams(lzma.LZMADecompressor, content)


def _streams(begin: Callable[[], _Unpacker], content: bytes) -> bytes:
    """Return what some streams, one behind the other, hold together, as Python's library does.

    What follows the last one and is none is ignored.
    """
    found, rest = _stream(begin(), content, _CONTENT_BYTES_MAX + 1)
    parts, size = [found], len(found)
    while rest and size <= _CONTENT_BYTES_MAX:
        try:
            found, rest = _stream(begin(), rest, _CONTENT_BYTES_MAX + 1 - size)
        except (OSError, lzma.LZMAError):
            break
        parts.append(found)
        size += len(found)
    return b"".join(parts)


def _stream(unpacker: _Unpacker, content: bytes, size_max: int) -> tuple[bytes, bytes]:
    """Return what a stream holds, at most so many bytes, and what follows the stream."""
    found = unpacker.decompress(content, size_max)
    if not unpacker.eof and len(found) < size_max:
        raise EOFError("it ends too early")
    return found, unpacker.unused_data


_CODECS: Final[dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]]] = {
    "null": (bytes, bytes),
    "deflate": (_deflated, _inflated),
    "snappy": (_snappy, _from_snappy),
    "zstandard": (
        lambda content: bytes(pa.compress(content, "zstd", asbytes=True)),
        _from_zstandard,
    ),
    "bzip2": (bz2.compress, _from_bzip2),
    "xz": (lzma.compress, _from_xz),
}
CODECS: Final = tuple(_CODECS)
"""The codecs that there are."""


def _varint(number: int) -> bytes:
    rest, octets = (number << 1) ^ (number >> 63), bytearray()
    while rest >= 0x80:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    octets.append(rest)
    return bytes(octets)


def _text(content: bytes) -> bytes:
    return _varint(len(content)) + content
