"""Which rows of its file a row group has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that a file stores column by column."""

    first_row: int
    row_count: int
