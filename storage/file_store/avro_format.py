"""Avro as the data files use it: rows encoded and decoded by Polars, the frame written here.

Polars does the work row by row in native code. It is only given types whose Avro form it gets
right: those of `avro_columns`. It stores decimals wrong (65535 comes back as -1, in version 2.1),
and refuses times, timestamps with a zone and small integers. Its frame has no way to say more of a
column than Polars knows, and it does not compress with zstd; so the file's frame is our own.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Final

import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.file_store.avro_columns import read_column, stored_column
from table_store.storage.file_store.avro_container import (
    AvroHeader,
    block_bytes,
    compressed,
    decompressed,
    read_container,
)
from table_store.storage.file_store.avro_schema import arrow_schema, avro_schema, encoded_schema
from table_store.storage.kernel.errors import TableStoreError

_BLOCK_ROWS_MAX: Final = 1 << 16
_BLOCK_BYTES: Final = 4 << 20
"""Bounds of a block, which a reader has in memory; the bytes are those of Arrow's memory."""


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Reads and writes Avro. `level` is that of zstd; None takes its default.

    Raises:
        TableStoreError: Polars is not installed.
    """

    compression: str = "zstd"
    level: int | None = 1

    def __post_init__(self) -> None:
        if find_spec("polars") is None:
            raise _polars_is_missing()

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
        sorted_by: Sequence[str],  # noqa: ARG002 - Avro has one encoding
    ) -> AvroFormatWriter:
        """Return a writer of `schema`."""
        return AvroFormatWriter(sink, schema, self)

    def open_reader(self, source: pa.NativeFile, size_bytes: int) -> AvroFormatReader:
        """Return a reader of a whole file.

        Raises:
            ValueError: it is no complete Avro file of ours.
        """
        return AvroFormatReader(source.read_buffer(size_bytes))


class AvroFormatWriter:
    """Writes rows in blocks; nothing is held back."""

    def __init__(self, sink: OutputFile, schema: pa.Schema, form: AvroFormat) -> None:
        self._sink = sink
        self._header = AvroHeader.of(avro_schema(schema), form.compression)
        self._level = form.level
        self._is_begun = False

    def write(self, rows: pa.Table) -> None:
        """Write `rows`, in blocks of up to 65,536 and about 4 MiB."""
        self._begin()
        row_bytes = max(1, rows.nbytes // max(1, rows.num_rows))
        block_rows = min(_BLOCK_ROWS_MAX, max(1, _BLOCK_BYTES // row_bytes))
        for start in range(0, rows.num_rows, block_rows):
            self._write_block(rows.slice(start, block_rows))

    def close(self) -> None:
        """Write nothing more: Avro has no footer. A file without rows has a header only."""
        self._begin()

    def abort(self) -> None:
        """Forget the file: nothing more is written to the sink."""

    def _begin(self) -> None:
        if not self._is_begun:
            self._sink.write(self._header.to_bytes())
            self._is_begun = True

    def _write_block(self, rows: pa.Table) -> None:
        columns = [stored_column(column.combine_chunks()) for column in rows.columns]
        for row_count, data in _encoded(columns):
            packed = compressed(data, self._header.codec, self._level)
            for part in block_bytes(packed, row_count, self._header.marker):
                self._sink.write(part)


class AvroFormatReader:
    """Reads chosen columns; a block is a row group. Rows are decoded block by block."""

    def __init__(self, content: pa.Buffer) -> None:
        self._content = memoryview(content)
        self._header, self._blocks = read_container(self._content)
        self.schema: pa.Schema = arrow_schema(self._header.schema)
        self._encoding = AvroHeader(
            schema=encoded_schema(self._header.schema), codec="null", marker=self._header.marker
        ).to_bytes()

    @property
    def row_group_rows(self) -> tuple[int, ...]:
        """Rows of each block."""
        return tuple(block.row_count for block in self._blocks)

    def batches(
        self, columns: Sequence[int], row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in the file's order, columns (given by position) in the file's order too."""
        positions = sorted(columns)
        fields = [self.schema.field(i) for i in positions]
        for group in row_groups:
            decoded = self._decoded(group, positions)
            arrays = [read_column(c, f.type) for c, f in zip(decoded, fields, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the same at once."""
        schema = pa.schema([self.schema.field(i) for i in sorted(columns)])
        return pa.Table.from_batches(self.batches(columns, row_groups), schema)

    def bounds(
        self,
        column: int,  # noqa: ARG002 - part of the interface
        row_group: int,  # noqa: ARG002
    ) -> tuple[pa.Scalar, pa.Scalar, int] | None:
        """Return None: Avro has no statistics."""
        return None

    def _decoded(self, group: int, positions: Sequence[int]) -> list[pa.Array]:
        block = self._blocks[group]
        data = self._content[block.start : block.start + block.size]
        rows = decompressed(data, self._header.codec)
        parts = block_bytes(rows, block.row_count, self._header.marker)
        polars = _polars()
        try:
            frame = polars.read_avro(
                io.BytesIO(b"".join((self._encoding, *parts))), columns=list(positions)
            )
        except polars.exceptions.PolarsError as error:
            raise ValueError(f"its rows cannot be decoded: {error}") from error
        return [column.combine_chunks() for column in frame.to_arrow().columns]


def _encoded(columns: Sequence[pa.Array]) -> Iterator[tuple[int, memoryview]]:
    """Yield number and bytes of the rows of each block that Polars makes of the columns."""
    names = [str(i) for i in range(len(columns))]
    target = io.BytesIO()
    _polars().from_arrow(pa.Table.from_arrays(columns, names)).write_avro(target)
    content = target.getbuffer()
    _, blocks = read_container(content)
    for block in blocks:
        yield block.row_count, content[block.start : block.start + block.size]


@cache
def _polars() -> ModuleType:
    # Heavy and optional, so only who has Avro files needs it.
    try:
        import polars
    except ImportError as error:
        raise _polars_is_missing() from error
    return polars


def _polars_is_missing() -> TableStoreError:
    return TableStoreError(
        "Avro data files need the package 'polars': pip install 'spark-table-store[avro]'."
    )
