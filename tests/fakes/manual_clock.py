"""A clock that only moves when it is told to, or when somebody sleeps."""

from __future__ import annotations


class ManualClock:
    """Implements `Clock`."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.time_ms += duration_ms
