"""The Python processes of Spark in which tasks of this package run."""

from __future__ import annotations

import signal
from typing import Final

WORKER_ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "TABLE_STORE_WORKER": "1",
    # Arrow's default (mimalloc) asks for huge pages: on a virtual machine, their first touch cost a
    # new worker more time than its work on a million rows.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Spark reuses a process for functions of the same environment: none of a user's runs in ours."""


def end_when_unheard() -> None:
    """Let this process end without a word when it writes to a task that has ended.

    A task that fails closes the connection to its worker, which PySpark's daemon takes for a
    failure of its own and prints the trace of, between the lines of the user's one error.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
