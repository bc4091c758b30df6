"""`'format' = 'debezium-json'`: each record is a change of a row, in Debezium's envelope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.connectors.formats.message_formats import BadValue, JsonFormat
from table_store.catalog.connectors.kafka.record_formats import (
    BadRecord,
    RecordFormat,
    RecordRows,
    with_values,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import STRING, StructField, StructType
from table_store.storage.log_store.kafka.record_decoding import Records

_PAYLOAD: Final = "payload"
_COMES: Final = pa.array(["c", "r", "u"])
_GOES: Final = pa.array(["u", "d"])

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EnvelopeRows(RecordFormat):
    """The value is an object with `before` and `after`, each a row or null, and `op`.

    `c` and `r` bring the row of `after`, `d` takes that of `before` away, `u` does both. A record
    without a value, which Debezium writes behind a delete, has no change.

    Attributes:
        columns: those of a row.
        has_schema: whether this object is the field `payload` of another one.
    """

    columns: tuple[Field, ...]
    has_schema: bool

    def __post_init__(self) -> None:
        JsonFormat(self.columns)  # it names a column that there cannot be

    def rows(self, records: Records, names: Sequence[str]) -> Iterator[RecordRows | BadRecord]:
        """See `RecordFormat`; both changes of an update have places of their own in the order."""
        kept = with_values(records)
        asked = [field for field in self.columns if field.name in names] or self.columns[:1]
        envelope = self._envelope(asked)
        for found in JsonFormat(envelope).parsed(kept.values, [field.name for field in envelope]):
            if isinstance(found, BadValue):
                yield BadRecord(int(kept.offsets[found.place]), found.reason)
                continue
            columns: Sequence[pa.Array] = found.columns
            if self.has_schema:
                (payload,) = columns
                columns = payload.flatten()
            yield from _changes(kept.slice(found.first, found.count), asked, *columns)

    def _envelope(self, asked: Sequence[Field]) -> tuple[Field, ...]:
        row = StructType(tuple(StructField(name=field.name, type=field.type) for field in asked))
        kinds = {"before": row, "after": row, "op": STRING}
        if self.has_schema:
            fields = (StructField(name=name, type=kind) for name, kind in kinds.items())
            return (Field(id=0, name=_PAYLOAD, type=StructType(tuple(fields))),)
        return tuple(
            Field(id=number, name=name, type=kind)
            for number, (name, kind) in enumerate(kinds.items())
        )


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
