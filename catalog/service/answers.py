"""Answers as they are sent, each made once however many ask for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from table_store.catalog.service.observation import Observer
from table_store.catalog.service.workers import Workers

ANSWERS_MAX: Final = 64
"""So many are kept; the largest are of some hundred KB."""


@dataclass(slots=True)
class _Answer:
    making: asyncio.Task[bytes]
    until: float = 0.0

    @property
    def is_old(self) -> bool:
        """Whether somebody who asks now would be told something older than the observer tells."""
        return self.making.done() and time.monotonic() >= self.until


class Answers:
    """Keeps an answer as long as the look at the warehouse from which it was made."""

    def __init__(self, observer: Observer, workers: Workers) -> None:
        self._observer = observer
        self._workers = workers
        self._known: dict[str, _Answer] = {}

    async def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, or raise what it raises; it is called in a worker.

        Args:
            key: who asks with the same one is told the same.
            make: makes the answer, beginning with a look by the observer.

        Raises:
            ServiceBusyError: too much is to be done already.
            ServiceTimeoutError: it takes too long.
        """
        answer = self._known.get(key)
        if answer is None or answer.is_old:
            answer = _Answer(asyncio.create_task(self._workers.run(make)))
            answer.making.add_done_callback(lambda making: self._made(answer, making))
            self._known.pop(key, None)
            self._known[key] = answer
            self._forget()
        return await asyncio.shield(answer.making)

    def _made(self, answer: _Answer, making: asyncio.Task[bytes]) -> None:
        # A failure is told to those who wait for it alone; the next one to ask tries again.
        if not making.cancelled() and making.exception() is None:
            answer.until = self._observer.until

    def _forget(self) -> None:
        if len(self._known) > ANSWERS_MAX:
            self._known = {k: one for k, one in self._known.items() if not one.is_old}
            for key in list(self._known)[:-ANSWERS_MAX]:
                del self._known[key]
