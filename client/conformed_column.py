"""Brings a column of rows from elsewhere to the type of its column in the table."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_store.client.errors import NaiveTimestampError
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.errors import InvalidSchemaError, UnsupportedTypeError
from table_store.storage.kernel.nearest_float import nearest_floats
from table_store.storage.kernel.nested_array import recast
from table_store.storage.kernel.types import (
    BYTE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    TimeType,
    to_arrow,
)

_NUMBERS = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)


def conformed(values: pa.Array, field: Field, zone: str | None) -> pa.Array:
    """Return the values in the Arrow type of a column; nothing is copied where they have it.

    Every value is the same afterwards: a number that does not fit exactly is refused, and so is a
    text in a column of numbers. FLOAT and DOUBLE take the nearest number that they have, and none
    that is beyond their range. A DECIMAL takes of a binary number the shortest decimal one that
    stands for it.

    Args:
        values: of any type of Arrow.
        field: the column.
        zone: the zone of timestamps that have none, and of the clock that a TIMESTAMP_NTZ shows.

    Raises:
        InvalidSchemaError: a value does not fit, or the types are of different kinds.
        NaiveTimestampError: a timestamp has no zone where one is needed, or the other way round,
            and `zone` is None.
    """
    kind = to_arrow(field.type)
    if values.type.equals(kind):
        return values
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    if pa.types.is_dictionary(values.type):
        return conformed(values.dictionary, field, zone).take(values.indices)
    try:
        return recast(values, kind, _Leaf(field.name, zone).cast)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnsupportedTypeError) as error:
        reason = f"its values of type {values.type} do not fit ({str(error).rstrip('.')})"
        raise InvalidSchemaError(reason=reason, column=field.name) from error


@dataclass(frozen=True)
class _Leaf:
    """What is not nested in a column."""

    column: str
    zone: str | None

    def cast(self, values: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cast values; those are refused, too, that Arrow's own cast changes."""
        source, target = from_arrow(values.type), from_arrow(kind)
        if _kind(source) != _kind(target):
            raise pa.ArrowInvalid(f"{target.sql_name()} takes no such values")
        if isinstance(target, ArrayType):  # of another layout, as those of polars are
            return recast(values.cast(pa.list_(values.type.value_field)), kind, self.cast)
        values = self._in_zone(values, source, target)
        if pa.types.is_decimal(kind):
            if pa.types.is_integer(values.type):
                values = values.cast(pa.decimal128(20, 0))  # else Arrow looks at the type's range
            elif pa.types.is_floating(values.type):
                values = values.cast(pa.string())  # else Arrow rounds
        if not pa.types.is_floating(kind):
            return values.cast(kind)
        done = nearest_floats(values, kind)
        if values.type.bit_width > kind.bit_width:
            became_infinite = pc.and_(pc.is_finite(values), pc.is_inf(done))
            became_zero = pc.and_(pc.not_equal(values, 0), pc.equal(done, 0))
            lost = values.filter(pc.or_(became_infinite, became_zero))
            if len(lost):
                raise pa.ArrowInvalid(f"{lost[0]} is beyond the range of {kind}")
        return done

    def _in_zone(self, values: pa.Array, source: DataType, target: DataType) -> pa.Array:
        if {source, target} != {TIMESTAMP, TIMESTAMP_NTZ}:
            return values
        if self.zone is None:
            found = "without a time zone" if source == TIMESTAMP_NTZ else "with a time zone"
            raise NaiveTimestampError(
                where=f"Column {self.column!r}", needed=target.sql_name(), found=found
            )
        micros = values.cast(pa.timestamp("us", values.type.tz))
        if source == TIMESTAMP_NTZ:
            # A time that the clock shows twice is the first; one that it leaps over is an error.
            return pc.assume_timezone(micros, self.zone, ambiguous="earliest", nonexistent="raise")
        return pc.local_timestamp(micros.cast(pa.timestamp("us", self.zone)))


def _kind(data_type: DataType) -> object:
    """Return what all types have in common whose values may become each other."""
    if data_type in _NUMBERS or isinstance(data_type, DecimalType):
        return "number"
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return "timestamp"
    if isinstance(data_type, ArrayType | MapType | StructType | TimeType):
        return type(data_type)
    return data_type
