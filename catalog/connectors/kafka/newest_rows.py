"""The rows that changes of a topic's partition leave: for each key the newest one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.kafka.message_rows import MessageReader
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER
from table_store.storage.kernel.whole_array import whole_array
from table_store.storage.log_store.encoding.json_encoding import json_objects

_HELD_ROWS_MIN: Final = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReader(PartReader):
    """Reads ranges of a topic as the rows that are there at their ends.

    Attributes:
        changes: reads the changes of rows.
        key: the columns by which they find each other; all changes of a key are in one range.
    """

    changes: MessageReader
    key: tuple[str, ...]

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an `OffsetRange`, in no order; they are held until its end.

        Fails as `MessageReader.read`.
        """
        wanted = tuple(dict.fromkeys((*columns, *self.key, CHANGE_ORDER)))
        for batch in newest_rows(self.changes.read(part, wanted), self.key):
            yield batch.select(columns)


def newest_rows(
    changes: Iterable[pa.RecordBatch], key: Sequence[str], held_min: int = _HELD_ROWS_MIN
) -> Iterator[pa.RecordBatch]:
    """Yield for each key the row of its last change by `CHANGE_ORDER`, if that came.

    It holds at most about twice as many changes as there are keys, and `held_min` more.
    """
    held: list[pa.RecordBatch] = []
    rows = keys = 0
    for batch in changes:
        held.append(batch)
        rows += batch.num_rows
        if rows >= 2 * keys + held_min:
            held = _newest(held, key).to_batches()
            rows = keys = sum(batch.num_rows for batch in held)
    if held:
        found = _newest(held, key)
        came = pa.array(_numbers(found[CHANGE_ORDER]) > 0)
        yield from found.filter(came).to_batches()


def _newest(held: Sequence[pa.RecordBatch], key: Sequence[str]) -> pa.Table:
    """Return the last change of each key."""
    table = pa.Table.from_batches(held)
    keys = json_objects([whole_array(table[name]) for name in key], key).dictionary_encode()
    codes = keys.indices.to_numpy()
    in_order = np.argsort(np.abs(_numbers(table[CHANGE_ORDER])), kind="stable")
    last = np.zeros(len(keys.dictionary), np.int64)
    last[codes[in_order]] = in_order  # of several places of one key the last one stays
    return table.take(pa.array(np.sort(last)))


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    found: np.ndarray = column.to_numpy()
    return found
