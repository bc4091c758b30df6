"""One interface over the file formats of data files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.avro_format import AvroFormat
from table_store.storage.formats.orc_format import OrcFormat
from table_store.storage.formats.parquet_format import ParquetFormat
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.errors import InvalidOptionError

FORMAT_NAMES: Final = ("parquet", "orc", "avro")


class FormatWriter(Protocol):
    """Writes one file, group by group; the sink is neither closed nor made durable here."""

    def write(self, rows: pa.Table) -> None:
        """Write one row group with exactly the columns of the schema given at the start."""
        ...

    def close(self) -> None:
        """Write what ends the file."""
        ...

    def abort(self) -> None:
        """Forget the file without writing anything more."""
        ...


class FormatReader(Protocol):
    """Reads one file. Columns are named by their position in the file.

    Damage is a `ValueError`, an `OSError` without errno, or another error of Arrow's.
    """

    @property
    def schema(self) -> pa.Schema:
        """Columns of the file, in the Arrow types that `batches` yields."""
        ...

    @property
    def row_group_rows(self) -> tuple[int, ...]:
        """Rows of each row group."""
        ...

    def batches(
        self, columns: Sequence[int], row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in the file's order; columns come in the file's order as well."""
        ...

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the same rows at once."""
        ...

    @property
    def reads_pages(self) -> bool:
        """Whether a stretch of a row group costs less than all of it."""
        ...

    def stretch(self, columns: Sequence[int], rows: RowStretch) -> pa.Table:
        """Return a part of a row group; columns come in the file's order as well."""
        ...

    def bounds(self, column: int, row_group: int) -> tuple[pa.Scalar, pa.Scalar, int] | None:
        """Return smallest and greatest value and number of NULLs; None where not known."""
        ...


class DataFormat(Protocol):
    """A file format. `name` is also the end of the files' names."""

    @property
    def name(self) -> str:
        """Name in options and in `DataFile.format`."""
        ...

    @property
    def is_checked_by_itself(self) -> bool:
        """Whether damage shows when only a part of the file is read."""
        ...

    def open_writer(
        self, sink: OutputFile, schema: pa.Schema, sorted_by: Sequence[str]
    ) -> FormatWriter:
        """Return a writer; `sorted_by` are the columns the rows are sorted by, if any."""
        ...

    def open_reader(self, source: pa.NativeFile, size_bytes: int, path: str) -> FormatReader:
        """Return a reader; for a damaged file it raises the errors that `FormatReader` names.

        Because files never change, a format may keep what it knows of a file under its path.
        """
        ...


def data_format(name: str, compression: str = "zstd", level: int | None = 1) -> DataFormat:
    """Return the format of this name.

    Raises:
        InvalidOptionError: there is no such format.
    """
    match name:
        case "parquet":
            return ParquetFormat(compression, level if compression == "zstd" else None)
        case "orc":
            return OrcFormat("uncompressed" if compression == "none" else compression)
        case "avro":
            return AvroFormat(compression)
    raise InvalidOptionError(
        key="file.format", value=name, reason=f"it is one of {', '.join(FORMAT_NAMES)}"
    )
