"""Runs compactions behind the commits of jobs on a background thread, so that no epoch waits.

Where commits come faster than their runs are merged, a writer waits after some of them, as one of
RocksDB and of Paimon does: reads must not pay without end for what writers save.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final

_log = logging.getLogger(__name__)

_COMMITS_MAX: Final = 20
"""So many commits of a table may come while one compaction of it runs or waits for another's."""


@dataclass(slots=True)
class _Begun:
    """The compaction of a table that runs or waits, and how many commits have come since."""

    future: Future[None]
    commits: int = 0


class BackgroundCompaction:
    """The compactions of all tables, one after the other, and one of each table at a time."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compaction")
        self._begun: dict[str, _Begun] = {}
        self._lock = Lock()

    def is_free(self, path: str) -> bool:
        """Whether no compaction of a table runs or waits; to be asked after each commit.

        After too many commits in vain it waits for the one that runs.
        """
        with self._lock:
            begun = self._begun.get(path)
            if begun is None or begun.future.done():
                return True
            begun.commits += 1
            is_behind = begun.commits >= _COMMITS_MAX
        if is_behind:
            wait([begun.future])
        return is_behind

    def start(self, path: str, compact: Callable[[], None]) -> None:
        """Let `compact` run as soon as the thread is free; an error of it is logged."""
        with self._lock:
            ended = [path for path, begun in self._begun.items() if begun.future.done()]
            for one in ended:
                del self._begun[one]
            begun = _Begun(self._threads.submit(compact))
            begun.future.add_done_callback(partial(_log_failure, path))
            self._begun[path] = begun

    def settle(self, path: str) -> None:
        """Wait until no compaction of a table runs or waits."""
        with self._lock:
            begun = self._begun.get(path)
        if begun is not None:
            wait([begun.future])

    def finish(self) -> None:
        """Wait for the compaction that runs; the others are left to the tables' next commits."""
        self._threads.shutdown(cancel_futures=True)


def _log_failure(path: str, future: Future[None]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        _log.error("the compaction of %s in the background failed", path, exc_info=error)


COMPACTION: Final = BackgroundCompaction()
"""The instance of this planner process."""
