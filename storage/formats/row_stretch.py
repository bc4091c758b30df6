"""Rows of a row group that follow each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowStretch:
    """`row_count` rows of the row group at position `row_group`, from its row `first_row` on."""

    row_group: int
    first_row: int
    row_count: int

    @property
    def end(self) -> int:
        """Place in the row group behind the last row."""
        return self.first_row + self.row_count
