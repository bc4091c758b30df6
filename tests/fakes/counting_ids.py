"""Ids 0, 1, 2, … behind a prefix: unique within one test, and the same in every run."""

from __future__ import annotations


class CountingIds:
    """Implements `IdSource`."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._next = 0

    def unique(self) -> str:
        self._next += 1
        return f"{self._prefix}-{self._next:06d}"
