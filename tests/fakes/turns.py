"""Threads of which one goes on at a time, for as many steps as chance gives it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from threading import Lock, Thread


class Turns:
    """Decides who takes the next steps; a turn that goes on costs no change of threads."""

    def __init__(self, takers: int, dice: random.Random, *, steps_max: int) -> None:
        self._dice = dice
        self._steps_max = steps_max
        self._taking = -1
        self._left = 0
        self._gates = [Lock() for _ in range(takers)]
        for gate in self._gates:
            gate.acquire()
        self._running = list(range(takers))
        self._state = Lock()

    def step(self, taker: int) -> None:
        """Wait until the taker may take its next step.

        It may be a thread that works for the taker; if that has ended, it waits no more.
        """
        with self._state:
            if taker not in self._running:
                return
            if taker == self._taking:
                if self._left:
                    self._left -= 1
                    return
                self._pass_on()
        self._gates[taker].acquire()

    def run(self, actions: Sequence[Callable[[int], object]]) -> None:
        """Run an action for each taker until all have ended."""

        def run_one(taker: int) -> None:
            self._gates[taker].acquire()
            try:
                actions[taker](taker)
            finally:
                self._end(taker)

        threads = [Thread(target=run_one, args=(i,), daemon=True) for i in range(len(actions))]
        for thread in threads:
            thread.start()
        with self._state:
            self._pass_on()
        for thread in threads:
            thread.join()

    def _end(self, taker: int) -> None:
        with self._state:
            self._running.remove(taker)
            if taker == self._taking:
                self._pass_on()
            else:  # a thread of it waits for its next turn, which does not come
                self._gates[taker].release()

    def _pass_on(self) -> None:
        if self._running:
            self._left = self._dice.randrange(self._steps_max)
            self._taking = self._dice.choice(self._running)
            self._gates[self._taking].release()
