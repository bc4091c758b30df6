"""`table-store jobs` as a process that a test watches and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.closed_at_exit import ClosedAtExit


class JobRunner(ClosedAtExit):
    """A running job runner; what it says goes to a file of the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        """Start it; it has the warehouse of the folder."""
        binary = Path(sys.executable).parent
        self._said = folder / f"{name}.said"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [str(binary / "table-store"), "jobs", *arguments(SMALL)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """What it has said so far."""
        return self._said.read_text()

    def wait_until_it_says(self, text: str, timeout_s: float = 60) -> float:
        """Wait for a text; how many seconds it took."""
        begin = time.monotonic()
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() - begin < timeout_s, self.said
            time.sleep(0.05)
        return time.monotonic() - begin

    def tell(self, how: signal.Signals) -> None:
        """Send a signal to the driver."""
        os.kill(self.process.pid, how)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; the exit code."""
        self.tell(how)
        return self.process.wait(60)

    def close(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGCONT)
            self.process.kill()
            self.process.wait(60)
