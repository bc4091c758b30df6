"""What writing rows has cost, for people who watch a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCost:
    """Time of one writer, or the sum over several that ran side by side.

    Attributes:
        sort_ns: nanoseconds in which rows were sorted by key and merged.
        encode_ns: nanoseconds in which files were encoded, written and made durable.
        spilled_bytes: size of the rows that were moved to temporary files, in Arrow's memory.
    """

    sort_ns: int = 0
    encode_ns: int = 0
    spilled_bytes: int = 0

    def __add__(self, other: WriteCost) -> WriteCost:
        return WriteCost(
            sort_ns=self.sort_ns + other.sort_ns,
            encode_ns=self.encode_ns + other.encode_ns,
            spilled_bytes=self.spilled_bytes + other.spilled_bytes,
        )


NO_COST: Final = WriteCost()
"""Of nothing, or of what nobody has measured."""
