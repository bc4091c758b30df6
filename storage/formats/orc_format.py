"""ORC as the data files use it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.orc as orc

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.error_keeping_sink import ErrorKeepingSink
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.nested_array import recast_column
from table_store.storage.kernel.row_batch import BATCH_ROWS

_STRIPE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class OrcFormat:
    """Reads and writes ORC.

    Arrow reads ORC timestamps as nanoseconds, which end in the year 2262, and has no ORC form of
    times: both are stored as BIGINT microseconds, and dates as they are.
    """

    compression: str = "zstd"

    @property
    def name(self) -> str:
        """Name of the format, and end of its files' names."""
        return "orc"

    @property
    def is_checked_by_itself(self) -> bool:
        """It has no checksums."""
        return False

    def open_writer(
        self,
        sink: OutputFile,
        schema: pa.Schema,
        sorted_by: Sequence[str],  # noqa: ARG002 - ORC chooses encodings by itself
    ) -> OrcFormatWriter:
        """Return a writer of `schema`."""
        return OrcFormatWriter(sink, schema, self.compression)

    def open_reader(
        self,
        source: pa.NativeFile,
        size_bytes: int,  # noqa: ARG002 - part of the interface
        path: str,  # noqa: ARG002 - part of the interface
    ) -> OrcFormatReader:
        """Return a reader of a whole file."""
        return OrcFormatReader(source)


class OrcFormatWriter:
    """Writes rows; ORC cuts its stripes itself."""

    def __init__(self, sink: OutputFile, schema: pa.Schema, compression: str) -> None:
        self._schema = pa.schema([stored_field(f) for f in schema])
        self._sink = ErrorKeepingSink(sink)
        self._writer = orc.ORCWriter(
            self._sink, compression=compression, stripe_size=_STRIPE_BYTES, batch_size=8192
        )
        self._has_rows = False

    def write(self, rows: pa.Table) -> None:
        """Write `rows`."""
        columns = [
            recast_column(c, f.type) for c, f in zip(rows.columns, self._schema, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))
        self._has_rows = True
        self._sink.check()

    def close(self) -> None:
        """Write the footer; the sink stays open."""
        if not self._has_rows:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
        self._sink.check()

    def abort(self) -> None:
        """Forget the file: nothing more is written to the sink."""
        self._sink.drop()


class OrcFormatReader:
    """Reads chosen columns; a stripe is a row group."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._file = orc.ORCFile(source)
        self.schema: pa.Schema = self._file.schema

    @property
    def row_group_rows(self) -> tuple[int, ...]:
        """Rows of the file: its stripes are read together."""
        return (self._file.nrows,)

    def batches(
        self, columns: Sequence[int], row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in the file's order, columns (given by position) in the file's order too."""
        yield from self.table(columns, row_groups).to_batches(max_chunksize=BATCH_ROWS)

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the rows that `batches` yields, as one table."""
        names = [self.schema.field(i).name for i in sorted(columns)]
        if not row_groups:
            return self.schema.empty_table().select(names)
        return self._file.read(columns=names)

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
        """Return None: Arrow does not show ORC's statistics."""
        return None


def stored_field(field: pa.Field) -> pa.Field:
    """Return the field with timestamps and times as BIGINT, at any depth."""
    return field.with_type(_stored_type(field.type))


def _stored_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([stored_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(stored_field(kind.key_field), stored_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(stored_field(kind.value_field))
    return kind
