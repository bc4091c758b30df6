"""Writes rows of one bucket into data files, and describes them for the commit."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO, OutputFile
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.column_bounds import (
    column_bounds,
    merged_bounds,
    shortened_bounds,
)
from table_store.storage.file_store.model.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    KIND_DELETE,
    SEQUENCE_COLUMN,
    ColumnStats,
    DataFile,
)
from table_store.storage.file_store.model.partition_path import bucket_path
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.formats.data_format import FormatWriter, data_format
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import IdSource
from table_store.storage.kernel.nested_array import recast_column
from table_store.storage.kernel.stopwatch import Stopwatch
from table_store.storage.kernel.types import ARROW_FIELD_ID, arrow_field, is_orderable
from table_store.storage.kernel.values import Value, python_value

ROW_GROUP_ROWS_MAX: Final = 1 << 18
ROW_GROUP_BYTES_MAX: Final = 64 << 20
"""A row group ends at this size, as rows in Arrow's memory."""

SEQUENCE_FIELD_ID: Final = 2**31 - 2
KIND_FIELD_ID: Final = 2**31 - 3
"""Parquet ids of the two columns that every data file begins with; no table's column has them."""

_COMPRESSION_RATIO: Final = 3
"""Arrow's memory divided by the size in the file; only a guess, to decide where files end."""

_ROWS: Final = Counter("rows_written")
_BYTES: Final = Counter("bytes_written")


def physical_schema(schema: TableSchema) -> pa.Schema:
    """Return the columns of a data file written under `schema`, in the file's order.

    All fields except the key are optional, nested ones too: rows that delete have only the key,
    and Parquet's writer refuses NULL in a required field even if the struct itself is NULL.
    """
    return pa.schema(
        [
            _system_field(SEQUENCE_COLUMN, pa.int64(), SEQUENCE_FIELD_ID),
            _system_field(KIND_COLUMN, pa.int8(), KIND_FIELD_ID),
            *(
                _optional(arrow_field(f.name, f.type, field_id=f.id)).with_nullable(
                    f.name not in schema.primary_key
                )
                for f in schema.fields
            ),
        ]
    )


def _optional(field: pa.Field) -> pa.Field:
    """Return the field and all fields below it as nullable, except the keys of maps."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_optional(child) for child in kind])
    elif pa.types.is_map(kind):
        key = _optional(kind.key_field).with_nullable(False)
        kind = pa.map_(key, _optional(kind.item_field))
    elif pa.types.is_list(kind):
        kind = pa.list_(_optional(kind.value_field))
    return field.with_type(kind).with_nullable(True)


def _system_field(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={ARROW_FIELD_ID: str(field_id).encode()})


class DataFileWriter:
    """Writes rows of one bucket, in the order given, into one file after the other.

    It holds back up to one row group of rows (`ROW_GROUP_BYTES_MAX`). `row_count` includes them.
    `encoding` tells how long files were encoded, written and made durable.
    """

    def __init__(
        self,
        *,
        file_io: FileIO,
        table_path: str,
        schema: TableSchema,
        partition: tuple[Value, ...],
        bucket: int,
        level: int,
        options: DataFileOptions,
        clock: Clock,
        ids: IdSource,
        encoding: Stopwatch | None = None,
    ) -> None:
        self.encoding = encoding or Stopwatch()
        self._file_io = file_io
        self._schema = schema
        self.partition = partition
        self.bucket = bucket
        self._level = level
        self._options = options
        self._clock = clock
        self._format = data_format(options.format, options.compression, options.compression_level)
        self._folder = bucket_path(table_path, schema.partition_keys, partition, bucket)
        self._prefix = f"data-{ids.unique()}"
        self._physical = physical_schema(schema)
        self._group_bytes = max(1, min(ROW_GROUP_BYTES_MAX, options.target_size_bytes))
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._current: _OpenFile | None = None
        self._files: list[DataFile] = []
        self.row_count = 0

    @property
    def held_bytes(self) -> int:
        """Memory of the rows held back."""
        return self._pending_bytes

    def write(
        self, rows: pa.Table, *, kinds: np.ndarray | None, sequences: np.ndarray | int
    ) -> None:
        """Append rows.

        Args:
            rows: the table's columns in the schema's order; cast where their types differ.
            kinds: int8 `_VALUE_KIND` per row; None means that all rows are added.
            sequences: int64 `_SEQUENCE_NUMBER` per row, or the first of a run without gaps.

        Raises:
            FileAccessError: the store refused; the caller has to call `abort`.
        """
        if not rows.num_rows:
            return
        table = self._with_system_columns(rows, kinds, sequences)
        self._pending.append(table)
        self.row_count += table.num_rows
        self._pending_rows += table.num_rows
        self._pending_bytes += table.nbytes
        while self._pending_rows >= ROW_GROUP_ROWS_MAX or self._pending_bytes >= self._group_bytes:
            self._write_row_group()

    def flush(self) -> None:
        """Write the rows held back, which frees their memory but makes a smaller row group."""
        while self._pending_rows:
            self._write_row_group()

    def close(self) -> tuple[DataFile, ...]:
        """Make all files durable and return them in the order of their rows; none without rows."""
        self.flush()
        self._finish_file()
        return tuple(self._files)

    def abort(self) -> None:
        """Delete every file written, also after `close`; one that stays becomes an orphan."""
        names = [file.name for file in self._files]
        if self._current is not None:
            self._current.abort()
            names.append(self._current.name)
        self._current = None
        self._files = []
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        for name in names:
            with suppress(TableStoreError):
                self._file_io.delete(join_path(self._folder, name))

    def _with_system_columns(
        self, rows: pa.Table, kinds: np.ndarray | None, sequences: np.ndarray | int
    ) -> pa.Table:
        count = rows.num_rows
        if isinstance(sequences, int | np.integer):
            sequences = np.arange(sequences, int(sequences) + count, dtype=np.int64)
        if kinds is None:
            kinds = np.full(count, KIND_ADD, np.int8)
        columns = [
            recast_column(column, f.type)
            for column, f in zip(rows.columns, list(self._physical)[2:], strict=True)
        ]
        return pa.Table.from_arrays(
            [pa.array(sequences, pa.int64()), pa.array(kinds, pa.int8()), *columns],
            schema=self._physical,
        )

    def _write_row_group(self) -> None:
        held = pa.concat_tables(self._pending)
        # Rows differ little in size, so their mean size is good enough to cut by.
        row_bytes = max(1, self._pending_bytes // self._pending_rows)
        rows_max = min(ROW_GROUP_ROWS_MAX, max(1, self._group_bytes // row_bytes))
        group, rest = held.slice(0, rows_max), held.slice(rows_max)
        self._pending = [rest] if rest.num_rows else []
        self._pending_rows = rest.num_rows
        self._pending_bytes = rest.num_rows * row_bytes
        if self._current is None:
            self._current = self._start_file()
        with self.encoding:
            self._current.write(group)
        if self._current.expected_bytes >= self._options.target_size_bytes:
            self._finish_file()

    def _start_file(self) -> _OpenFile:
        name = f"{self._prefix}-{len(self._files)}.{self._format.name}"
        output = self._file_io.create_output(join_path(self._folder, name))
        with ExitStack() as undone:
            undone.callback(output.abort)
            writer = self._format.open_writer(output, self._physical, self._schema.primary_key)
            undone.pop_all()
        return _OpenFile(name, output, writer, self._schema)

    def _finish_file(self) -> None:
        current = self._current
        if current is None:
            return
        with self.encoding:
            current.close()
        self._current = None
        _ROWS.add(current.row_count)
        _BYTES.add(current.size_bytes)
        key = self._schema.primary_key
        self._files.append(
            DataFile(
                name=current.name,
                partition=self.partition,
                bucket=self.bucket,
                level=self._level,
                schema_id=self._schema.id,
                row_count=current.row_count,
                delete_count=current.delete_count,
                size_bytes=current.size_bytes,
                key_min=current.key_min if key else None,
                key_max=current.key_max if key else None,
                min_sequence=current.sequence_range[0],
                max_sequence=current.sequence_range[1],
                stats={i: shortened_bounds(s) for i, s in current.stats.items()},
                checksum=current.checksum,
                created_ms=self._clock.now_ms(),
                format=self._format.name,
            )
        )


class _OpenFile:
    """A file being written, and what is known about its rows so far."""

    def __init__(
        self, name: str, output: OutputFile, writer: FormatWriter, schema: TableSchema
    ) -> None:
        self.name = name
        self._output = output
        self._writer = writer
        self._schema = schema
        self._unwritten_bytes = 0
        self.row_count = 0
        self.delete_count = 0
        self.key_min: tuple[Value, ...] = ()
        self.key_max: tuple[Value, ...] = ()
        self.sequence_range = (0, 0)
        self.stats: dict[int, ColumnStats] = {}

    @property
    def size_bytes(self) -> int:
        return self._output.tell()

    @property
    def expected_bytes(self) -> int:
        """Expected size, with the rows that the format still holds (ORC collects a stripe)."""
        return self.size_bytes + self._unwritten_bytes // _COMPRESSION_RATIO

    @property
    def checksum(self) -> int:
        return self._output.checksum

    def write(self, rows: pa.Table) -> None:
        before = self.size_bytes
        self._writer.write(rows)
        self._unwritten_bytes += rows.nbytes
        if self.size_bytes > before:
            self._unwritten_bytes = 0
        sequences = rows[SEQUENCE_COLUMN].to_numpy()
        low, high = int(sequences.min()), int(sequences.max())
        key = self._schema.primary_key
        if self.row_count:
            low, high = min(low, self.sequence_range[0]), max(high, self.sequence_range[1])
        else:
            self.key_min = tuple(python_value(rows[name][0]) for name in key)
        self.sequence_range = (low, high)
        self.key_max = tuple(python_value(rows[name][-1]) for name in key)
        self.row_count += rows.num_rows
        self.delete_count += int((rows[KIND_COLUMN].to_numpy() == KIND_DELETE).sum())
        for position, f in enumerate(self._schema.fields, start=2):
            if is_orderable(f.type):
                bounds = column_bounds(rows.column(position))
                known = self.stats.get(f.id)
                self.stats[f.id] = bounds if known is None else merged_bounds(known, bounds)

    def close(self) -> None:
        self._writer.close()
        self._output.close()

    def abort(self) -> None:
        self._writer.abort()
        self._output.abort()
