"""Avro object container files as the data files use them.

Numpy and Arrow encode and decode whole columns. Still, writing takes about three times and reading
about twenty times as long as with Parquet, because every row must be taken apart even for a single
column. Any Avro reader can read the files: they are compressed with `deflate`, which all know.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.avro_container import (
    CODEC_KEY,
    SCHEMA_KEY,
    AvroContainer,
    block,
    header,
    packed,
    side_by_side,
    unpacked,
)
from table_store.storage.formats.avro_decoding import decode_blocks
from table_store.storage.formats.avro_encoding import avro_record, encoded_rows
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.row_batch import BATCH_ROWS

ARROW_SCHEMA_KEY: Final = "table_store.arrow_schema"
"""Header entry with the Arrow IPC schema in base64: Avro allows fewer names than Arrow does."""

_BLOCK_ROWS: Final = 256
_ROW_GROUP_ROWS: Final = 1 << 18


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
        entries = {
            CODEC_KEY: codec.encode(),
            SCHEMA_KEY: described.encode(),
            ARROW_SCHEMA_KEY: arrow,
        }
        begin, self._sync = header(entries)
        sink.write(begin)

    def write(self, rows: pa.Table) -> None:
        """Write `rows`."""
        for batch in rows.to_batches(max_chunksize=BATCH_ROWS):
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
        self._sink.write(block(count, packed(self._codec, bytes(content)), self._sync))


class AvroFormatReader:
    """Reads row groups: blocks that follow each other, up to `_ROW_GROUP_ROWS` rows."""

    def __init__(self, content: bytes) -> None:
        container = AvroContainer.of(io.BytesIO(content))
        if ARROW_SCHEMA_KEY not in container.header:
            raise ValueError("its header does not describe the columns")
        stored = base64.b64decode(container.header[ARROW_SCHEMA_KEY])
        self.schema: pa.Schema = pa.ipc.read_schema(pa.py_buffer(stored))
        self._codec = container.codec
        self._groups: list[list[tuple[int, bytes]]] = []
        rows = _ROW_GROUP_ROWS
        for count, payload in container.blocks():
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
            yield from self.table(columns, [group]).to_batches(max_chunksize=BATCH_ROWS)

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the rows that `batches` yields, as one table."""
        chosen = sorted(columns)
        schema = pa.schema([self.schema.field(i) for i in chosen])
        tables = [
            pa.Table.from_arrays([arrays[i] for i in chosen], schema=schema)
            for arrays in (self._decoded(self._groups[group]) for group in row_groups)
        ]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    @property
    def reads_pages(self) -> bool:
        """Row groups are read as a whole."""
        return False

    def stretch(self, columns: Sequence[int], rows: RowStretch) -> pa.Table:
        """Return a part of a row group, all of which is decoded."""
        return self.table(columns, [rows.row_group]).slice(rows.first_row, rows.row_count)

    def bounds(
        self,
        column: int,  # noqa: ARG002 - part of the interface
        row_group: int,  # noqa: ARG002
    ) -> tuple[pa.Scalar, pa.Scalar, int] | None:
        """Return None: Avro keeps no statistics."""
        return None

    def _decoded(self, blocks: Sequence[tuple[int, bytes]]) -> list[pa.Array]:
        contents = [unpacked(self._codec, payload) for _, payload in blocks]
        counts = np.array([count for count, _ in blocks], np.int64)
        data, starts, _ = side_by_side(contents)
        return decode_blocks(data, starts, counts, list(self.schema))
