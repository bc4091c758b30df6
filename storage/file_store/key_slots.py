"""The newest row of every key of a split, where keys are whole numbers that lie close together.

A slot for each number there may be: runs are written into them one after the other, oldest first,
and what is there in the end is the newest. Nothing is sorted, compared or held beside the slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.file_store.key_order import IntArray, MaskArray
from table_store.storage.file_store.key_range import range_columns
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.split import Split
from table_store.storage.kernel.types import BYTE, INTEGER, LONG, SHORT

_SLOTS_MAX: Final = 1 << 25
"""128 MiB."""

_SLOTS_PER_ROW_MAX: Final = 16
"""With more, going over the slots takes as long as sorting the rows."""

_BLOCK_SLOTS: Final = 1 << 16

_WHOLE_NUMBERS: Final = (BYTE, SHORT, INTEGER, LONG)


@dataclass(frozen=True, slots=True)
class KeySlots:
    """For each key from `low` on the number of its newest row, and -1 where there is none."""

    low: int
    rows: npt.NDArray[np.int32]

    @staticmethod
    def of(split: Split, schema: TableSchema) -> KeySlots | None:
        """Return empty slots for the keys of a split; None where its keys suit none."""
        columns = range_columns(schema)
        if len(columns) != 1 or schema.field_named(columns[0]).type not in _WHOLE_NUMBERS:
            return None
        place = schema.primary_key.index(columns[0])
        keys = [key[place] for f in split.files for key in (f.key_min, f.key_max) if key]
        numbers = [key for key in keys if isinstance(key, int)]
        if len(numbers) < 2 * len(split.files):
            return None
        low, high = min(numbers), max(numbers)
        start, end = split.keys.start, split.keys.end
        if start is not None and isinstance(start[0], int):
            low = max(low, start[0])
        if end is not None and isinstance(end[0], int):
            high = min(high, end[0] - 1)
        if high - low >= min(_SLOTS_MAX, _SLOTS_PER_ROW_MAX * split.row_count):
            return None
        return KeySlots(low, np.full(max(0, high - low + 1), -1, np.int32))

    def put(self, keys: pa.Array, rows: IntArray, is_deleted: MaskArray) -> None:
        """Put rows of one run, newer than all of older runs; of a deleted key none stays.

        Raises:
            ValueError: a key is none of the split's.
        """
        slots = np.subtract(keys.to_numpy(), self.low, dtype=np.int64)
        if len(slots) and (slots.min() < 0 or slots.max() >= len(self.rows)):
            raise ValueError("it has keys outside of the bounds that are known of it")
        self.rows[slots] = np.where(is_deleted, -1, rows) if is_deleted.any() else rows

    def is_newest(self, row_count: int) -> MaskArray:
        """Return of each row, by its number, whether it stayed."""
        mask = np.zeros(row_count + 1, np.bool_)
        for begin in range(0, len(self.rows), _BLOCK_SLOTS):
            # That of empty slots, -1, is the place after all rows.
            mask[self.rows[begin : begin + _BLOCK_SLOTS]] = True
        return mask[:-1]
