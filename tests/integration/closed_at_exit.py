"""A thing with `close` as the subject of a `with` statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class ClosedAtExit(ABC):
    """Is closed where its `with` block ends."""

    @abstractmethod
    def close(self) -> None:
        """End it, and whatever it started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
