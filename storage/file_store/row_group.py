"""Where a row group is in its file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that a file stores column by column: `length` bytes from `start` on."""

    first_row: int
    row_count: int
    start: int
    length: int
