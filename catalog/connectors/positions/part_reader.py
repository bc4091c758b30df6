"""Reads the parts of a source in workers, which import nothing else of the connectors for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class PartReader(ABC):
    """Reads parts of a source; it is sent to workers."""

    @abstractmethod
    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part, the same each time."""

    def read_here(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the same in the process that has planned the read, which others may share."""
        return self.read(part, columns)


def batch_of(columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
    """Return so many rows, which may have no columns: a struct without fields has a length."""
    if columns:
        return pa.RecordBatch.from_pydict(dict(columns))
    empty = pa.StructArray.from_buffers(pa.struct([]), count, [None])
    return pa.RecordBatch.from_struct_array(empty)
