"""Goal: whoever takes turns takes them one at a time, and none waits for one that has ended."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from tests.fakes import turns as module
from tests.fakes.turns import Turns


class _LateThread(threading.Thread):
    def run(self) -> None:
        time.sleep(0.005)
        super().run()


def test_threads_that_start_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first turn may be that of a thread that does not run yet."""
    monkeypatch.setattr(module, "Thread", _LateThread)
    for seed in range(40):
        turns = Turns(2, random.Random(seed), steps_max=2)
        done: list[int] = []

        def steps(taker: int, turns: Turns = turns, done: list[int] = done) -> None:
            for _ in range(5):
                turns.step(taker)
            done.append(taker)

        turns.run([steps, steps])
        assert sorted(done) == [0, 1]


def test_helpers_that_outlive_their_takers() -> None:
    """A thread that works for a taker may wait for its turn when the taker ends."""
    for seed in range(200):
        turns = Turns(3, random.Random(seed), steps_max=3)
        helpers: list[threading.Thread] = []
        errors: list[BaseException] = []

        def steps(taker: int, turns: Turns = turns, errors: list[BaseException] = errors) -> None:
            try:
                for _ in range(10):
                    turns.step(taker)
            except RuntimeError as error:
                errors.append(error)

        def with_helper(
            taker: int,
            steps: Callable[[int], None] = steps,
            helpers: list[threading.Thread] = helpers,
        ) -> None:
            helper = threading.Thread(target=steps, args=(taker,), daemon=True)
            helpers.append(helper)
            helper.start()

        turns.run([steps, with_helper, steps])
        for helper in helpers:
            helper.join(10)
            assert not helper.is_alive()
        assert not errors
