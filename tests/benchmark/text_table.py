"""A table of text: as columns on a screen, or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

NOTHING = "–"


@dataclass(slots=True)
class TextTable:
    """A header and rows of as many cells; the first `words` columns are text, others numbers."""

    header: Sequence[str]
    words: int = 1
    rows: list[Sequence[str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return aligned lines, with a rule below the header."""
        table = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i < self.words else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        lines.insert(1, "-" * len(lines[0]))
        return lines

    def markdown(self) -> list[str]:
        """Return the lines of a Markdown table."""
        rule = ["---" if i < self.words else "---:" for i in range(len(self.header))]
        return ["| " + " | ".join(row) + " |" for row in (self.header, rule, *self.rows)]


def number(value: float | None, digits: int) -> str:
    """Return a number with as many digits after the point, a dash for none."""
    return NOTHING if value is None else f"{value:,.{digits}f}"
