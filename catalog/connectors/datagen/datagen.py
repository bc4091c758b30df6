"""`'connector' = 'datagen'`: rows that are made from their numbers.

Options, defaults and meanings are those of Flink's connector of this name, except that a row's
values depend on its number and on when it comes, so that a range of rows can be made again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.datagen.field_generator import field_generator, field_paths
from table_store.catalog.connectors.datagen.field_options import AllFieldOptions
from table_store.catalog.connectors.datagen.generators import Generator, Rows, Times
from table_store.catalog.connectors.datagen.random_numbers import Numbers
from table_store.catalog.connectors.datagen.row_range import RowRange
from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.position import (
    STRETCHES_MAX,
    Position,
    PositionStore,
    Stretch,
)
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.row_batch import BATCH_ROWS, batch_of
from table_store.storage.options.connector_options import (
    FIELDS,
    NUMBER_OF_ROWS,
    ROWS_PER_SECOND,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_BATCH_BYTES: Final = 8 << 20
_VALUE_BYTES: Final = 64
_LAST_ROW: Final = 2**63 - 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Datagen:
    """The rows of a table.

    Attributes:
        names: of the columns, without computed ones.
        generators: of their values.
        rows_per_second: while jobs read it.
        rows_end: how many rows it has at the end; None: it has no end.
        created_ms: when the table was created, ms since 1970.
    """

    names: tuple[str, ...]
    generators: tuple[Generator, ...]
    rows_per_second: int
    rows_end: int | None
    created_ms: int

    @classmethod
    def of(cls, schema: TableSchema, *, created_ms: int) -> Datagen:
        """Return the rows of a table that was created at a time.

        Raises:
            UnknownOptionError, InvalidOptionError: an option of a field is wrong.
            UnsupportedTypeError: a column has a type of which it makes no values.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        fields = AllFieldOptions(_field_options(schema))
        fields.unused(())  # refuses what is no option of any field
        generators, ends = [], [options.get(NUMBER_OF_ROWS)]
        columns = physical_columns(schema)
        for column in columns:
            try:
                generator, end = field_generator(column, fields, column.name)
            except UnsupportedTypeError as error:
                raise UnsupportedTypeError(type_name=error.type_name, column=column.name) from error
            generators.append(generator)
            ends.append(end)
        return cls(
            names=tuple(column.name for column in columns),
            generators=tuple(generators),
            rows_per_second=options.get(ROWS_PER_SECOND),
            rows_end=min((end for end in ends if end is not None), default=None),
            created_ms=created_ms,
        )

    @property
    def bound(self) -> str:
        """The option with which the rows have an end."""
        return NUMBER_OF_ROWS.key

    def rows_max(self, last: Position | None) -> int | None:
        """Return how many rows there will be; None: they have no end."""
        del last
        return self.rows_end

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position at a moment; None if it is still the last one."""
        del moment
        known = last or self.begin()
        found = self.next_position(known, now_ms, pause_ms)
        is_same = (found.rows, found.stretches) == (known.rows, known.stretches)
        return None if is_same else found

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead | None:
        """Return how to read rows that are out, or all; None if they have no end."""
        ends = [asked.last, self.rows_end]
        if asked.limit is not None:
            ends.append(asked.first + asked.limit)
        last = min((end for end in ends if end is not None), default=None)
        if last is None:
            return None
        rows = RowRange(asked.first, max(asked.first, last))
        return SourceRead(
            reader=RangeReader(self, positions.last() or self.begin()),
            parts=tuple(part.to_bytes() for part in rows.split(asked.parallelism)),
            rows=rows.last - rows.first,
        )

    def begin(self) -> Position:
        """Return the position before the first row."""
        return Position(rows=0, at_ms=self.created_ms, stretches=(Stretch(0, self.created_ms),))

    def next_position(self, last: Position, now_ms: int, pause_ms: int) -> Position:
        """Return the position at a moment.

        The rows follow the time. If nobody has looked for more than `pause_ms`, no job has run:
        then the rows go on from now, and none comes for the time between.
        """
        if now_ms <= last.at_ms or last.rows == self.rows_end:
            return last
        if now_ms - last.at_ms > pause_ms:
            resumed = Stretch(last.rows, now_ms)
            kept = [stretch for stretch in last.stretches if stretch.first < last.rows]
            return replace(last, at_ms=now_ms, stretches=(*kept, resumed)[-STRETCHES_MAX:])
        stretch = last.stretches[-1]
        rows = stretch.first + (now_ms - stretch.begin_ms) * self.rows_per_second // 1000
        most = _LAST_ROW if self.rows_end is None else self.rows_end
        return replace(last, rows=max(last.rows, min(rows, most)), at_ms=now_ms)

    def batches(
        self, first: int, last: int, columns: Sequence[str], position: Position
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows from number `first` up to `last`, without it, with some columns."""
        chosen = [self.generators[self.names.index(name)] for name in columns]
        step = max(1, min(BATCH_ROWS, _BATCH_BYTES // (_VALUE_BYTES * max(1, len(chosen)))))
        for begin in range(first, last, step):
            numbers = np.arange(begin, min(begin + step, last), dtype=np.uint64)
            rows = Rows(numbers, self._times(numbers, position))
            arrays = (generator.values(rows) for generator in chosen)
            yield batch_of(dict(zip(columns, arrays, strict=True)), len(numbers))

    def _times(self, numbers: Numbers, position: Position) -> Times:
        """When each row comes, in microseconds since 1970."""
        stretches = position.stretches
        firsts = np.array([stretch.first for stretch in stretches], np.int64)
        begins = np.array([stretch.begin_ms for stretch in stretches], np.int64)
        rows = numbers.view(np.int64)
        at = np.maximum(np.searchsorted(firsts, rows, side="right") - 1, 0)
        # In two steps, for a million rows per second and years fit into 64 bits only so.
        seconds, rest = np.divmod(np.maximum(rows - firsts[at], 0), self.rows_per_second)
        us = seconds * 1_000_000 + rest * 1_000_000 // self.rows_per_second
        times: Times = begins[at] * 1000 + us
        return times


@dataclass(frozen=True, slots=True)
class RangeReader(PartReader):
    """Reads ranges in workers."""

    rows: Datagen
    position: Position

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a `RowRange`."""
        found = RowRange.from_bytes(part)
        return self.rows.batches(found.first, found.last, columns, self.position)


def warn_of_unused(schema: TableSchema, name: str) -> None:
    """Tell which options are of columns that a new table does not have."""
    paths = [path for column in physical_columns(schema) for path in field_paths(column)]
    for key in AllFieldOptions(_field_options(schema)).unused(paths):
        _log.warning("%s has no field for the option '%s', which does nothing", name, key)


def _field_options(schema: TableSchema) -> dict[str, str]:
    return {k: v for k, v in schema.options.items() if k.startswith(FIELDS.prefix)}
