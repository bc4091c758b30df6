"""Set-up of Spark's Python worker processes in which tasks of this package run."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping
from typing import Final, NoReturn

from pyspark.accumulators import _accumulatorRegistry

from table_store.catalog.bridge.shared_text import shared_name
from table_store.storage.kernel.counter import counted

WORKER_ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "TABLE_STORE_WORKER": "1",
    # Arrow's default (mimalloc) allocates huge pages: on a virtual machine, touching them first
    # took a new worker longer than its work on a million rows.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Spark reuses a worker only for functions with this environment: users' run in other workers."""


_ACCUMULATOR: Final = int(shared_name("worker-counts"))

_frozen_modules = 0


class TaskCounts:
    """What this process has counted since a task began, as an accumulator of PySpark's worker.

    The worker sends its accumulators when the task ends; `WorkerCounts.scala` reads this one.
    """

    def __init__(self) -> None:
        self._begin = counted()

    @property
    def _value(self) -> Mapping[str, int]:
        return {
            name: value - self._begin.get(name, 0)
            for name, value in counted().items()
            if value > self._begin.get(name, 0)
        }


def begin_task() -> None:
    """Prepare this process for a task of this package; each task calls this first.

    A Spark task that fails closes the connection to its worker. PySpark's daemon treats the broken
    pipe as its own failure and prints a stack trace between the lines of the user's error. With
    the default SIGPIPE, a worker that writes to an ended task ends silently instead.

    What the task reads and writes is counted for Spark's UI.

    After each task PySpark's garbage collection visits all objects. Those of loaded modules are
    never garbage, and visiting them took longer than a small task, so they are frozen.
    """
    global _frozen_modules
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _accumulatorRegistry[_ACCUMULATOR] = TaskCounts()  # type: ignore[assignment] # asked for _value
    if len(sys.modules) > _frozen_modules:
        gc.freeze()
        _frozen_modules = len(sys.modules)


def leave() -> NoReturn:
    """End this process, whose task's rows ended because Spark failed to compute them.

    It could serve no other task: the connection is closed, of which PySpark's daemon would print a
    stack trace, too.
    """
    os._exit(0)
