"""Turns columns as they were written into columns of another schema of the same table."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.nested_array import list_of, map_of, recast, struct_of
from table_store.storage.kernel.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    to_arrow,
)
from table_store.storage.kernel.values import value_from_json


def converted(values: pa.Array, written: DataType, wanted: DataType) -> pa.Array:
    """Return `values`, stored as type `written`, as type `wanted`.

    Fields of structs, at any depth, are matched by id: renamed and moved fields are found, new
    ones are NULL, dropped ones are left out. All other differences are cast without loss.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit into the wanted type.
    """
    if values.type.equals(to_arrow(wanted)) and written == wanted:
        return values
    match written, wanted:
        case StructType(), StructType():
            return _converted_struct(values, written.fields, wanted.fields)
        case ArrayType(), ArrayType():
            old, new = written.element, wanted.element
            return list_of(values, lambda v: converted(v, old, new), to_arrow(wanted))
        case MapType(), MapType():
            return map_of(
                values,
                lambda keys: converted(keys, written.key, wanted.key),
                lambda items: converted(items, written.value, wanted.value),
                to_arrow(wanted),
            )
    return recast(values, to_arrow(wanted))


def absent_column(wanted: Field, length: int) -> pa.Array:
    """Return a column for rows that are older than it: its initial default, or NULL."""
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
            # `field` respects the slice of the struct but ignores the struct's own NULLs: these
            # come back with the mask.
            children.append(converted(values.field(at), written[at].type, f.type))
    return struct_of(values, children, to_arrow(StructType(tuple(wanted))))
