"""Turns columns as they were written into columns of another schema of the same table."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.schema import Field
from table_store.storage.kernel.types import (
    BINARY,
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    to_arrow,
)
from table_store.storage.kernel.values import value_from_json

_VARIANT_PARTS = (
    StructField(name="value", type=BINARY, nullable=False),
    StructField(name="metadata", type=BINARY, nullable=False),
)


def converted(values: pa.Array, written: DataType, wanted: DataType) -> pa.Array:
    """Return `values`, stored as type `written`, as type `wanted`.

    Fields of structs, at any depth, are matched by id: renamed and reordered ones are found, new
    ones are NULL, dropped ones go. Everything else that differs is cast without loss.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit into the wanted type.
    """
    if values.type.equals(to_arrow(wanted)) and written == wanted:
        return values
    match written, wanted:
        case StructType(), StructType():
            return _converted_struct(values, written.fields, wanted.fields)
        case ArrayType(), ArrayType():
            return _converted_list(values, written, wanted)
        case MapType(), MapType():
            return _converted_map(values, written, wanted)
    if wanted == VARIANT:
        # A plain cast refuses the NULL parts of a variant that is NULL itself.
        return _converted_struct(values, _VARIANT_PARTS, _VARIANT_PARTS)
    return values.cast(to_arrow(wanted))


def absent_column(wanted: Field, length: int) -> pa.Array:
    """Return what rows written before the column existed hold: its initial default, or NULL."""
    kind = to_arrow(wanted.type)
    if wanted.initial_default is None:
        return pa.nulls(length, kind)
    value = value_from_json(json.loads(wanted.initial_default))
    return pa.repeat(pa.scalar(value, kind), length)


def _converted_struct(
    values: pa.StructArray, written: Sequence[StructField], wanted: Sequence[StructField]
) -> pa.Array:
    place = {f.id: i for i, f in enumerate(written) if f.id is not None}
    by_name = {f.name: i for i, f in enumerate(written) if f.id is None}
    children = []
    for f in wanted:
        at = place.get(f.id) if f.id is not None else by_name.get(f.name)
        if at is None:
            children.append(pa.nulls(len(values), to_arrow(f.type)))
        else:
            children.append(converted(_child(values, at), written[at].type, f.type))
    mask = values.is_null() if values.null_count else None
    fields = list(to_arrow(StructType(tuple(wanted))))
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _child(values: pa.StructArray, at: int) -> pa.Array:
    # `field` looks at the slice of the struct, but not at the struct's own NULLs: these come
    # back with the mask.
    return values.field(at)


def _converted_list(values: pa.ListArray, written: ArrayType, wanted: ArrayType) -> pa.Array:
    offsets, start, end = _plain_offsets(values.offsets)
    elements = converted(values.values.slice(start, end - start), written.element, wanted.element)
    mask = values.is_null() if values.null_count else None
    return pa.ListArray.from_arrays(offsets, elements, type=to_arrow(wanted), mask=mask)


def _converted_map(values: pa.MapArray, written: MapType, wanted: MapType) -> pa.Array:
    offsets, start, end = _plain_offsets(values.offsets)
    keys = converted(values.keys.slice(start, end - start), written.key, wanted.key)
    items = converted(values.items.slice(start, end - start), written.value, wanted.value)
    mask = values.is_null() if values.null_count else None
    return pa.MapArray.from_arrays(offsets, keys, items, type=to_arrow(wanted), mask=mask)


def _plain_offsets(offsets: pa.Int32Array) -> tuple[pa.Int32Array, int, int]:
    """Return offsets from 0 on (a mask needs an array of its own), and where they start and end."""
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    return pc.subtract(offsets, start), start, end
