"""Values inside of arrays, maps and structs that a type demands, and that are NULL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import pyarrow as pa

from table_store.storage.kernel.nested_array import map_entries
from table_store.storage.kernel.types import VARIANT, ArrayType, DataType, MapType, StructType

_Part: TypeAlias = tuple[str, DataType, bool]
"""Name, type, and whether it may be NULL."""


def has_required(kind: DataType) -> bool:
    """Whether a type has parts that may not be NULL, at any depth; keys of maps are not counted.

    Arrow itself makes no map with a NULL as a key.
    """
    return kind == VARIANT or any(
        (not nullable and not (isinstance(kind, MapType) and name == "key")) or has_required(inner)
        for name, inner, nullable in _parts(kind)
    )


def missing_part(values: pa.Array, kind: DataType, path: str) -> str | None:
    """Return where a required part of a value is NULL, such as `column.element`; None if nowhere.

    A part of a value that is NULL itself is not missing.

    Args:
        values: in the type's Arrow form; fields may be declared as nullable.
        kind: of the values.
        path: of the values.
    """
    if not has_required(kind):
        return None
    if kind == VARIANT:
        is_whole = all(child.null_count == values.null_count for child in values.flatten())
        return None if is_whole else path
    # A child is NULL where its struct is; elements and entries of what is NULL are left out.
    above = values.null_count if isinstance(kind, StructType) else 0
    for (name, inner, nullable), child in zip(_parts(kind), _children(values, kind), strict=True):
        place = f"{path}.{name}"
        if not nullable and child.null_count != above:
            return place
        found = missing_part(child, inner, place)
        if found is not None:
            return found
    return None


def _parts(kind: DataType) -> Iterator[_Part]:
    match kind:
        case StructType(fields):
            yield from ((field.name, field.type, field.nullable) for field in fields)
        case ArrayType(element, contains_null):
            yield "element", element, contains_null
        case MapType(key=key, value=value, value_contains_null=nullable):
            yield from (("key", key, False), ("value", value, nullable))


def _children(values: pa.Array, kind: DataType) -> list[pa.Array]:
    match kind:
        case ArrayType():
            return [values.flatten()]
        case MapType():
            return map_entries(values).flatten().flatten()  # type: ignore[no-any-return]
    return values.flatten()  # type: ignore[no-any-return]
