"""Avro object container files as the data files use them.

Numpy and Arrow encode and decode whole columns. Still, writing takes about three times and reading
about twenty times as long as with Parquet, because every row must be taken apart even for a single
column. Any Avro reader can read the files: they are compressed with `deflate`, which all know.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.avro_decoding import PADDING_BYTES, decode_blocks
from table_store.storage.formats.avro_encoding import avro_record, encoded_rows

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
ARROW_SCHEMA_KEY: Final = "table_store.arrow_schema"
"""Header entry with the Arrow IPC schema in base64: Avro allows fewer names than Arrow does."""

_BLOCK_ROWS: Final = 256
_ROW_GROUP_ROWS: Final = 1 << 18
_BATCH_ROWS: Final = 1 << 16
_LEVEL: Final = 1


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Reads and writes Avro; `compression` other than `none` is deflate."""

    compression: str = "zstd"

    @property
    def name(self) -> str:
        """Name of the format, and end of its files' names."""
        return "avro"

    @property
    def is_checked_by_itself(self) -> bool:
        """It has no checksums."""
        return False

    def open_writer(
        self,
        sink: OutputFile,
        schema: pa.Schema,
        sorted_by: Sequence[str],  # noqa: ARG002 - rows are not encoded by column
    ) -> AvroFormatWriter:
        """Return a writer of `schema`."""
        codec = "null" if self.compression in ("none", "uncompressed") else "deflate"
        return AvroFormatWriter(sink, schema, codec)

    def open_reader(
        self,
        source: pa.NativeFile,
        size_bytes: int,
        path: str,  # noqa: ARG002 - part of the interface
    ) -> AvroFormatReader:
        """Return a reader of a whole file.

        Raises:
            ValueError: it is no complete Avro file of ours.
        """
        return AvroFormatReader(source.read_at(size_bytes, 0))


class AvroFormatWriter:
    """Writes rows in blocks of `_BLOCK_ROWS`, few enough to decode many of them side by side."""

    def __init__(self, sink: OutputFile, schema: pa.Schema, codec: str) -> None:
        self._sink = sink
        self._schema = schema
        self._codec = codec
        arrow = base64.b64encode(schema.serialize().to_pybytes())
        described = json.dumps(avro_record(list(schema), "row"), separators=(",", ":"))
        header = {
            "avro.codec": codec.encode(),
            "avro.schema": described.encode(),
            ARROW_SCHEMA_KEY: arrow,
        }
        entries = b"".join(_text(key.encode()) + _text(value) for key, value in header.items())
        # Any 16 bytes will do that hardly occur by chance; these depend on the schema alone.
        self._sync = struct.pack("<IIII", *(zlib.crc32(entries, seed) for seed in range(4)))
        sink.write(MAGIC + _varint(len(header)) + entries + _varint(0) + self._sync)

    def write(self, rows: pa.Table) -> None:
        """Write `rows`."""
        for batch in rows.to_batches(max_chunksize=_BATCH_ROWS):
            encoded = encoded_rows(batch.columns, list(self._schema))
            offsets = np.frombuffer(encoded.buffers()[1], np.int64)
            data = memoryview(encoded.buffers()[2])
            for start in range(0, batch.num_rows, _BLOCK_ROWS):
                end = min(start + _BLOCK_ROWS, batch.num_rows)
                self._write_block(end - start, data[offsets[start] : offsets[end]])

    def close(self) -> None:
        """Do nothing: an Avro file has no footer, and the caller closes the sink."""

    def abort(self) -> None:
        """Do nothing: no bytes are held back."""

    def _write_block(self, count: int, content: memoryview) -> None:
        payload = bytes(content)
        if self._codec == "deflate":
            packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
            payload = packer.compress(payload) + packer.flush()
        self._sink.write(_varint(count) + _varint(len(payload)) + payload + self._sync)


class AvroFormatReader:
    """Reads row groups: blocks that follow each other, up to `_ROW_GROUP_ROWS` rows."""

    def __init__(self, content: bytes) -> None:
        cursor = _Bytes(content)
        if cursor.take(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as an Avro file does")
        header: dict[str, bytes] = {}
        while count := cursor.varint():
            for _ in range(count):
                key = cursor.text().decode()
                header[key] = cursor.text()
        sync = cursor.take(SYNC_BYTES)
        if ARROW_SCHEMA_KEY not in header:
            raise ValueError("its header does not describe the columns")
        stored = base64.b64decode(header[ARROW_SCHEMA_KEY])
        self.schema: pa.Schema = pa.ipc.read_schema(pa.py_buffer(stored))
        self._is_packed = header.get("avro.codec", b"null") == b"deflate"
        self._groups: list[list[tuple[int, bytes]]] = []
        rows = _ROW_GROUP_ROWS
        while not cursor.is_at_end:
            count, payload = cursor.varint(), cursor.text()
            if cursor.take(SYNC_BYTES) != sync:
                raise ValueError("a block does not end with the file's marker")
            if rows + count > _ROW_GROUP_ROWS:
                self._groups.append([])
                rows = 0
            self._groups[-1].append((count, payload))
            rows += count

    @property
    def row_group_rows(self) -> tuple[int, ...]:
        """Rows of each row group."""
        return tuple(sum(count for count, _ in group) for group in self._groups)

    def batches(
        self, columns: Sequence[int], row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in the file's order, columns (given by position) in the file's order too."""
        for group in row_groups:
            yield from self.table(columns, [group]).to_batches(max_chunksize=_BATCH_ROWS)

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the rows that `batches` yields, as one table."""
        chosen = sorted(columns)
        schema = pa.schema([self.schema.field(i) for i in chosen])
        tables = [
            pa.Table.from_arrays([arrays[i] for i in chosen], schema=schema)
            for arrays in (self._decoded(self._groups[group]) for group in row_groups)
        ]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def bounds(
        self,
        column: int,  # noqa: ARG002 - part of the interface
        row_group: int,  # noqa: ARG002
    ) -> tuple[pa.Scalar, pa.Scalar, int] | None:
        """Return None: Avro keeps no statistics."""
        return None

    def _decoded(self, blocks: Sequence[tuple[int, bytes]]) -> list[pa.Array]:
        try:
            contents = [self._unpacked(payload) for _, payload in blocks]
        except zlib.error as error:
            raise ValueError(f"a block cannot be decompressed ({error})") from error
        sizes = np.array([len(content) for content in contents], np.int64)
        counts = np.array([count for count, _ in blocks], np.int64)
        data = np.frombuffer(b"".join([*contents, bytes(PADDING_BYTES)]), np.uint8)
        return decode_blocks(data, np.cumsum(sizes) - sizes, counts, list(self.schema))

    def _unpacked(self, payload: bytes) -> bytes:
        return zlib.decompress(payload, -zlib.MAX_WBITS) if self._is_packed else payload


class _Bytes:
    """Reads header and block heads from front to back."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._content)

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._content):
            raise ValueError("it ends too early")
        self._at += count
        return self._content[self._at - count : self._at]

    def varint(self) -> int:
        number, shift = 0, 0
        while True:
            (octet,) = self.take(1)
            number |= (octet & 0x7F) << shift
            shift += 7
            if octet < 0x80:
                return (number >> 1) ^ -(number & 1)

    def text(self) -> bytes:
        return self.take(self.varint())


def _varint(number: int) -> bytes:
    rest, octets = (number << 1) ^ (number >> 63), bytearray()
    while rest >= 0x80:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    octets.append(rest)
    return bytes(octets)


def _text(content: bytes) -> bytes:
    return _varint(len(content)) + content
