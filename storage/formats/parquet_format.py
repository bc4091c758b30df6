"""Parquet as the data files use it: encodings that read fast, and a footer that is checked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.formats.parquet_encoding import (
    SAMPLE_ROWS,
    column_encoding,
    has_long_values,
)
from table_store.storage.formats.parquet_guard import GuardingSink, checked_metadata
from table_store.storage.formats.parquet_leaves import leaf_ranges, leaves_of
from table_store.storage.formats.parquet_pages import PageView, page_places
from table_store.storage.formats.row_group import RowGroup
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.row_batch import BATCH_ROWS

PAGE_ROWS_MAX: Final = 1 << 14
"""With fewer rows in a page a search by key reads less, but each page costs every reader a little.
"""

_PAGE_BYTES: Final = 1 << 20
_BATCH_BYTES: Final = 16 << 20
_PROBE_ROWS: Final = 256
_BUFFER_BYTES: Final = 1 << 16
_FOOTER_BYTES_MAX: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Reads and writes Parquet. `level` is that of the compression; None takes its default."""

    compression: str = "zstd"
    level: int | None = 1

    @property
    def name(self) -> str:
        """Name of the format, and end of its files' names."""
        return "parquet"

    @property
    def is_checked_by_itself(self) -> bool:
        """Pages and footer carry checksums."""
        return True

    def open_writer(
        self, sink: OutputFile, schema: pa.Schema, sorted_by: Sequence[str]
    ) -> ParquetFormatWriter:
        """Return a writer of `schema`; the caller's rows are sorted by `sorted_by`, if any."""
        return ParquetFormatWriter(sink, schema, frozenset(sorted_by), self)

    def open_reader(self, source: pa.NativeFile, size_bytes: int, path: str) -> ParquetFormatReader:
        """Return a reader of a whole file.

        Raises:
            ValueError: it is no complete Parquet file of ours.
        """
        return ParquetFormatReader(source, size_bytes, path)


class ParquetFormatWriter:
    """Writes row groups, one per call of `write`."""

    def __init__(
        self, sink: OutputFile, schema: pa.Schema, sorted_by: frozenset[str], form: ParquetFormat
    ) -> None:
        self._sink = GuardingSink(sink)
        self._schema = schema
        self._sorted_by = sorted_by
        self._form = form
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Write one row group; the encodings of all are chosen by the values of the first."""
        if self._writer is None:
            self._writer = self._open(rows)
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self._sink.check()

    def close(self) -> None:
        """Write the footer, even if there are no rows; the sink stays open."""
        if self._writer is None:
            self._writer = self._open(self._schema.empty_table())
        self._sink.hold()
        self._writer.close()
        self._sink.release()
        self._sink.check()

    def abort(self) -> None:
        """Forget the file: nothing more is written to the sink."""
        if self._writer is not None:
            self._sink.drop()
            self._writer.close()

    def _open(self, sample: pa.Table) -> pq.ParquetWriter:
        dictionary: list[str] = []
        encodings: dict[str, str] = {}
        for column in self._schema:
            for path, kind in leaves_of(column.name, column.type):
                is_top = path == column.name
                values = sample[column.name].slice(0, SAMPLE_ROWS) if is_top else None
                encoding = column_encoding(kind, values, is_sorted=column.name in self._sorted_by)
                if encoding is None:
                    dictionary.append(path)
                else:
                    encodings[path] = encoding
        return pq.ParquetWriter(
            self._sink,
            self._schema,
            compression=self._form.compression,
            compression_level=self._form.level,
            use_dictionary=dictionary,
            column_encoding=encodings,
            data_page_size=_PAGE_BYTES,
            max_rows_per_page=PAGE_ROWS_MAX,
            store_schema=False,
            store_decimal_as_integer=True,
            write_page_checksum=True,
            write_statistics=self._statistics(sample),
        )

    def _statistics(self, sample: pa.Table) -> list[str]:
        """Return the Parquet columns with bounds, which Arrow writes into pages and footer.

        Those of the key have them in any case, because rows are found by them. In arrays and maps
        no reader uses any.
        """
        while any(pa.types.is_struct(column.type) for column in sample.schema):
            sample = sample.flatten()
        return [
            name
            for name, values in zip(sample.column_names, sample.columns, strict=True)
            if name in self._sorted_by
            or not (pa.types.is_nested(values.type) or has_long_values(values))
        ]


@dataclass(frozen=True, slots=True)
class _Footer:
    """What a footer says; `leaf_ranges` are the Parquet columns that each column is made of."""

    metadata: pq.FileMetaData
    schema: pa.Schema
    row_group_rows: tuple[int, ...]
    leaf_ranges: tuple[range, ...]

    @staticmethod
    def of(metadata: pq.FileMetaData) -> _Footer:
        schema = metadata.schema.to_arrow_schema()
        return _Footer(
            metadata,
            schema,
            tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)),
            leaf_ranges(schema),
        )


_FOOTERS: Final = BoundedCache[_Footer](
    _FOOTER_BYTES_MAX, lambda footer: footer.metadata.serialized_size
)


class ParquetFormatReader:
    """Reads chosen columns of chosen row groups.

    Footers and the places of pages are remembered under the path of the file, which is safe
    because files never change.
    """

    def __init__(self, source: pa.NativeFile, size_bytes: int, path: str) -> None:
        self._source = source
        self._size_bytes = size_bytes
        self._path = path
        footer = _FOOTERS.get(path)
        if footer is None:
            footer = _Footer.of(checked_metadata(source, size_bytes))
            _FOOTERS.put(path, footer)
        self._footer = footer

    @property
    def schema(self) -> pa.Schema:
        """Columns of the file."""
        return self._footer.schema

    @property
    def row_group_rows(self) -> tuple[int, ...]:
        """Rows of each row group."""
        return self._footer.row_group_rows

    def batches(
        self, columns: Sequence[int], row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in the file's order, columns (given by position) in the file's order too."""
        leaves = self._leaf_indices(columns)
        batch_rows = self._fitting_rows(leaves, row_groups[0]) if row_groups else BATCH_ROWS
        for group in row_groups:
            yield from _batches(self._file, leaves, group, batch_rows)

    def _fitting_rows(self, leaves: Sequence[int], row_group: int) -> int:
        """Return how many rows make a batch of about `_BATCH_BYTES`.

        The first row group tells how wide rows are. Batches are limited because a merge holds one
        of every run of a bucket at once.
        """
        group = self._footer.metadata.row_group(row_group)
        if group.num_rows <= _PROBE_ROWS:
            row_count = group.num_rows
            size_bytes = sum(group.column(leaf).total_uncompressed_size for leaf in leaves)
        else:
            first = next(_batches(self._file, leaves, row_group, _PROBE_ROWS), None)
            row_count, size_bytes = (0, 0) if first is None else (first.num_rows, first.nbytes)
        if not size_bytes:
            return BATCH_ROWS
        return max(1, min(BATCH_ROWS, int(_BATCH_BYTES * row_count // size_bytes)))

    def table(self, columns: Sequence[int], row_groups: Sequence[int]) -> pa.Table:
        """Return the rows that `batches` yields as one table, which is faster."""
        return self._file.reader.read_row_groups(
            list(row_groups), column_indices=self._leaf_indices(columns), use_threads=False
        )

    @property
    def reads_pages(self) -> bool:
        """Pages are found by many small reads, which cost little in a file of this machine only."""
        return isinstance(self._source, pa.OSFile)

    def stretch(self, columns: Sequence[int], rows: RowStretch) -> pa.Table:
        """Return a part of a row group.

        Of columns without nesting no pages but those with these rows are decoded. Columns whose
        pages begin at the same row are read together.
        """
        metadata = self._footer.metadata.row_group(rows.row_group)
        view = PageView(self._source, self._size_bytes)
        ordered = sorted(columns)
        alike: dict[int, list[int]] = {}
        for column in ordered:
            leaves, skipped = self._footer.leaf_ranges[column], 0
            if not pa.types.is_nested(self.schema.field(column).type):
                chunk = metadata.column(leaves[0])
                start, (_, end) = chunk.data_page_offset, _chunk_bytes(chunk)
                pages = page_places(self._source, self._path, start, end, metadata.num_rows)
                at = bisect_right(pages, rows.first_row, key=lambda page: page.first_row) - 1
                skipped = pages[at].first_row
                view.begin_at(pages[at], start, end)
            alike.setdefault(skipped, []).append(column)
        file = self._opened(pa.PythonFile(view, "r"), _BUFFER_BYTES)
        values: dict[int, pa.ChunkedArray] = {}
        for skipped, together in alike.items():
            count = rows.end - skipped
            found = _first_rows(file, rows.row_group, self._leaf_indices(together), count)
            values.update(zip(together, found.columns, strict=True))
        schema = pa.schema([self.schema.field(column) for column in ordered])
        arrays = [values[column].slice(len(values[column]) - rows.row_count) for column in ordered]
        return pa.Table.from_arrays(arrays, schema=schema)

    def row_groups(self) -> tuple[RowGroup, ...]:
        """Return which rows the row groups have."""
        counts = self.row_group_rows
        firsts = accumulate(counts, initial=0)
        return tuple(RowGroup(first, count) for first, count in zip(firsts, counts, strict=False))

    @cached_property
    def _file(self) -> pq.ParquetFile:
        return self._opened(self._source)

    def _opened(self, source: pa.NativeFile, buffer_bytes: int = 0) -> pq.ParquetFile:
        return pq.ParquetFile(
            source,
            metadata=self._footer.metadata,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=buffer_bytes,
        )

    def bounds(self, column: int, row_group: int) -> tuple[pa.Scalar, pa.Scalar, int] | None:
        """Return smallest and greatest value and number of NULLs, None where not known.

        Floats have none, because Parquet does not say whether there are NaNs. A column that holds
        only NULLs has NULL bounds.
        """
        leaves = self._footer.leaf_ranges[column]
        kind = self.schema.field(column).type
        if len(leaves) != 1 or pa.types.is_nested(kind) or pa.types.is_floating(kind):
            return None
        chunk = self._footer.metadata.row_group(row_group).column(leaves[0])
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        if statistics.null_count == chunk.num_values:
            return pa.scalar(None, kind), pa.scalar(None, kind), statistics.null_count
        if not statistics.has_min_max:
            return None
        low, high = _bound(statistics, kind, "min"), _bound(statistics, kind, "max")
        return None if low is None or high is None else (low, high, statistics.null_count)

    def stored_bytes(self, columns: Sequence[int], rows: RowStretch) -> int:
        """Return the size in the file of these columns, of a part its share; reads nothing."""
        group = self._footer.metadata.row_group(rows.row_group)
        leaves = self._leaf_indices(columns)
        whole = sum(group.column(leaf).total_compressed_size for leaf in leaves)
        return int(whole * rows.row_count // max(group.num_rows, 1))

    def _leaf_indices(self, columns: Sequence[int]) -> list[int]:
        return [leaf for column in sorted(columns) for leaf in self._footer.leaf_ranges[column]]


def _batches(
    file: pq.ParquetFile, leaves: Sequence[int], row_group: int, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Rows of a row group in batches of up to `batch_rows`."""
    yield from file.reader.iter_batches(
        batch_rows, row_groups=[row_group], column_indices=list(leaves), use_threads=False
    )


def _first_rows(
    file: pq.ParquetFile, row_group: int, leaves: Sequence[int], count: int
) -> pa.Table:
    """Return the first rows of some columns; pages behind them are not read."""
    batches, missing = [], count
    for batch in _batches(file, leaves, row_group, count):
        batches.append(batch.slice(0, missing))
        missing -= batches[-1].num_rows
        if not missing:
            return pa.Table.from_batches(batches)
    raise ValueError("it has fewer rows than its footer says")


def _chunk_bytes(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Where a column of a row group begins and ends."""
    first = chunk.dictionary_page_offset
    start = chunk.data_page_offset if first is None else first
    return start, start + chunk.total_compressed_size


def _bound(statistics: pq.Statistics, kind: pa.DataType, side: str) -> pa.Scalar | None:
    """Return a bound in the column's type, also a date or time that Python's types cannot hold."""
    if pa.types.is_temporal(kind):
        raw = getattr(statistics, f"{side}_raw")
        number = pa.scalar(raw, pa.int32() if kind.bit_width == 32 else pa.int64())
        return number.cast(kind)
    value = getattr(statistics, side)
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
