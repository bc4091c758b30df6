"""Where keys lie in a table that is sorted by them: ranges of their first column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.kernel.values import Value, order_key

LEAST_ROWS: Final = 1 << 14
"""About so many rows of a file are read wherever one is looked up: a page of each column."""

_SPANS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class KeySpans:
    """Ranges of a column that leads a key; both ends are in them, and some may overlap."""

    spans: tuple[tuple[Value, Value], ...]

    @classmethod
    def of(cls, files: Iterable[DataFile], place: int) -> KeySpans:
        """Return the ranges of the column at a place of the key in files of a table with a key.

        Very many of them become one.
        """
        ends = [
            (file.key_min[place], file.key_max[place])
            for file in files
            if file.key_min is not None and file.key_max is not None
        ]
        spans: list[tuple[Value, Value]] = []
        for low, high in sorted(ends, key=lambda span: order_key((span[0],))):
            if spans and order_key((low,)) <= order_key((spans[-1][1],)):
                low, high = spans[-1][0], max(spans.pop()[1], high, key=lambda v: order_key((v,)))
            spans.append((low, high))
        if len(spans) > _SPANS_MAX:
            spans = [(spans[0][0], spans[-1][1])]
        return cls(tuple(spans))

    def __or__(self, other: KeySpans) -> KeySpans:
        """Return the ranges of both, whose columns have the same type."""
        return KeySpans(tuple(dict.fromkeys((*self.spans, *other.spans))))

    @property
    def value_count(self) -> float:
        """How many values may lie in the ranges; infinite where values are no whole numbers."""
        count = 0
        for low, high in self.spans:
            if not (isinstance(low, int) and isinstance(high, int)):
                return math.inf
            count += high - low + 1
        return count

    def row_count(self, entries: pa.Table, place: int) -> float:
        """Return about how many rows of a table lie in the ranges.

        Args:
            entries: its files, see `manifest_entry`; keys have the type of these ranges.
            place: of the column in its key.
        """
        if not entries.num_rows or f"key_min_{place}" not in entries.column_names:
            return float(pc.sum(entries["row_count"]).as_py() or 0)
        rows = entries["row_count"].to_numpy().astype(np.float64)
        lows, highs = entries[f"key_min_{place}"], entries[f"key_max_{place}"]
        wanted = np.zeros(len(rows), np.float64)
        for low, high in self.spans:
            first, last = pa.scalar(low, lows.type), pa.scalar(high, lows.type)
            meets = pc.and_(pc.less_equal(lows, last), pc.greater_equal(highs, first))
            share = _share(_numbers(lows), _numbers(highs), _number(first), _number(last))
            met = np.minimum(rows, share * rows + LEAST_ROWS)
            wanted += np.where(pc.fill_null(meets, True).to_numpy(), met, 0)
        return float(np.minimum(wanted, rows).sum())


def _share(
    lows: npt.NDArray[np.float64], highs: npt.NDArray[np.float64], first: float, last: float
) -> npt.NDArray[np.float64]:
    """Return how much of each range the range from `first` to `last` covers."""
    width = np.maximum(highs - lows, np.finfo(np.float64).tiny)
    covered = np.minimum(highs, last) - np.maximum(lows, first)
    return np.clip(np.nan_to_num(covered / width, nan=1.0, posinf=1.0), 0, 1)


def _numbers(values: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return values as numbers in their order; NaN where they are none."""
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        values = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return np.full(len(values), np.nan)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _number(value: pa.Scalar) -> float:
    return float(_numbers(pa.chunked_array([pa.array([value.as_py()], value.type)]))[0])
