"""A few threads that do the work on storage, so that requests cost a bounded amount of it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from table_store.catalog.service.service_errors import ServiceBusyError, ServiceTimeoutError

T = TypeVar("T")

THREADS: Final = 4
WAITING_MAX: Final = 64
TIMEOUT_SECONDS: Final = 10.0


class Workers:
    """Runs functions in daemon threads: one that storage never answers does not keep us alive."""

    def __init__(
        self,
        *,
        threads: int = THREADS,
        waiting_max: int = WAITING_MAX,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(waiting_max)
        self._timeout_seconds = timeout_seconds
        for number in range(threads):
            name = f"storage-{number}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    async def run(self, function: Callable[[], T]) -> T:
        """Return what a function returns, or raise what it raises.

        Raises:
            ServiceBusyError: too many wait already.
            ServiceTimeoutError: it takes too long; it goes on, or is left out if it has not begun.
        """
        future: Future[T] = Future()
        try:
            self._waiting.put_nowait(lambda: _fulfil(future, function))
        except queue.Full:
            raise ServiceBusyError(waiting=self._waiting.maxsize) from None
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._timeout_seconds)
        except TimeoutError:
            raise ServiceTimeoutError(seconds=self._timeout_seconds) from None

    def _work(self) -> None:
        while True:
            self._waiting.get()()


def _fulfil(future: Future[T], function: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  whoever waits for it handles it
        future.set_exception(error)
    else:
        future.set_result(result)
