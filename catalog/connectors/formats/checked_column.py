"""What a column demands of values that have its Arrow type already."""

from __future__ import annotations

import pyarrow as pa

from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.write.conformed_column import conformed
from table_store.storage.kernel.required_value import missing_part
from table_store.storage.kernel.types import (
    TIME_PRECISION_MAX,
    ArrayType,
    DataType,
    MapType,
    StructType,
    TimeType,
)


def checked_column(values: pa.Array, field: Field) -> pa.Array:
    """Return the values as the column stores them: a TIME drops digits that its type lacks.

    Raises:
        pyarrow.ArrowInvalid: see `check_required`.
    """
    check_required(values, field)
    return conformed(values, field, None) if _has_short_time(field.type) else values


def check_required(values: pa.Array, field: Field) -> None:
    """Check that no value is NULL that may not be.

    Raises:
        pyarrow.ArrowInvalid: one is, in the column or inside of it.
    """
    if values.null_count and not field.nullable:
        raise pa.ArrowInvalid(f"column {field.name} is NOT NULL, and has no value")
    missing = missing_part(values, field.type, field.name)
    if missing is not None:
        raise pa.ArrowInvalid(f"{missing} is NOT NULL, and has no value")


def _has_short_time(kind: DataType) -> bool:
    match kind:
        case TimeType(precision):
            return precision < TIME_PRECISION_MAX
        case ArrayType(element):
            return _has_short_time(element)
        case MapType(key=key, value=value):
            return _has_short_time(key) or _has_short_time(value)
        case StructType(fields):
            return any(_has_short_time(field.type) for field in fields)
    return False
