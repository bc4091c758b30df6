"""Which type changes keep every value, so that old files can be read under the new type.

Source: Delta's protocol, "Type Widening", which Spark's own readers support.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    TimeType,
)

_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "byte": ("short", "integer", "long", "double"),
    "short": ("integer", "long", "double"),
    "integer": ("long", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}

_DIGITS: Final[Mapping[str, int]] = {"byte": 3, "short": 5, "integer": 10, "long": 19}
"""Decimal digits that every value of an integer type fits in."""


def can_widen(old: DataType, new: DataType) -> bool:
    """Return whether `new` can hold every value of `old`; an equal type can."""
    if old == new:
        return True
    match old, new:
        case PrimitiveType(), PrimitiveType():
            return new.name in _WIDER.get(old.name, ())
        case PrimitiveType(), DecimalType():
            digits = _DIGITS.get(old.name)
            return digits is not None and new.precision - new.scale >= digits
        case DecimalType(), DecimalType():
            more_scale = new.scale - old.scale
            return more_scale >= 0 and new.precision - old.precision >= more_scale
        case TimeType(), TimeType():
            return new.precision >= old.precision
        case ArrayType(), ArrayType():
            return can_widen(old.element, new.element) and new.contains_null >= old.contains_null
        case MapType(), MapType():
            return (
                can_widen(old.key, new.key)
                and can_widen(old.value, new.value)
                and new.value_contains_null >= old.value_contains_null
            )
        case StructType(), StructType():
            return len(old.fields) == len(new.fields) and all(
                o.name == n.name and can_widen(o.type, n.type) and n.nullable >= o.nullable
                for o, n in zip(old.fields, new.fields, strict=True)
            )
    return False
