"""Decodes Avro's binary encoding into Arrow columns, vectorised over blocks.

Nobody knows where a record begins before the previous one was read, so a single block can be
decoded only record by record. But blocks are independent: the first records of all blocks are
decoded at once, then all second records, and so on. With blocks of a few hundred records each
step handles thousands of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.formats.avro_columns import AvroColumn, FixedWidth, Integers, Text
from table_store.storage.formats.avro_encoding import (
    DECIMAL_BYTES,
    element_field,
    is_repeated,
)
from table_store.storage.formats.avro_nested import (
    EMPTY_ITEMS_MAX,
    Optional,
    Record,
    Repeated,
)
from table_store.storage.kernel.arrays import IntArray

PADDING_BYTES: Final = 16
"""Number of zeros behind the data, so that a read near its end stays inside the buffer."""


def decode_blocks(
    data: npt.NDArray[np.uint8], starts: IntArray, counts: IntArray, fields: Sequence[pa.Field]
) -> list[pa.Array]:
    """Return the columns of all blocks, in the order of the blocks and their records.

    Args:
        data: the blocks' decompressed content one after the other, and `PADDING_BYTES`.
        starts: where each block begins in `data`.
        counts: records of each block.
        fields: all columns, in the records' order.

    Raises:
        ValueError: the content ends within a record, or not with the last one.
    """
    columns = [_column(f) for f in fields]
    ends = np.append(starts[1:], len(data) - PADDING_BYTES)
    return decode_columns(data, starts, ends, counts, columns, columns)


def decode_columns(
    data: npt.NDArray[np.uint8],
    starts: IntArray,
    ends: IntArray,
    counts: IntArray,
    columns: Sequence[AvroColumn],
    wanted: Sequence[AvroColumn],
) -> list[pa.Array]:
    """Return those columns of all blocks that are wanted; see `decode_blocks`.

    Between the end of one block and the start of the next one there may be something else.

    Raises:
        ValueError: the content is not that of such columns.
        pyarrow.ArrowInvalid: a value is none of its array's type.
    """
    if (counts > ends - starts + EMPTY_ITEMS_MAX).any():
        raise ValueError("a block has more records than there can be")
    # The longest blocks come first, so that those with records left are always the first ones.
    by_count = np.argsort(-counts, kind="stable")
    positions, left = starts[by_count].astype(np.int64), counts[by_count]
    block_ends = ends[by_count].astype(np.int64)
    rows: list[IntArray] = []
    first_rows = (np.cumsum(counts) - counts)[by_count]
    for step in range(int(counts.max(initial=0))):
        active = int(np.searchsorted(-left, -step))
        at = positions[:active]
        for column in columns:
            at = column.read(data, at, block_ends[:active])
        positions[:active] = at
        rows.append(first_rows[:active] + step)
    if (positions != block_ends).any():
        raise ValueError("a block holds more than its records")
    found = [column.finish(data) for column in wanted]
    if len(rows) == 1 and active == len(starts):
        return found  # each block has one record
    order = np.argsort(np.concatenate(rows), kind="stable") if rows else np.zeros(0, np.int64)
    in_order = pa.array(order)
    return [array.take(in_order) for array in found]


def _column(of: pa.Field) -> AvroColumn:
    return Optional(_valid_column(of.type)) if of.nullable else _valid_column(of.type)


def _valid_column(kind: pa.DataType) -> AvroColumn:
    if pa.types.is_struct(kind):
        children = [_column(child) for child in kind]
        return Record(kind, children, children)
    if is_repeated(kind):
        return Repeated(kind=kind, element=_column(element_field(kind)))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return Text(kind)
    if pa.types.is_decimal(kind) and kind.bit_width != DECIMAL_BYTES * 8:
        raise ValueError(f"{kind} is not stored in Avro")
    if pa.types.is_boolean(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return FixedWidth(kind)
    return Integers(kind)
