"""Records that are changes of rows in Debezium's envelope.

Source: `'format' = 'debezium-json'` and `'debezium-avro-confluent'` of Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.connectors.formats.message_formats import BadValue, MessageFormat
from table_store.catalog.connectors.kafka.record_formats import (
    BadRecord,
    RecordFormat,
    RecordRows,
    with_values,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import StructField, StructType
from table_store.storage.log_store.kafka.record_decoding import Records
from table_store.storage.log_store.sinks.row_encoders import envelope_columns

_PAYLOAD: Final = "payload"
_COMES: Final = pa.array(["c", "r", "u"])
_GOES: Final = pa.array(["u", "d"])

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EnvelopeRows(RecordFormat):
    """The value has `before` and `after`, each a row or null, and `op`.

    `c` and `r` bring the row of `after`, `d` takes that of `before` away, `u` does both. A record
    without a value, which Debezium writes behind a delete, has no change.

    Attributes:
        columns: those of a row.
        values: returns the format of values for the fields of an envelope.
        has_schema: whether the envelope is the field `payload` of the value.
    """

    columns: tuple[Field, ...]
    values: Callable[[tuple[Field, ...]], MessageFormat]
    has_schema: bool = False

    def __post_init__(self) -> None:
        self.values(self.columns)  # it names a column that there cannot be

    @property
    def names(self) -> tuple[str, ...]:
        """See `RecordFormat`."""
        return tuple(field.name for field in self.columns)

    def rows(self, records: Records, names: Sequence[str]) -> Iterator[RecordRows | BadRecord]:
        """See `RecordFormat`; both changes of an update have places of their own in the order."""
        kept = with_values(records)
        asked = [field for field in self.columns if field.name in names] or self.columns[:1]
        fields = self._fields(asked)
        for found in self.values(fields).parsed(kept.values, [field.name for field in fields]):
            if isinstance(found, BadValue):
                yield BadRecord(int(kept.offsets[found.place]), found.reason)
                continue
            columns: Sequence[pa.Array] = found.columns
            if self.has_schema:
                (payload,) = columns
                columns = payload.flatten()
            yield from _changes(kept.slice(found.first, found.count), asked, *columns)

    def _fields(self, asked: Sequence[Field]) -> tuple[Field, ...]:
        # A value that is missing is told with the side on which it is, not by the parser.
        inner = envelope_columns([replace(field, nullable=True) for field in asked])
        if not self.has_schema:
            return inner
        fields = (StructField(name=field.name, type=field.type) for field in inner)
        return (Field(id=0, name=_PAYLOAD, type=StructType(tuple(fields))),)


def _changes(
    records: Records,
    fields: Sequence[Field],
    before: pa.StructArray,
    after: pa.StructArray,
    operations: pa.StringArray,
) -> Iterator[RecordRows | BadRecord]:
    """Yield the changes of records whose values are parsed."""
    goes, comes = (_mask(pc.is_in(operations, kinds)) for kinds in (_GOES, _COMES))
    reasons = {"its op is none of c, r, u and d": ~(goes | comes)}
    sides = []
    for name, rows, is_needed in (("before", before, goes), ("after", after, comes)):
        columns = dict(zip((field.name for field in fields), rows.flatten(), strict=True))
        sides.append(columns)
        reasons[f"it has no {name!r}, which its op needs"] = is_needed & ~_mask(pc.is_valid(rows))
        for field in fields:
            if not field.nullable:
                reason = f"column {field.name} of {name!r} is NOT NULL, and has no value"
                reasons[reason] = is_needed & _mask(pc.is_null(columns[field.name]))
    is_bad = np.zeros(len(records), np.bool_)
    for reason, found in reasons.items():
        for place in np.flatnonzero(found & ~is_bad):
            yield BadRecord(int(records.offsets[place]), reason)
        is_bad |= found
    yield _rows(records, np.flatnonzero(goes & ~is_bad), np.flatnonzero(comes & ~is_bad), *sides)


def _rows(
    records: Records,
    gone: npt.NDArray[np.int64],
    come: npt.NDArray[np.int64],
    before: Mapping[str, pa.Array],
    after: Mapping[str, pa.Array],
) -> RecordRows:
    """Return the rows that go from some places, and those that come from some."""
    columns = {
        name: pa.concat_arrays(
            [before[name].take(pa.array(gone)), after[name].take(pa.array(come))]
        )
        for name in before
    }
    orders = [-(2 * records.offsets[gone] + 1), 2 * records.offsets[come] + 2]
    return RecordRows(
        records=records.taken(np.concatenate([gone, come])),
        columns=columns,
        orders=np.concatenate(orders),
    )


def _mask(found: pa.BooleanArray) -> Mask:
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask
