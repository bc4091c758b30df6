"""How the records of a topic hold rows, or changes of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.connectors.formats.message_formats import BadValue, MessageFormat
from table_store.storage.kernel.types import to_arrow
from table_store.storage.log_store.kafka.record_decoding import Records


@dataclass(frozen=True, slots=True)
class BadRecord:
    """The record at an offset is no row, because of its value or of its key."""

    offset: int
    reason: str
    is_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRows:
    """Some rows.

    Attributes:
        records: for each row the one that has it.
        columns: by name.
        orders: of changes, as `CHANGE_ORDER` has them; None: all rows are new ones.
    """

    records: Records
    columns: Mapping[str, pa.Array]
    orders: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class RecordFormat(ABC):
    """How a record holds a row."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that records have."""

    @abstractmethod
    def rows(self, records: Records, names: Sequence[str]) -> Iterator[RecordRows | BadRecord]:
        """Yield the rows of all records, with some of their columns.

        New rows come in the order of the records; changes come in any, and their `orders` tell.
        """


@dataclass(frozen=True, slots=True)
class ValueRows(RecordFormat):
    """The value of each record is a new row; a record without a value has none."""

    value: MessageFormat

    @property
    def names(self) -> tuple[str, ...]:
        """See `RecordFormat`."""
        return self.value.names

    def rows(self, records: Records, names: Sequence[str]) -> Iterator[RecordRows | BadRecord]:
        """See `RecordFormat`."""
        kept = with_values(records)
        for found in self.value.parsed(kept.values, names):
            if isinstance(found, BadValue):
                yield BadRecord(int(kept.offsets[found.place]), found.reason)
                continue
            columns = dict(zip(names, found.columns, strict=True))
            yield RecordRows(records=kept.slice(found.first, found.count), columns=columns)


@dataclass(frozen=True, slots=True)
class KeyedRows(RecordFormat):
    """Each record is the row of its key from then on; one without a value: there is none.

    Of a row that goes only the key is known; its other columns are NULL. A row that is replaced is
    not told.

    Attributes:
        key: of the key, whose columns are not NULL.
        value: of the value; columns that the key has too are taken from there.
    """

    key: MessageFormat
    value: MessageFormat

    @property
    def names(self) -> tuple[str, ...]:
        """See `RecordFormat`."""
        return tuple(dict.fromkeys((*self.key.names, *self.value.names)))

    def rows(self, records: Records, names: Sequence[str]) -> Iterator[RecordRows | BadRecord]:
        """See `RecordFormat`."""
        has_key = _is_valid(records.keys)
        for place in np.flatnonzero(~has_key):
            yield BadRecord(int(records.offsets[place]), "it has no key", is_key=True)
        kept = records if has_key.all() else records.taken(np.flatnonzero(has_key))
        in_key = self.key.names
        in_value = [name for name in names if name not in in_key]
        for found in self.key.parsed(kept.keys, in_key):
            if isinstance(found, BadValue):
                yield BadRecord(
                    int(kept.offsets[found.place]), f"its key: {found.reason}", is_key=True
                )
                continue
            columns = dict(zip(in_key, found.columns, strict=True))
            part = kept.slice(found.first, found.count)
            yield from self._changes(part, columns, in_value)

    def _changes(
        self, records: Records, keys: Mapping[str, pa.Array], names: Sequence[str]
    ) -> Iterator[RecordRows | BadRecord]:
        """Yield the changes of records whose keys are known."""
        has_value = _is_valid(records.values)
        there, gone = np.flatnonzero(has_value), np.flatnonzero(~has_value)
        if len(gone):
            types = {field.name: to_arrow(field.type) for field in self.value.columns}
            columns = {name: pa.nulls(len(gone), types[name]) for name in names}
            orders = -(records.offsets[gone] + 1)
            yield RecordRows(
                records=records.taken(gone), columns=columns | _taken(keys, gone), orders=orders
            )
        kept = records.taken(there) if len(gone) else records
        for found in self.value.parsed(kept.values, names):
            if isinstance(found, BadValue):
                yield BadRecord(int(kept.offsets[found.place]), found.reason)
                continue
            part = kept.slice(found.first, found.count)
            columns = dict(zip(names, found.columns, strict=True))
            at = there[found.first : found.first + found.count]
            yield RecordRows(
                records=part, columns=columns | _taken(keys, at), orders=part.offsets + 1
            )


def with_values(records: Records) -> Records:
    """Return those of some records that have a value."""
    if not records.values.null_count:
        return records
    return records.taken(np.flatnonzero(_is_valid(records.values)))


def _is_valid(values: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return found


def _taken(columns: Mapping[str, pa.Array], places: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
    at = pa.array(places)
    return {name: column.take(at) for name, column in columns.items()}
