"""What counters and stopwatches add up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from table_store.storage.kernel.counter import Counter, counted
from table_store.storage.kernel.stopwatch import Stopwatch


def test_threads_do_not_lose_counts() -> None:
    counter = Counter("test_threads")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(counter.add, [3] * 4000))
    assert counter.value == counted()["test_threads"] == 12_000


def test_a_block_within_a_block_counts_once() -> None:
    inner, outer = Stopwatch(), Stopwatch()
    with outer:
        for _ in range(1000):
            with outer, inner:
                pass
    assert outer.elapsed_ns >= inner.elapsed_ns > 0
    with outer:
        before = outer.elapsed_ns
        with outer:
            pass
        assert outer.elapsed_ns == before, "only the outermost block ends the measurement"


def test_a_thread_knows_what_it_has_added() -> None:
    counter = Counter("test_of_thread")
    counter.add(2)
    found: list[int] = []

    def other() -> None:
        counter.add(3)
        found.append(counter.of_thread)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (found, counter.of_thread, counter.value) == ([3], 2, 5)
