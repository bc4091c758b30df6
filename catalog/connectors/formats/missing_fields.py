"""Fields that JSON objects do not have.

Arrow's parser makes the same NULL of a missing field and of `null`. So the objects that have a NULL
somewhere are looked at once more, one by one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import ArrayType, DataType, StructType


def check_fields(text: pa.LargeStringArray, rows: pa.Table, columns: Sequence[Field]) -> None:
    """Check that objects have a field for each column, also inside of its values.

    Args:
        text: the objects.
        rows: what they were parsed to.
        columns: those of the rows.

    Raises:
        pyarrow.ArrowInvalid: one has not; it is named.
    """
    may_miss = np.zeros(len(text), np.bool_)
    for column in rows.combine_chunks().itercolumns():
        for chunk in column.chunks:
            is_null = pc.is_null(chunk).to_numpy(zero_copy_only=False)
            may_miss |= is_null | (pa.types.is_nested(chunk.type) and _has_null(chunk))
    for place in np.flatnonzero(may_miss).tolist():
        found = json.loads(text[place].as_py())
        for column in columns:
            missing = _missing(found, column.name, column.type)
            if missing is not None:
                raise pa.ArrowInvalid(f"field {missing} is missing")


def _has_null(values: pa.Array) -> bool:
    """Return whether there is a NULL anywhere inside of nested values."""
    if values.null_count:
        return True
    if pa.types.is_struct(values.type):
        return any(map(_has_null, values.flatten()))
    return pa.types.is_list(values.type) and _has_null(values.flatten())


def _missing(row: dict[str, Any], name: str, kind: DataType) -> str | None:
    """Return the path to a field that an object does not have; None if it has all."""
    if name not in row:
        return name
    below = _missing_below(row[name], kind)
    return None if below is None else f"{name}.{below}"


def _missing_below(value: Any, kind: DataType) -> str | None:
    match kind:
        case StructType(fields) if value is not None:
            found = (_missing(value, field.name, field.type) for field in fields)
        case ArrayType(element) if value is not None:
            found = (_missing_below(item, element) for item in value)
        case _:
            return None
    return next((path for path in found if path is not None), None)
