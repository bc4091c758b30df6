"""Counts of what this process has done since it started, for whoever watches it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final


class Counter:
    """A number that only rises, safe for many threads; each name stands for one of them."""

    def __init__(self, name: str) -> None:
        self._value = 0
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        _KNOWN[name] = self

    def add(self, amount: int = 1) -> None:
        """Raise it; costs less than a microsecond."""
        with self._lock:
            self._value += amount
        self._of_thread.value = self.of_thread + amount

    @property
    def value(self) -> int:
        """The sum so far."""
        return self._value

    @property
    def of_thread(self) -> int:
        """What this thread has added to it so far."""
        return getattr(self._of_thread, "value", 0)


_KNOWN: Final[dict[str, Counter]] = {}


def counted() -> Mapping[str, int]:
    """Return the value of every counter of this process, by its name."""
    return {name: counter.value for name, counter in sorted(_KNOWN.items())}
