"""Nested Arrow arrays rebuilt with other children, and casts of them that keep every NULL.

Arrow's own cast refuses a NULL struct that has a required field, because below the NULL the field
has no value. It does so even between equal types, and a NULL VARIANT is such a struct.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Conversion: TypeAlias = Callable[[pa.Array], pa.Array]
Cast: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values.cast(kind)


def recast(values: pa.Array, kind: pa.DataType, cast: Cast = _cast) -> pa.Array:
    """Return `values` as type `kind`; nested ones child by child, their NULLs as they are.

    Fields of structs go by their names; those that `kind` does not have are left out. It does not
    check that required fields have values, and costs nothing where the types are equal. `cast`
    converts what is not nested; Arrow's own refuses most values that it would change.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit.
        pyarrow.ArrowNotImplementedError: there is no such conversion.
    """
    if values.type.equals(kind):
        return values
    if pa.types.is_struct(values.type) and pa.types.is_struct(kind):
        places = [values.type.get_field_index(f.name) for f in kind]
        if places and -1 not in places:
            children = [
                recast(values.field(i), f.type, cast) for i, f in zip(places, kind, strict=True)
            ]
            return struct_of(values, children, kind)
    if pa.types.is_list(values.type) and pa.types.is_list(kind):
        return list_of(values, lambda elements: recast(elements, kind.value_type, cast), kind)
    if pa.types.is_map(values.type) and pa.types.is_map(kind):
        return map_of(
            values,
            lambda keys: recast(keys, kind.key_type, cast),
            lambda items: recast(items, kind.item_type, cast),
            kind,
        )
    return cast(values, kind)


def recast_column(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return `recast` of every chunk."""
    if values.type.equals(kind):
        return values
    return pa.chunked_array([recast(chunk, kind) for chunk in values.chunks], type=kind)


def map_entries(values: pa.MapArray) -> pa.ListArray:
    """Return each map as the list of its entries, structs of key and item."""
    offsets, start, end = _plain_offsets(values.offsets)
    fields = [values.type.key_field, values.type.item_field]
    columns = [values.keys.slice(start, end - start), values.items.slice(start, end - start)]
    entries = pa.StructArray.from_arrays(columns, fields=fields)
    return pa.ListArray.from_arrays(
        offsets, entries, type=pa.list_(entries.type), mask=_mask(values)
    )


def struct_of(
    values: pa.StructArray, children: Sequence[pa.Array], kind: pa.StructType
) -> pa.StructArray:
    """Return a struct array of type `kind` with other children, NULL where `values` is."""
    return pa.StructArray.from_arrays(list(children), fields=list(kind), mask=_mask(values))


def list_of(values: pa.ListArray, convert: Conversion, kind: pa.ListType) -> pa.ListArray:
    """Return a list array of type `kind` with all elements converted."""
    offsets, start, end = _plain_offsets(values.offsets)
    elements = convert(values.values.slice(start, end - start))
    return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=_mask(values))


def map_of(
    values: pa.MapArray, convert_key: Conversion, convert_item: Conversion, kind: pa.MapType
) -> pa.MapArray:
    """Return a map array of type `kind` with all keys and items converted."""
    offsets, start, end = _plain_offsets(values.offsets)
    keys = convert_key(values.keys.slice(start, end - start))
    items = convert_item(values.items.slice(start, end - start))
    return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=_mask(values))


def _mask(values: pa.Array) -> pa.BooleanArray | None:
    return values.is_null() if values.null_count else None


def _plain_offsets(offsets: pa.Int32Array) -> tuple[pa.Int32Array, int, int]:
    """Return offsets that begin with 0, and where they began and ended before.

    They are a new array, because Arrow takes a mask only with offsets that are no slice.
    """
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    return pc.subtract(offsets, start), start, end
