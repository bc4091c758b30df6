"""How much one micro-batch may read; pure functions without I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from table_store.storage.options.options import OptionValues
from table_store.storage.options.stream_options import (
    STREAM_MAX_BYTES_PER_TRIGGER,
    STREAM_MAX_FILES_PER_TRIGGER,
    STREAM_MAX_ROWS_PER_TRIGGER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """An amount of data to read."""

    files: int = 0
    rows: int = 0
    size_bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        """Return the sum of both amounts."""
        return Amount(
            files=self.files + other.files,
            rows=self.rows + other.rows,
            size_bytes=self.size_bytes + other.size_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """The limits of one batch; None is no limit."""

    files: int | None = None
    rows: int | None = None
    size_bytes: int | None = None

    @classmethod
    def of(cls, options: OptionValues) -> ReadLimits:
        """Return the limits that the options of a read set."""
        return cls(
            files=options.get(STREAM_MAX_FILES_PER_TRIGGER),
            rows=options.get(STREAM_MAX_ROWS_PER_TRIGGER),
            size_bytes=options.get(STREAM_MAX_BYTES_PER_TRIGGER),
        )

    @property
    def is_none(self) -> bool:
        """Whether there is no limit at all."""
        return self.files is None and self.rows is None and self.size_bytes is None

    def fitting(self, amounts: Iterable[Amount]) -> int:
        """Return how many of the first `amounts` fit into a batch; at least one is taken.

        Iteration stops at the first amount that does not fit.
        """
        taken, total = 0, Amount()
        for amount in amounts:
            total += amount
            if taken and self._are_exceeded_by(total):
                break
            taken += 1
        return taken

    def part_bytes(self, whole: Amount, limit_bytes: int) -> int:
        """Return a part size in bytes such that at least one part of `whole` fits into a batch."""
        found = [limit_bytes]
        if self.size_bytes is not None:
            found.append(self.size_bytes)
        if self.rows is not None and whole.rows:
            found.append(whole.size_bytes * self.rows // whole.rows)
        if self.files is not None and whole.files:
            found.append(whole.size_bytes * self.files // whole.files)
        return max(1, min(found))

    def _are_exceeded_by(self, amount: Amount) -> bool:
        pairs = (
            (amount.files, self.files),
            (amount.rows, self.rows),
            (amount.size_bytes, self.size_bytes),
        )
        return any(limit is not None and value > limit for value, limit in pairs)
