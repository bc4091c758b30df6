"""Programs of this environment that a demo starts, and ends with itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

_BINARIES = Path(sys.executable).parent
_END_S = 60


class Programs:
    """Processes by name; what they say goes to files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a command of this environment; an earlier one of the name has ended."""
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [str(_BINARIES / command[0]), *command[1:]],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self._running[name]

    def log(self, name: str) -> Path:
        """The file of what a program has said."""
        return self._folder / f"{name}.log"

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code; what has not ended after a minute is killed."""
        process = self._running.pop(name)
        process.send_signal(how)
        try:
            return process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def close(self) -> None:
        """End all that run."""
        for process in self._running.values():
            process.terminate()
        for name in list(self._running):
            self.end(name)
