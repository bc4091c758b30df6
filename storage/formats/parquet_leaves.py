"""Which columns of a Parquet file make up each column of its Arrow schema.

Source: apache/parquet-format, LogicalTypes.md, "Nested Types".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Final

import pyarrow as pa

_LISTS: Final = (
    *(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list),
    *(pa.types.is_list_view, pa.types.is_large_list_view),
)


def leaves_of(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield path and type of the Parquet columns that a field is made of, in the file's order."""
    if isinstance(kind, pa.BaseExtensionType):
        yield from leaves_of(path, kind.storage_type)
    elif pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            child = kind.field(i)
            yield from leaves_of(f"{path}.{child.name}", child.type)
    elif pa.types.is_map(kind):
        yield from leaves_of(f"{path}.key_value.key", kind.key_type)
        yield from leaves_of(f"{path}.key_value.value", kind.item_type)
    elif any(is_list(kind) for is_list in _LISTS):
        yield from leaves_of(f"{path}.list.element", kind.value_type)
    elif pa.types.is_run_end_encoded(kind):
        yield from leaves_of(path, kind.value_type)
    else:
        yield path, kind


def leaf_ranges(schema: pa.Schema) -> tuple[range, ...]:
    """Return for each field of a file's schema the numbers of its Parquet columns."""
    counts = [sum(1 for _ in leaves_of(field.name, field.type)) for field in schema]
    return tuple(range(*pair) for pair in pairwise(accumulate(counts, initial=0)))
