"""Time as a parameter, so that tests choose it."""

from __future__ import annotations

import datetime as dt
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the wall time and waits."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01 UTC; may step backwards."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Return after about `duration_ms` milliseconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Return after about `duration_ms` milliseconds."""
        time.sleep(duration_ms / 1000)


def time_text(time_us: int) -> str:
    """Return microseconds since 1970-01-01 UTC as the text of a UTC time, for messages."""
    try:
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=time_us)
    except OverflowError:
        return f"{time_us} µs"
    return moment.isoformat(sep=" ", timespec="milliseconds")
