"""Which rows of its file a row group has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one file that follow each other and are stored column by column."""

    first_row: int
    row_count: int
