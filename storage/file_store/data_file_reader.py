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
import pyarrow.acero as acero
import pyarrow.compute as pc

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_store.column_projection import absent_column, converted
from table_store.storage.file_store.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    KIND_DELETE,
    SEQUENCE_COLUMN,
    DataFile,
)
from table_store.storage.file_store.data_format import FormatReader, data_format
from table_store.storage.file_store.partition_path import data_file_path
from table_store.storage.file_store.row_group_pruning import Bounds, possible_row_groups
from table_store.storage.file_store.schema import Field, TableSchema
from table_store.storage.file_store.schema_store import SchemaStore
from table_store.storage.kernel.errors import CorruptFileError, FileAccessError, MissingFileError
from table_store.storage.kernel.types import is_orderable, to_arrow
from table_store.storage.kernel.values import Value

WHOLE_FILE_BYTES_MAX: Final = 1 << 20
"""Smaller files are read at once and checked against the checksum of the whole file."""

_SEQUENCE_POSITION: Final = 0
_KIND_POSITION: Final = 1
_FIRST_POSITION: Final = 2
"""Where a file has its columns: first the two of every data file, then those of its schema."""

_BATCH_ROWS: Final = 1 << 16
_KEYS_FIRST_ROWS_MIN: Final = 1 << 16
"""With fewer rows, looking at the keys first takes as long as reading everything."""


class DataFileReader:
    """Reads files of one table as columns of `schema`. Cheap to pickle: it goes to workers."""

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
            where: names only columns that are asked for; row groups that cannot satisfy it are
                not read.
            row_groups: ascending positions of those to read; None are all.
            snapshot_id: only named in errors.

        Raises:
            MissingFileError: the file is gone.
            CorruptFileError: it is not what was written; batches so far are right.
        """
        want = _Want(tuple(columns), with_kinds, with_sequences)
        with self._opened(file, snapshot_id) as opened:
            layout = self._layout(opened, want)
            groups = self._groups(opened, layout, where, row_groups)
            expected = layout.rows_of(groups)
            if not layout.positions:
                yield from _in_batches(layout.projected_table(_lengths_only(expected)), where)
                return
            batches = opened.reader.batches(layout.positions, groups)
            while True:
                with opened.damage():
                    batch = next(batches, None)
                if batch is None:
                    break
                expected -= batch.num_rows
                yield from _filtered_batch(layout.projected_batch(batch), where)
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
        """Return at once what `read` yields; faster, for the price of the memory."""
        want = _Want(tuple(columns), with_kinds, with_sequences)
        with self._opened(file, snapshot_id) as opened:
            layout = self._layout(opened, want)
            groups = self._groups(opened, layout, where, row_groups)
            expected = layout.rows_of(groups)
            if layout.positions:
                with opened.damage():
                    stored = opened.reader.table(layout.positions, groups)
            else:
                stored = _lengths_only(expected)
            opened.check(
                stored.num_rows == expected, "it has another number of rows than its footer says"
            )
            table = layout.projected_table(stored)
        return table if where is None else table.filter(_mask(table, where))

    def key_row_groups(
        self,
        file: DataFile,
        low: Value = None,
        high: Value = None,
        *,
        snapshot_id: int | None = None,
    ) -> tuple[int, ...]:
        """Return the row groups that can hold `low <= first key column < high`; None is open."""
        first = self._schema.key_fields[0]
        kind = to_arrow(first.type)
        where = pc.scalar(True)
        if low is not None:
            where = where & (pc.field(first.name) >= pa.scalar(low, kind))
        if high is not None:
            where = where & (pc.field(first.name) < pa.scalar(high, kind))
        with self._opened(file, snapshot_id) as opened:
            layout = self._layout(opened, _Want((first.name,), False, False))
            return layout.chosen_groups(where, None)

    @contextmanager
    def _opened(self, file: DataFile, snapshot_id: int | None) -> Iterator[_OpenedFile]:
        path = data_file_path(self._table_path, self._schema.partition_keys, file)
        form = data_format(file.format)
        with _damage(path, snapshot_id):
            source = self._file_io.open_input(path)
        try:
            with _damage(path, snapshot_id):
                size_bytes = source.size()
                if size_bytes != file.size_bytes:
                    raise ValueError(f"it has {size_bytes} bytes and not {file.size_bytes}")
                if size_bytes < WHOLE_FILE_BYTES_MAX or not form.is_checked_by_itself:
                    content = source.read_buffer(size_bytes)
                    if zlib.crc32(content) != file.checksum:
                        raise ValueError("the checksum of the file is wrong")
                    reader = form.open_reader(pa.BufferReader(content), size_bytes)
                else:
                    reader = form.open_reader(source, size_bytes)
                row_count = sum(reader.row_group_rows)
                if row_count != file.row_count:
                    raise ValueError(f"it has {row_count} rows and not {file.row_count}")
            yield _OpenedFile(path, snapshot_id, file, reader)
        finally:
            source.close()

    def _groups(
        self,
        opened: _OpenedFile,
        layout: _Layout,
        where: pc.Expression | None,
        row_groups: Sequence[int] | None,
    ) -> tuple[int, ...]:
        """Return the row groups to read: by their bounds, and then by the keys in them.

        Bounds say little about single keys: a lookup finds its key in one of many runs only.
        Reading the key alone first is cheap, for sorted keys are small.
        """
        groups = layout.chosen_groups(where, row_groups)
        names = [name for name in layout.column_names if name in self._schema.primary_key]
        if where is None or not names or layout.rows_of(groups) < _KEYS_FIRST_ROWS_MIN:
            return groups
        keys = self._layout(opened, _Want(tuple(names), False, False))
        if set(layout.positions) == set(keys.positions) or not keys.can_evaluate(where):
            return groups
        chosen = []
        for group in groups:
            with opened.damage():
                stored = opened.reader.table(keys.positions, [group])
            if pc.any(_mask(keys.projected_table(stored), where)).as_py():
                chosen.append(group)
        return tuple(chosen)

    def _layout(self, opened: _OpenedFile, want: _Want) -> _Layout:
        written = self._schema
        if opened.file.schema_id != written.id:
            written = self._schema_store.get(opened.file.schema_id)
        names = [SEQUENCE_COLUMN, KIND_COLUMN, *written.column_names]
        opened.check(opened.reader.schema.names == names, "it has other columns than its schema")
        place = {f.id: i for i, f in enumerate(written.fields)}
        columns = []
        for name in want.columns:
            field = self._schema.field_named(name)
            at = place.get(field.id)
            columns.append(
                _Column(
                    name,
                    field,
                    None if at is None else written.fields[at],
                    None if at is None else at + _FIRST_POSITION,
                )
            )
        return _Layout(opened.reader, opened.file, want, tuple(columns))


@dataclass(frozen=True, slots=True)
class _Want:
    columns: tuple[str, ...]
    with_kinds: bool
    with_sequences: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """One column asked for. `written` and `position` are None if the file is older than it."""

    name: str
    field: Field
    written: Field | None
    position: int | None


@dataclass(frozen=True, slots=True)
class _OpenedFile:
    path: str
    snapshot_id: int | None
    file: DataFile
    reader: FormatReader

    @contextmanager
    def damage(self) -> Iterator[None]:
        with _damage(self.path, self.snapshot_id):
            yield

    def check(self, is_right: bool, otherwise: str) -> None:
        if not is_right:
            raise CorruptFileError(path=self.path, reason=otherwise, snapshot_id=self.snapshot_id)


class _Layout:
    """How the columns of a file become the columns asked for."""

    def __init__(
        self, reader: FormatReader, file: DataFile, want: _Want, columns: tuple[_Column, ...]
    ) -> None:
        self._reader = reader
        self._file = file
        self._want = want
        self._columns = columns
        # Kinds that are all the same need not be read.
        self._are_kinds_mixed = 0 < file.delete_count < file.row_count
        positions = {c.position for c in columns if c.position is not None}
        if want.with_kinds and self._are_kinds_mixed:
            positions.add(_KIND_POSITION)
        if want.with_sequences:
            positions.add(_SEQUENCE_POSITION)
        self.positions = tuple(sorted(positions))
        fields = [pa.field(c.name, to_arrow(c.field.type)) for c in columns]
        if want.with_kinds:
            fields.append(pa.field(KIND_COLUMN, pa.int8()))
        if want.with_sequences:
            fields.append(pa.field(SEQUENCE_COLUMN, pa.int64()))
        self._schema = pa.schema(fields)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._want.columns

    def can_evaluate(self, where: pc.Expression) -> bool:
        try:
            _mask(self._schema.empty_table(), where)
        except pa.ArrowInvalid:
            return False  # it names a column that is not here
        return True

    def rows_of(self, groups: Sequence[int]) -> int:
        rows = self._reader.row_group_rows
        return sum(rows[group] for group in groups)

    def chosen_groups(
        self, where: pc.Expression | None, groups: Sequence[int] | None
    ) -> tuple[int, ...]:
        chosen = tuple(range(len(self._reader.row_group_rows)) if groups is None else groups)
        if where is None or not self._columns:
            return chosen
        known = [self._bounds(group) for group in chosen]
        return tuple(chosen[i] for i in possible_row_groups(where, self._schema, known))

    def projected_batch(self, stored: pa.RecordBatch) -> pa.RecordBatch:
        if not self._schema.names:
            return stored.select([])
        arrays = [
            self._column(
                c, None if c.position is None else self._stored(stored, c.position), stored
            )
            for c in self._columns
        ]
        arrays.extend(self._system_columns(stored))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def projected_table(self, stored: pa.Table) -> pa.Table:
        if not self._schema.names:
            return stored.select([])
        arrays = []
        for c in self._columns:
            if c.position is None:
                arrays.append(self._column(c, None, stored))
                continue
            chunked = self._stored(stored, c.position)
            chunks = [self._column(c, chunk, stored) for chunk in chunked.chunks]
            arrays.append(pa.chunked_array(chunks, to_arrow(c.field.type)))
        arrays.extend(self._system_columns(stored))
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _stored(self, rows: pa.Table | pa.RecordBatch, position: int) -> pa.ChunkedArray | pa.Array:
        return rows.column(self.positions.index(position))

    def _column(
        self, column: _Column, values: pa.Array | None, stored: pa.Table | pa.RecordBatch
    ) -> pa.Array:
        if column.written is None or values is None:
            return absent_column(column.field, stored.num_rows)
        return converted(values, column.written.type, column.field.type)

    def _system_columns(
        self, stored: pa.Table | pa.RecordBatch
    ) -> list[pa.ChunkedArray | pa.Array]:
        columns = []
        if self._want.with_kinds:
            if self._are_kinds_mixed:
                columns.append(self._stored(stored, _KIND_POSITION))
            else:
                kind = KIND_DELETE if self._file.delete_count else KIND_ADD
                columns.append(pa.array(np.full(stored.num_rows, kind, np.int8)))
        if self._want.with_sequences:
            sequences = self._stored(stored, _SEQUENCE_POSITION)
            offset = self._file.sequence_offset
            columns.append(pc.add(sequences, offset) if offset else sequences)
        return columns

    def _bounds(self, group: int) -> dict[str, Bounds]:
        known: dict[str, Bounds] = {}
        for c in self._columns:
            if c.position is None or c.written is None or not is_orderable(c.field.type):
                continue
            stored = self._reader.bounds(c.position, group)
            if stored is None:
                continue
            low, high, null_count = stored
            pair = converted(pa.array([low, high], low.type), c.written.type, c.field.type)
            known[c.name] = Bounds(low=pair[0], high=pair[1], has_nulls=null_count > 0)
        return known


def _lengths_only(length: int) -> pa.Table:
    return pa.table({"": pa.nulls(length)})


def _in_batches(table: pa.Table, where: pc.Expression | None) -> Iterator[pa.RecordBatch]:
    if where is not None:
        table = table.filter(_mask(table, where))
    if table.num_columns:
        yield from table.to_batches(max_chunksize=_BATCH_ROWS)
        return
    for start in range(0, table.num_rows, _BATCH_ROWS):
        length = min(_BATCH_ROWS, table.num_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(length)], [""]).select([])


def _filtered_batch(batch: pa.RecordBatch, where: pc.Expression | None) -> Iterator[pa.RecordBatch]:
    if where is not None:
        mask = _mask(pa.Table.from_batches([batch]), where)
        if not pc.all(mask, skip_nulls=False).as_py():
            batch = batch.filter(mask.combine_chunks())
    if batch.num_rows:
        yield batch


def _mask(rows: pa.Table, where: pc.Expression) -> pa.ChunkedArray:
    """Return for each row whether `where` is true; NULL is not."""
    if not rows.num_columns:
        # Without columns it is a constant.
        verdict = _mask(_lengths_only(1), where)[0].as_py()
        return pa.chunked_array([pa.repeat(pa.scalar(verdict, pa.bool_()), rows.num_rows)])
    plan = acero.Declaration.from_sequence(
        [
            acero.Declaration("table_source", acero.TableSourceNodeOptions(rows)),
            acero.Declaration("project", acero.ProjectNodeOptions([where], ["where"])),
        ]
    )
    return plan.to_table(use_threads=False).column(0)


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
            raise FileAccessError(path=path, operation="read", reason=name) from error
        if isinstance(error, MemoryError):
            raise
        raise CorruptFileError(path=path, reason=str(error), snapshot_id=snapshot_id) from error
