"""Reads the parts of a source in workers, which import nothing else of the connectors for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
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
