"""Other layouts of Arrow for the same values, as other libraries make them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import pyarrow as pa

Layout = Callable[[pa.Array], pa.Array]


def _padded(values: pa.Array) -> pa.Array:
    """A slice of more values."""
    nulls = pa.nulls(3, values.type)
    return pa.concat_arrays([nulls, values, nulls]).slice(3, len(values))


def _dictionary(values: pa.Array) -> pa.Array:
    is_plain = pa.types.is_primitive(values.type) or _is_bytes(values.type)
    return values.dictionary_encode() if is_plain else values


def _large(values: pa.Array) -> pa.Array:
    if pa.types.is_string(values.type):
        return values.cast(pa.large_binary()).view(pa.large_string())
    if pa.types.is_binary(values.type):
        return values.cast(pa.large_binary())
    if pa.types.is_list(values.type):
        ends = values.offsets.cast(pa.int64())  # a cast of required fields would be refused
        kind = pa.large_list(values.type.value_field)
        return pa.LargeListArray.from_arrays(ends, values.values, kind, mask=values.is_null())
    return values


def _view(values: pa.Array) -> pa.Array:
    if pa.types.is_string(values.type):
        return values.cast(pa.string_view())
    return values.cast(pa.binary_view()) if pa.types.is_binary(values.type) else values


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


_LAYOUTS: Final[tuple[Layout, ...]] = (
    lambda values: values,
    _padded,
    _dictionary,
    _large,
    _view,
)


def laid_out(table: pa.Table, dice: random.Random) -> pa.Table:
    """The same rows: each column in a layout of its own, all of them in several pieces."""
    columns = [dice.choice(_LAYOUTS)(column.combine_chunks()) for column in table.columns]
    fields = [pa.field(n, c.type) for n, c in zip(table.column_names, columns, strict=True)]
    found = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    if found.num_rows > 1 and dice.random() < 0.5:
        cut = dice.randrange(1, found.num_rows)
        found = pa.concat_tables([found.slice(0, cut), found.slice(cut)])
    return found
