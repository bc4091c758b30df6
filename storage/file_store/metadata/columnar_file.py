"""The container of manifests and manifest lists: a checked, compressed Arrow table.

Layout (little endian), fixed in storage/FORMAT.md:

    magic "TSCF" | format version u16 | content kind u16 | CRC-32 of all the rest u32 |
    size of the uncompressed body u64 | body: zstd of one Arrow IPC stream

The body is compressed as a whole, because manifests have many short columns that resemble each
other and compress badly one by one.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import Final

import pyarrow as pa

from table_store.storage.kernel.errors import CorruptFileError, FormatVersionError

MAGIC: Final = b"TSCF"
COLUMNAR_VERSION: Final = 1

_HEADER = struct.Struct("<4sHHIQ")
_CODEC: Final = "zstd"


class ContentKind(IntEnum):
    """What a columnar file holds; these numbers are on disk."""

    MANIFEST = 1
    MANIFEST_LIST = 2


def encode_columnar(table: pa.Table, kind: ContentKind) -> bytes:
    """Return the bytes of a file holding `table`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    raw = sink.getvalue()
    body: bytes = pa.compress(raw, codec=_CODEC, asbytes=True)
    checksum = _checksum(_HEADER.pack(MAGIC, COLUMNAR_VERSION, kind, 0, raw.size), body)
    return _HEADER.pack(MAGIC, COLUMNAR_VERSION, kind, checksum, raw.size) + body


def decode_columnar(
    data: bytes, *, path: str, kind: ContentKind, snapshot_id: int | None = None
) -> pa.Table:
    """Return the table in `data`; `path` and `snapshot_id` only name the file in errors.

    Raises:
        CorruptFileError: anything is not as `encode_columnar` wrote it.
        FormatVersionError: it was written by a newer version.
    """

    def corrupt(reason: str) -> CorruptFileError:
        return CorruptFileError(path=path, snapshot_id=snapshot_id, reason=reason)

    if len(data) < _HEADER.size:
        raise corrupt(f"it ends after {len(data)} bytes, inside its header")
    magic, version, found_kind, checksum, raw_size = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise corrupt(f"it does not begin with {MAGIC.decode()}")
    body = memoryview(data)[_HEADER.size :]
    if checksum != _checksum(_HEADER.pack(magic, version, found_kind, 0, raw_size), body):
        raise corrupt("its checksum does not match: changed or cut off")
    if version > COLUMNAR_VERSION:
        raise FormatVersionError(path=path, found=version, supported=COLUMNAR_VERSION)
    if found_kind != kind:
        raise corrupt(f"it holds content {found_kind} where {kind.name} ({kind}) belongs")
    try:
        raw = pa.decompress(pa.py_buffer(body), decompressed_size=raw_size, codec=_CODEC)
        with pa.ipc.open_stream(raw) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError) as error:
        raise corrupt(f"its body cannot be read ({error})") from error


def _checksum(header: bytes, body: bytes | memoryview) -> int:
    """Return the CRC-32 of a file, computed with 0 in the place of the checksum itself."""
    return zlib.crc32(body, zlib.crc32(header))
