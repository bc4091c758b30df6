"""Rows from one number to another one, for tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

_SPLIT_ROWS_MIN: Final = 50_000


@dataclass(frozen=True, slots=True)
class RowRange:
    """The rows from number `first` up to `last`, without it."""

    first: int
    last: int

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        return json.dumps([self.first, self.last]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> RowRange:
        """Return the range that `to_bytes` has written."""
        first, last = json.loads(data)
        return cls(first, last)

    def split(self, parallelism: int) -> tuple[RowRange, ...]:
        """Return parts of it for so many tasks, or fewer where they would be small."""
        step = max(_SPLIT_ROWS_MIN, -(-(self.last - self.first) // max(1, parallelism)))
        return tuple(
            RowRange(at, min(at + step, self.last)) for at in range(self.first, self.last, step)
        )
