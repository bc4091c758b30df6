"""The Python processes of Spark in which tasks of this package run."""

from __future__ import annotations

import gc
import signal
import sys
from typing import Final

WORKER_ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "TABLE_STORE_WORKER": "1",
    # Arrow's default (mimalloc) asks for huge pages: on a virtual machine, their first touch cost a
    # new worker more time than its work on a million rows.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Spark reuses a process for functions of the same environment: none of a user's runs in ours."""


_frozen_modules = 0


def begin_task() -> None:
    """Make this process ready for a task of ours; each one begins with it.

    A task that fails closes the connection to its worker, which PySpark's daemon takes for a
    failure of its own and prints the trace of, between the lines of the user's one error: so the
    process ends without a word when it writes to a task that has ended.

    After each task PySpark collects garbage among all objects. Those of loaded modules stay, and
    took it longer than small tasks take: it no longer looks at them.
    """
    global _frozen_modules
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if len(sys.modules) > _frozen_modules:
        gc.freeze()
        _frozen_modules = len(sys.modules)
