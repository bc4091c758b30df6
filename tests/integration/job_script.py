"""`spark-sql -f` with streaming INSERTs, as a process that a test watches and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from table_store import open_table
from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.closed_at_exit import ClosedAtExit


class JobScript(ClosedAtExit):
    """A running script; its output goes to files of the folder.

    Attributes:
        process: the driver; Spark's shell script has replaced itself by it.
    """

    def __init__(
        self,
        folder: Path,
        sql: str,
        name: str,
        how: str = "spark-sql",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it with `spark-sql -f`, or with `table-store run`."""
        binary = Path(sys.executable).parent
        self.folder = folder
        self._out = folder / f"{name}.out"
        self._errors = folder / f"{name}.err"
        (folder / f"{name}.sql").write_text(sql)
        command = [str(binary / "spark-sql"), "-f", f"{name}.sql"]
        if how == "run":
            command = [str(binary / "table-store"), "run", f"{name}.sql"]
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command, *arguments(SMALL)],
                cwd=folder,
                env={
                    **os.environ,
                    "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}",
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._out.read_text()

    @property
    def errors(self) -> str:
        """The same of standard error."""
        return self._errors.read_text()

    def wait_for_commit(self, table: str, after: int = 0) -> int:
        """Wait until a table of the default namespace has a snapshot above `after`; its id."""
        path = self.folder / "spark-warehouse" / "default.db" / table
        for _ in range(1800):
            if (path / "snapshot").is_dir():
                latest = open_table(str(path)).storage.latest_snapshot()
                if latest is not None and latest.id > after:
                    return latest.id
            assert self.process.poll() is None, self.errors
            time.sleep(0.1)
        raise AssertionError(f"{table} has no snapshot above {after}: {self.errors}")

    def planner(self) -> int:
        """The process id of its planner."""
        shown = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,args="], check=True, capture_output=True, text=True
        )
        (planner,) = [
            int(line.split()[0])
            for line in shown.stdout.splitlines()
            if line.split()[1] == str(self.process.pid) and "table_store.planner" in line
        ]
        return planner

    def end(self, how: signal.Signals) -> int:
        """Send a signal, as Ctrl-C to all its processes, and wait for the end; the exit code."""
        if how is signal.SIGINT:
            os.killpg(self.process.pid, how)
        else:
            self.process.send_signal(how)
        return self.process.wait(60)

    def close(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
