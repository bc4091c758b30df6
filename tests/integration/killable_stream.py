"""A streaming query in a process of its own, which a test kills: from JSON files to a table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.checkout import REPOSITORY
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.closed_at_exit import ClosedAtExit
from tests.integration.spark_session import spark_session

SCHEMA = "id INT, v STRING"


class KillableStream(ClosedAtExit):
    """The process, with everything that it has started; killed at the latest when left."""

    def __init__(self, folder: Path, source: Path, table: str, checkpoint: Path) -> None:
        arguments = [str(folder), str(source), table, str(checkpoint)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *arguments],
            cwd=REPOSITORY,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """Kill the process and what it has started; return when nothing of it is left."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # On a busy machine its JVM takes a while to go, and until then it is said to run.
        with suppress(ProcessLookupError):
            while True:
                os.killpg(self._process.pid, 0)
                time.sleep(0.01)

    def wait_until(self, is_reached: Callable[[], bool], timeout_s: float = 120) -> None:
        """Look again and again, as often as a process can be killed at a certain step."""
        end = time.monotonic() + timeout_s
        while not is_reached():
            assert self._process.poll() is None, "the stream ended before it was killed"
            assert time.monotonic() < end, "the stream never got there"
            time.sleep(0.002)


def main(folder: str, source: str, table: str, checkpoint: str) -> None:
    with spark_session(Path(folder), OWN_NAME) as spark:
        files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(source)
        writer = files.writeStream.option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).toTable(table).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
