"""Which row groups of a file can hold rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupBounds:
    """Bounds of one column in one row group; they are NULL if it holds only NULLs."""

    low: pa.Scalar
    high: pa.Scalar
    has_nulls: bool


def possible_row_groups(
    where: pc.Expression, schema: pa.Schema, bounds: Sequence[Mapping[str, RowGroupBounds]]
) -> tuple[int, ...]:
    """Return positions in `bounds` (one mapping per row group) where `where` may be true.

    Arrow simplifies `where` with what is known of a row group, as it does for partitions of a
    dataset; a row group stays unless the result is false. The mappings need not name all columns
    of `schema`.
    """
    return tuple(
        i for i, known in enumerate(bounds) if not known or _is_possible(where, schema, known)
    )


def _is_possible(
    where: pc.Expression, schema: pa.Schema, known: Mapping[str, RowGroupBounds]
) -> bool:
    guarantee: pc.Expression | None = None
    for name, column in known.items():
        term = _guarantee(pc.field(name), column)
        guarantee = term if guarantee is None else guarantee & term
    form = ds.ParquetFileFormat()
    # The fragment stands for the row group; nobody ever reads it.
    fragment = form.make_fragment(pa.py_buffer(b""), partition_expression=guarantee)
    dataset = ds.FileSystemDataset([fragment], schema, form)
    return any(True for _ in dataset.get_fragments(filter=where))


def _guarantee(column: pc.Expression, known: RowGroupBounds) -> pc.Expression:
    if not known.low.is_valid:
        return column.is_null()
    at_least, at_most = column >= known.low, column <= known.high
    if known.has_nulls:
        # One `or` for each: Arrow does not see through `(low and high) or null`.
        at_least, at_most = at_least | column.is_null(), at_most | column.is_null()
    return at_least & at_most
