"""Goal: whoever takes turns takes them one at a time, and none waits for one that has ended."""

from __future__ import annotations

import random
import threading
import time

import pytest

from tests.fakes import turns as module
from tests.fakes.turns import Turns


class _LateThread(threading.Thread):
    def run(self) -> None:
        time.sleep(0.005)
        super().run()


class _Trial:
    """Takers that take steps; what goes wrong in a thread is kept."""

    def __init__(self, takers: int, seed: int, *, steps: int, steps_max: int) -> None:
        self.turns = Turns(takers, random.Random(seed), steps_max=steps_max)
        self.ended: list[int] = []
        self.errors: list[BaseException] = []
        self.helpers: list[threading.Thread] = []
        self._steps = steps

    def take(self, taker: int) -> None:
        """Take all steps."""
        try:
            for _ in range(self._steps):
                self.turns.step(taker)
        except RuntimeError as error:
            self.errors.append(error)
        self.ended.append(taker)

    def let_take(self, taker: int) -> None:
        """End at once, and let a thread take the steps."""
        helper = threading.Thread(target=self.take, args=(taker,), daemon=True)
        self.helpers.append(helper)
        helper.start()


def test_threads_that_start_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first turn may be that of a thread that does not run yet."""
    monkeypatch.setattr(module, "Thread", _LateThread)
    for seed in range(40):
        trial = _Trial(2, seed, steps=5, steps_max=2)
        trial.turns.run([trial.take, trial.take])
        assert not trial.errors
        assert sorted(trial.ended) == [0, 1]


def test_helpers_that_outlive_their_takers() -> None:
    """A thread that works for a taker may wait for its turn when the taker ends."""
    for seed in range(200):
        trial = _Trial(3, seed, steps=10, steps_max=3)
        trial.turns.run([trial.take, trial.let_take, trial.take])
        for helper in trial.helpers:
            helper.join(10)
            assert not helper.is_alive()
        assert not trial.errors
