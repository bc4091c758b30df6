"""Adds up how long the parts of a work take."""

from __future__ import annotations

import time


class Stopwatch:
    """Measures the time within its `with` blocks, for people: nothing is decided by it.

    One thread uses it; a block within a block of the same watch is not counted twice.
    """

    def __init__(self) -> None:
        self.elapsed_ns = 0
        self._depth = 0
        self._since_ns = 0

    def __enter__(self) -> Stopwatch:
        if not self._depth:
            self._since_ns = time.perf_counter_ns()
        self._depth += 1
        return self

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.elapsed_ns += time.perf_counter_ns() - self._since_ns
