"""Bounds and partitions of files as text for people, a whole column at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

NULL_TEXT = "null"


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as text; NULL stays NULL, binary values become hexadecimal."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        hexadecimal = [None if value is None else value.hex() for value in column.to_pylist()]
        return pa.chunked_array([pa.array(hexadecimal, pa.string())])
    return pc.cast(column, pa.string())


def braced(columns: Sequence[pa.ChunkedArray], row_count: int) -> pa.ChunkedArray:
    """Return `{a, b}` for every row, as Paimon writes partitions; `{}` if there is no column."""
    return _joined([as_text(column) for column in columns], row_count)


def braced_pairs(columns: Mapping[str, pa.ChunkedArray], row_count: int) -> pa.ChunkedArray:
    """Return `{name=a, other=b}` for every row."""
    pairs = [
        pc.binary_join_element_wise(
            name, as_text(column), "=", null_handling="replace", null_replacement=NULL_TEXT
        )
        for name, column in columns.items()
    ]
    return _joined(pairs, row_count)


def bracketed_or_null(columns: Sequence[pa.ChunkedArray], row_count: int) -> pa.ChunkedArray:
    """Return `[a, b]` for every row; NULL if all values are NULL or there is no column."""
    if not columns:
        return pa.chunked_array([pa.nulls(row_count, pa.string())])
    texts = [as_text(column) for column in columns]
    joined = _joined(texts, row_count, "[", "]")
    absent = pc.is_null(texts[0])
    for text in texts[1:]:
        absent = pc.and_(absent, pc.is_null(text))
    return pc.if_else(absent, pa.scalar(None, pa.string()), joined)


def _joined(
    texts: Sequence[pa.ChunkedArray], row_count: int, opening: str = "{", closing: str = "}"
) -> pa.ChunkedArray:
    if not texts:
        return pa.chunked_array([pa.array([opening + closing] * row_count, pa.string())])
    inner = pc.binary_join_element_wise(
        *texts, ", ", null_handling="replace", null_replacement=NULL_TEXT
    )
    return pc.binary_join_element_wise(opening, inner, closing, "")
