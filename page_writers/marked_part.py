"""The part of a page that is written by a program, between two lines that say so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """What stands between the line that begins with `<!-- name:` and `<!-- end of name -->`."""

    name: str

    def of(self, page: str) -> str:
        """Return the part, without the two lines.

        Raises:
            ValueError: the page has no such part.
        """
        return self._split(page)[1]

    def replaced(self, page: str, part: str) -> str:
        """Return the page with another part.

        Raises:
            ValueError: the page has no such part.
        """
        before, _, after = self._split(page)
        return f"{before}{part.strip()}\n{after}"

    def _split(self, page: str) -> tuple[str, str, str]:
        begin = page.index("\n", page.index(f"<!-- {self.name}:")) + 1
        end = page.index(f"<!-- end of {self.name} -->")
        return page[:begin], page[begin:end], page[end:]
