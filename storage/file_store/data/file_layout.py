"""How the columns of one data file become the columns that a reader asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.data.column_projection import absent_column, converted
from table_store.storage.file_store.data.row_group_pruning import (
    RowGroupBounds,
    possible_row_groups,
)
from table_store.storage.file_store.model.data_file import (
    KIND_ADD,
    KIND_COLUMN,
    KIND_DELETE,
    SEQUENCE_COLUMN,
    DataFile,
)
from table_store.storage.file_store.model.errors import ValueOutOfRangeError
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.formats.data_format import FormatReader
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.types import is_orderable, to_arrow
from table_store.storage.kernel.values import Value, python_value

_SEQUENCE_POSITION: Final = 0
_KIND_POSITION: Final = 1
_FIRST_POSITION: Final = 2
"""Position of the first column of the schema, behind the two that every data file begins with."""


_BOUND_BYTES: Final = 400
"""About so much memory the bounds of a column in a row group take, without their texts."""


def _held_bytes(known: Sequence[Mapping[str, RowGroupBounds]]) -> int:
    """Return about how much memory the bounds of a file take."""
    pairs = [(each.low, each.high) for bounds in known for each in bounds.values()]
    texts = [v for pair in pairs for v in pair if isinstance(v, pa.BinaryScalar) and v.is_valid]
    text_bytes = sum(int(text.as_buffer().size) for text in texts)
    return 1000 + _BOUND_BYTES * len(pairs) + text_bytes


_BOUNDS: Final = BoundedCache[Sequence[Mapping[str, RowGroupBounds]]](16 << 20, _held_bytes)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader asks for: columns by their present names, and the two of every data file."""

    columns: tuple[str, ...]
    with_kinds: bool
    with_sequences: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """One wanted column; `written` and `position` are None if the file is older than it."""

    name: str
    field: Field
    written: Field | None
    position: int | None


class FileLayout:
    """Where the wanted columns are in a file; only the footer is read.

    `positions` are those of the needed columns of the file, ascending; `schema` is that of the
    projected rows.
    """

    def __init__(
        self,
        reader: FormatReader,
        file: DataFile,
        want: Wanted,
        *,
        path: str,
        written: TableSchema,
        current: TableSchema,
    ) -> None:
        self._reader = reader
        self._file = file
        self._want = want
        self._path = path
        self._key = f"{path} {written.id} {current.id} {','.join(want.columns)}"
        self._columns = columns = [_column(name, written, current) for name in want.columns]
        # If all rows have the same kind, the column of kinds is not read.
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
        self.schema = pa.schema(fields)

    def chosen_groups(
        self, where: pc.Expression | None, groups: Sequence[int] | None
    ) -> tuple[int, ...]:
        """Return those of `groups` (None: of all) whose bounds allow rows that satisfy `where`."""
        chosen = tuple(range(len(self._reader.row_group_rows)) if groups is None else groups)
        if where is None or not self._columns:
            return chosen
        known = [self._bounds(g) for g in chosen] if groups is not None else self._all_bounds()
        return tuple(chosen[i] for i in possible_row_groups(where, self.schema, known))

    def projected(self, stored: pa.Table) -> pa.Table:
        """Return the rows with the columns of `schema`; `stored` has those at `positions`."""
        if not self.schema.names:
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
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _stored(self, rows: pa.Table, position: int) -> pa.ChunkedArray:
        return rows.column(self.positions.index(position))

    def _column(self, column: _Column, values: pa.Array | None, stored: pa.Table) -> pa.Array:
        if column.written is None or values is None:
            return absent_column(column.field, stored.num_rows)
        written, wanted = column.written.type, column.field.type
        try:
            return converted(values, written, wanted)
        except pa.ArrowInvalid as error:
            raise ValueOutOfRangeError(
                column=column.name,
                path=self._path,
                written=written.sql_name(),
                wanted=wanted.sql_name(),
            ) from error

    def _system_columns(self, stored: pa.Table) -> list[pa.ChunkedArray | pa.Array]:
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

    def minima(self) -> tuple[tuple[Value, ...] | None, ...]:
        """Return the least values of the columns in each row group; None if none are known."""
        known = self._all_bounds()
        return tuple(
            tuple(python_value(bounds[name].low) for name in self.schema.names)
            if all(name in bounds and bounds[name].low.is_valid for name in self.schema.names)
            else None
            for bounds in known
        )

    def _all_bounds(self) -> Sequence[Mapping[str, RowGroupBounds]]:
        """Those of all row groups: who asks for keys again and again asks for them each time.

        They are remembered under the file's path, which is safe because files never change.
        """
        known = _BOUNDS.get(self._key)
        if known is None:
            known = tuple(map(self._bounds, range(len(self._reader.row_group_rows))))
            _BOUNDS.put(self._key, known)
        return known

    def _bounds(self, group: int) -> dict[str, RowGroupBounds]:
        known: dict[str, RowGroupBounds] = {}
        for c in self._columns:
            if c.position is None or c.written is None:
                value = absent_column(c.field, 1)[0]
                if not pa.types.is_floating(value.type):  # NaN equals nothing, itself included
                    known[c.name] = RowGroupBounds(
                        low=value, high=value, has_nulls=not value.is_valid
                    )
                continue
            if not is_orderable(c.field.type):
                continue
            stored = self._reader.bounds(c.position, group)
            if stored is None:
                continue
            low, high, null_count = stored
            try:
                pair = converted(pa.array([low, high], low.type), c.written.type, c.field.type)
            except pa.ArrowInvalid:
                continue  # who reads such a value is told
            known[c.name] = RowGroupBounds(low=pair[0], high=pair[1], has_nulls=null_count > 0)
        return known


def _column(name: str, written: TableSchema, current: TableSchema) -> _Column:
    """Find a column by its id, because it may have had another name."""
    field = current.field_named(name)
    for position, candidate in enumerate(written.fields, start=_FIRST_POSITION):
        if candidate.id == field.id:
            return _Column(name, field, candidate, position)
    return _Column(name, field, None, None)
