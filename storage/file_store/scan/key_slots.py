"""Finds the newest row of each key, where keys are whole numbers that lie close together.

There is a slot for each possible number. Rows come newest run first, so a row that finds the slot
of its key empty is the newest. Nothing is sorted or compared, and only the slots are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_store.storage.file_store.model.key_range import range_columns
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.scan.split import Split
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.types import BYTE, INTEGER, LONG, SHORT

_SLOTS_MAX: Final = 1 << 27
"""Most slots of a split: 128 MiB."""

_SLOTS_PER_ROW_MAX: Final = 16
"""Most slots for each row. With more, a row's slot is hardly ever in the processor's cache."""

_WHOLE_NUMBERS: Final = (BYTE, SHORT, INTEGER, LONG)


@dataclass(frozen=True, slots=True)
class KeySlots:
    """Says for each key from `low` on whether a row of it has come."""

    low: int
    is_taken: npt.NDArray[np.bool_]

    @staticmethod
    def of(split: Split, schema: TableSchema) -> KeySlots | None:
        """Return empty slots for the keys of a split; None if its keys are not fit for slots."""
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
        return KeySlots(low, np.zeros(max(0, high - low + 1), np.bool_))

    def take(self, keys: pa.Array) -> Mask:
        """Return which rows of a run, older than those before it, are the newest of their keys.

        Raises:
            ValueError: a key lies outside of the split's range.
        """
        slots = np.subtract(keys.to_numpy(), self.low, dtype=np.int64)
        if len(slots) and (slots.min() < 0 or slots.max() >= len(self.is_taken)):
            raise ValueError("it has keys outside of the bounds that are known of it")
        is_newest: Mask = ~self.is_taken[slots]
        self.is_taken[slots] = True
        return is_newest
