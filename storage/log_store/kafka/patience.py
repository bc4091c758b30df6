"""Repeats what failed because a connection was cut or another process wrote at the same time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from table_store.storage.log_store.log_errors import LogFencedError, LogUnavailableError

T = TypeVar("T")

_PAUSE_MIN_S: Final = 0.1
_PAUSE_MAX_S: Final = 3.2


def patiently(timeout_ms: int, call: Callable[[], T]) -> T:
    """Return what `call` returns; repeat it after a cut connection or a conflict of writers."""
    stop = time.monotonic() + timeout_ms / 1000
    # A call that fails at once may have met a cut connection; one that took long has waited.
    last_retry = time.monotonic() + timeout_ms / 4000
    pause_s = _PAUSE_MIN_S
    while True:
        try:
            return call()
        except LogFencedError:
            if time.monotonic() > stop:
                raise
            # Without longer pauses two slow processes could fence each other again and again.
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)
        except LogUnavailableError:
            if time.monotonic() > last_retry:
                raise
        # Another process writes at present; soon it will be done, or it is dead.
        time.sleep(random.uniform(0.1, 1) * pause_s)
