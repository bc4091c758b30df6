"""Which logical type holds the values of an Arrow type that comes from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.types import (
    ARROW_FIELD_ID,
    ARROW_PRIMITIVES,
    BINARY,
    DATE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIME_PRECISION_MAX,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    TimeType,
)

_ARROW_ALIASES: Final[Mapping[pa.DataType, PrimitiveType]] = {
    **{arrow: PrimitiveType(name) for name, arrow in ARROW_PRIMITIVES.items() if name != "variant"},
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.large_binary(): BINARY,
    pa.binary_view(): BINARY,
    pa.date64(): DATE,
    pa.uint8(): SHORT,
    pa.uint16(): INTEGER,
    pa.uint32(): LONG,
    pa.float16(): FLOAT,
}


def from_arrow(arrow: pa.DataType) -> DataType:
    """Return the logical type which holds every value of `arrow` exactly.

    Timestamps of any unit become microsecond ones; dictionary and run-end encoded types are
    what they encode; unsigned integers take the next wider signed type.

    Raises:
        UnsupportedTypeError: no logical type can hold it (null, duration, interval, union).
    """
    if arrow in _ARROW_ALIASES:
        return _ARROW_ALIASES[arrow]
    if pa.types.is_timestamp(arrow):
        return TIMESTAMP_NTZ if arrow.tz is None else TIMESTAMP
    if pa.types.is_time(arrow):
        return TimeType(TIME_PRECISION_MAX)
    if pa.types.is_decimal(arrow):
        return DecimalType(arrow.precision, arrow.scale)
    if arrow == pa.uint64():
        return DecimalType(20, 0)
    if pa.types.is_fixed_size_binary(arrow):
        return BINARY
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return from_arrow(arrow.value_type)
    return _nested_from_arrow(arrow)


def _nested_from_arrow(arrow: pa.DataType) -> DataType:
    if pa.types.is_map(arrow):
        return MapType(
            key=from_arrow(arrow.key_type),
            value=from_arrow(arrow.item_type),
            value_contains_null=arrow.item_field.nullable,
        )
    if pa.types.is_struct(arrow):
        if arrow == ARROW_PRIMITIVES["variant"]:
            return VARIANT
        return StructType(tuple(_field_from_arrow(arrow.field(i)) for i in range(arrow.num_fields)))
    if (
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
    ):
        return ArrayType(from_arrow(arrow.value_type), arrow.value_field.nullable)
    raise UnsupportedTypeError(type_name=str(arrow))


def _field_from_arrow(field: pa.Field) -> StructField:
    field_id = (field.metadata or {}).get(ARROW_FIELD_ID)
    return StructField(
        name=field.name,
        type=from_arrow(field.type),
        nullable=field.nullable,
        id=None if field_id is None else int(field_id),
    )
