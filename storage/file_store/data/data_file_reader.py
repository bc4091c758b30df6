"""Reads data files as columns of the schema that the caller wants to see."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.data.file_layout import FileLayout, Wanted
from table_store.storage.file_store.data.row_selection import RowSelection, stretches_with
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.data_file import (
    KIND_COLUMN,
    SEQUENCE_COLUMN,
    DataFile,
)
from table_store.storage.file_store.model.key_range import range_columns
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.order.row_filter import can_evaluate, matching, matching_places
from table_store.storage.formats.data_format import FormatReader, data_format
from table_store.storage.formats.parquet_format import ParquetFormatReader
from table_store.storage.formats.row_group import RowGroup
from table_store.storage.formats.row_stretch import RowStretch
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.errors import CorruptFileError, FileAccessError, MissingFileError
from table_store.storage.kernel.row_batch import BATCH_ROWS, lengths
from table_store.storage.kernel.values import Value, python_value

WHOLE_FILE_BYTES_MAX: Final = 1 << 20
"""Files below this size are read at once and checked against the checksum of the whole file."""

ROW_NUMBER_COLUMN: Final = "_ROW_NUMBER"

_ROWS: Final = Counter("rows_read")
_BYTES: Final = Counter("bytes_read")
_SKIPPABLE_ROWS_MIN: Final = 1 << 16
"""With fewer rows the search for what can be skipped takes as long as reading everything."""


class DataFileReader:
    """Reads files of one table as columns of `schema`. It is pickled for workers cheaply."""

    def __init__(
        self, *, file_io: FileIO, table_path: str, schema_store: SchemaStore, schema: TableSchema
    ) -> None:
        self._file_io = file_io
        self._table_path = table_path
        self._schema_store = schema_store
        self._schema = schema

    def read(
        self,
        file: DataFile,
        columns: Sequence[str],
        *,
        with_kinds: bool = False,
        with_sequences: bool = False,
        numbered_from: int | None = None,
        where: pc.Expression | None = None,
        row_groups: Sequence[int] | None = None,
        snapshot_id: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the file's rows in its order, in batches of up to 65,536 that are never empty.

        Args:
            file: as the snapshot describes it.
            columns: names in the schema; none gives batches that only have a length.
            with_kinds: add `_VALUE_KIND` (int8) behind the columns.
            with_sequences: add the absolute `_SEQUENCE_NUMBER` (int64) behind that.
            numbered_from: add `ROW_NUMBER_COLUMN` (int64) behind that, with this number for the
                file's first row; not allowed without `columns`.
            where: a condition on `columns` alone; row groups that cannot satisfy it are not read.
            row_groups: ascending positions of those to read; None means all.
            snapshot_id: for error messages only.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written; the batches before the error are right.
        """
        want = Wanted(tuple(columns), with_kinds, with_sequences)
        with self._opened(file, snapshot_id) as opened:
            layout = self._layout(opened, want)
            chosen = self._chosen(opened, layout, where, row_groups)
            row_count = expected = chosen.row_count
            opened.count(layout.positions, chosen)
            if not layout.positions:
                rows = layout.projected(_lengths_only(expected))
                yield from _in_batches(rows if where is None else matching(rows, where))
                return
            batches = chosen.batches(opened.reader, layout.positions)
            while True:
                with opened.damage():
                    batch = next(batches, None)
                if batch is None:
                    break
                rows = layout.projected(pa.Table.from_batches([batch]))
                if numbered_from is not None:
                    numbers = chosen.row_numbers(row_count - expected, batch.num_rows)
                    numbers += numbered_from
                    rows = rows.append_column(ROW_NUMBER_COLUMN, pa.array(numbers))
                expected -= batch.num_rows
                yield from _in_batches(rows if where is None else matching(rows, where))
            opened.check(expected == 0, "it has another number of rows than its footer says")

    def read_table(
        self,
        file: DataFile,
        columns: Sequence[str],
        *,
        with_kinds: bool = False,
        with_sequences: bool = False,
        where: pc.Expression | None = None,
        row_groups: Sequence[int] | None = None,
        snapshot_id: int | None = None,
    ) -> pa.Table:
        """Return the rows that `read` yields as one table, which is faster and needs the memory."""
        want = Wanted(tuple(columns), with_kinds, with_sequences)
        with self._opened(file, snapshot_id) as opened:
            layout = self._layout(opened, want)
            chosen = self._chosen(opened, layout, where, row_groups)
            opened.count(layout.positions, chosen)
            if layout.positions:
                with opened.damage():
                    stored = chosen.table(opened.reader, layout.positions)
            else:
                stored = _lengths_only(chosen.row_count)
            opened.check(
                stored.num_rows == chosen.row_count,
                "it has another number of rows than its footer says",
            )
            table = layout.projected(stored)
        return table if where is None else matching(table, where)

    def path_of(self, file: DataFile) -> str:
        """Return the path of a file."""
        return data_file_path(self._table_path, self._schema.partition_keys, file)

    def row_groups(self, file: DataFile, *, snapshot_id: int | None = None) -> tuple[RowGroup, ...]:
        """Return the file's row groups; a file of another format than Parquet counts as one.

        Reads the footer.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written.
        """
        with self._opened(file, snapshot_id) as opened:
            if isinstance(opened.reader, ParquetFormatReader):
                return opened.reader.row_groups()
            return (RowGroup(0, file.row_count),)

    def possible_rows(
        self, file: DataFile, columns: Sequence[str], where: pc.Expression | None
    ) -> int:
        """Return how many rows lie in row groups whose bounds allow a condition on `columns`.

        Reads the footer, except of a file of which all would be read.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written.
        """
        if where is None or file.row_count < _SKIPPABLE_ROWS_MIN:
            return file.row_count
        with self._opened(file, None) as opened:
            layout = self._layout(opened, Wanted(tuple(columns), False, False))
            counts = opened.reader.row_group_rows
            return sum(counts[group] for group in layout.chosen_groups(where, None))

    def row_group_starts(
        self, file: DataFile, column: str, *, snapshot_id: int | None = None
    ) -> tuple[tuple[Value, ...] | None, ...]:
        """Return the least value of a column in each row group; None if it is not known.

        Reads the footer.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written.
        """
        with self._opened(file, snapshot_id) as opened:
            return self._layout(opened, Wanted((column,), False, False)).minima()

    def read_row(
        self,
        file: DataFile,
        columns: Sequence[str],
        *,
        row_group: int,
        row: int,
        snapshot_id: int | None = None,
    ) -> pa.Table:
        """Return one row, by its place in a row group; as little as possible is read.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written.
        """
        with self._opened(file, snapshot_id) as opened:
            return self._row(opened, columns, row_group, row)

    def range_key_at(
        self, file: DataFile, row: int, *, snapshot_id: int | None = None
    ) -> tuple[Value, ...]:
        """Return the values of `range_columns` in one row, given by its number in the file.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written.
        """
        columns = range_columns(self._schema)
        with self._opened(file, snapshot_id) as opened:
            ends = np.cumsum(opened.reader.row_group_rows)
            group = int(np.searchsorted(ends, row, side="right"))
            place = row - int(ends[group]) + opened.reader.row_group_rows[group]
            found = self._row(opened, columns, group, place)
        return tuple(python_value(found[name][0]) for name in columns)

    @contextmanager
    def _opened(self, file: DataFile, snapshot_id: int | None) -> Iterator[_OpenedFile]:
        path = self.path_of(file)
        form = data_format(file.format)
        with _damage(path, snapshot_id):
            source = self._file_io.open_input(path)
        try:
            with _damage(path, snapshot_id):
                size_bytes = source.size()
                if size_bytes != file.size_bytes:
                    raise ValueError(f"it has {size_bytes} bytes and not {file.size_bytes}")
                is_whole = size_bytes < WHOLE_FILE_BYTES_MAX or not form.is_checked_by_itself
                if is_whole:
                    content = source.read_buffer(size_bytes)
                    if zlib.crc32(content) != file.checksum:
                        raise ValueError("the checksum of the file is wrong")
                    reader = form.open_reader(pa.BufferReader(content), size_bytes, path)
                else:
                    reader = form.open_reader(source, size_bytes, path)
                row_count = sum(reader.row_group_rows)
                if row_count != file.row_count:
                    raise ValueError(f"it has {row_count} rows and not {file.row_count}")
            yield _OpenedFile(path, snapshot_id, file, reader, is_whole)
        finally:
            source.close()

    def _chosen(
        self,
        opened: _OpenedFile,
        layout: FileLayout,
        where: pc.Expression | None,
        row_groups: Sequence[int] | None,
    ) -> RowSelection:
        """Return the rows to read, chosen by the bounds of row groups and by the keys in them.

        Bounds say little about single keys: a looked-up key lies within the bounds of many runs but
        is in one only. To read the keys alone first is cheap, because sorted keys are small.
        """
        reader = opened.reader
        groups = layout.chosen_groups(where, row_groups)
        chosen = RowSelection.of_groups(reader.row_group_rows, groups)
        names = [name for name in layout.schema.names if name in self._schema.primary_key]
        if where is None or not names or chosen.row_count < _SKIPPABLE_ROWS_MIN:
            return chosen
        keys = self._layout(opened, Wanted(tuple(names), False, False))
        if set(layout.positions) == set(keys.positions) or not can_evaluate(keys.schema, where):
            return chosen
        near: list[RowStretch] = []
        for whole in chosen.stretches:
            with opened.damage():
                stored = reader.table(keys.positions, [whole.row_group])
            places = matching_places(keys.projected(stored), where)
            if reader.reads_pages:
                near.extend(stretches_with(places, whole.row_group, whole.row_count))
            elif len(places):
                near.append(whole)
        return RowSelection(reader.row_group_rows, tuple(near))

    def _row(
        self, opened: _OpenedFile, columns: Sequence[str], row_group: int, row: int
    ) -> pa.Table:
        layout = self._layout(opened, Wanted(tuple(columns), False, False))
        if not layout.positions:
            return layout.projected(_lengths_only(1))
        with opened.damage():
            found = opened.reader.stretch(layout.positions, RowStretch(row_group, row, 1))
        opened.check(found.num_rows == 1, "it has fewer rows than its footer says")
        return layout.projected(found)

    def _layout(self, opened: _OpenedFile, want: Wanted) -> FileLayout:
        written = self._schema
        if opened.file.schema_id != written.id:
            written = self._schema_store.get(opened.file.schema_id)
        names = [SEQUENCE_COLUMN, KIND_COLUMN, *written.column_names]
        opened.check(opened.reader.schema.names == names, "it has other columns than its schema")
        return FileLayout(
            opened.reader,
            opened.file,
            want,
            path=opened.path,
            written=written,
            current=self._schema,
        )


@dataclass(frozen=True, slots=True)
class _OpenedFile:
    path: str
    snapshot_id: int | None
    file: DataFile
    reader: FormatReader
    is_whole: bool

    def count(self, columns: Sequence[int], rows: RowSelection) -> None:
        """Count what is about to be read; of a file that was read whole, the whole file."""
        size_bytes = self.file.size_bytes
        if not self.is_whole and isinstance(self.reader, ParquetFormatReader):
            size_bytes = sum(self.reader.stored_bytes(columns, each) for each in rows.stretches)
        _BYTES.add(size_bytes)
        _ROWS.add(rows.row_count)

    @contextmanager
    def damage(self) -> Iterator[None]:
        with _damage(self.path, self.snapshot_id):
            yield

    def check(self, is_right: bool, otherwise: str) -> None:
        if not is_right:
            raise CorruptFileError(path=self.path, reason=otherwise, snapshot_id=self.snapshot_id)


def _lengths_only(length: int) -> pa.Table:
    return pa.table({"": pa.nulls(length)})


def _in_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    if table.num_columns:
        yield from (b for b in table.to_batches(max_chunksize=BATCH_ROWS) if b.num_rows)
    else:
        yield from lengths(table.num_rows)


@contextmanager
def _damage(path: str, snapshot_id: int | None) -> Iterator[None]:
    """Turn what reading a damaged file raises into an error that names the file."""
    try:
        yield
    except MissingFileError as error:
        raise MissingFileError(path=path, snapshot_id=snapshot_id) from error
    except FileNotFoundError as error:
        raise MissingFileError(path=path, snapshot_id=snapshot_id) from error
    except (ValueError, OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            name = errno.errorcode.get(error.errno, str(error.errno))
            raise FileAccessError(
                path=path, operation="read", reason=name, may_have_happened=False
            ) from error
        if isinstance(error, MemoryError):
            raise
        reason = str(error).rstrip(".\n")
        raise CorruptFileError(path=path, reason=reason, snapshot_id=snapshot_id) from error
