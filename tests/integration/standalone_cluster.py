"""A real cluster on this machine: Spark's own master and two workers, as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.closed_at_exit import ClosedAtExit
from tests.integration.spark_server import free_port

_MASTER = "127.0.0.1"
# Two hosts, as far as Spark can tell: it never runs a task twice at once on one.
_WORKERS = ("127.0.0.2", "127.0.0.3")
_EXECUTOR_S = 60


class StandaloneCluster(ClosedAtExit):
    """A master and two workers, each with one core, so that an executor runs one task at a time.

    Args:
        folder: where logs and the workers' directories are.
        own_cores: whether a worker and all that it starts, Python included, stay on a core of
            their own, as on a machine that has no other one.
    """

    def __init__(self, folder: Path, *, own_cores: bool = False) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        port = free_port()
        self.master = f"spark://{_MASTER}:{port}"
        # All at once: workers ask until the master is there, and so does who runs statements.
        self._start("master.Master", _MASTER, "--port", str(port))
        self._workers = [
            self._start("worker.Worker", host, "--cores", "1", "--memory", "1g", self.master)
            for host in _WORKERS
        ]
        if own_cores:
            cores = sorted(os.sched_getaffinity(0))
            for number, worker in enumerate(self._workers):
                os.sched_setaffinity(worker.pid, {cores[number % len(cores)]})

    def _start(self, name: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
        binary = Path(sys.executable).parent
        with (self._folder / f"{host}.log").open("wb") as output:
            process = subprocess.Popen(
                [
                    *(binary / "spark-class", f"org.apache.spark.deploy.{name}"),
                    *("--host", host, "--webui-port", "0", *arguments),
                ],
                cwd=self._folder,
                env={
                    **os.environ,
                    "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}",
                    "SPARK_WORKER_DIR": str(self._folder / "work"),
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)
        return process

    def executor(self, worker: int) -> int:
        """The process of the executor that the worker runs now; waits until there is one."""
        until = time.monotonic() + _EXECUTOR_S
        while time.monotonic() < until:
            for child in _children(self._workers[worker].pid):
                if "CoarseGrainedExecutorBackend" in _command(child):
                    return child
            time.sleep(0.1)
        raise AssertionError(f"no executor in {_EXECUTOR_S} s")

    def kill_executor(self, worker: int) -> None:
        """End the worker's executor at once, as a machine that loses power does."""
        os.kill(self.executor(worker), signal.SIGKILL)

    @contextmanager
    def paused_python(self, worker: int) -> Iterator[None]:
        """Stop the Python processes that the worker's executor has: tasks begin and never end."""
        stopped = list(_descendants(self.executor(worker)))
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                if Path(f"/proc/{process}").exists():
                    os.kill(process, signal.SIGCONT)

    def close(self) -> None:
        """End the workers with what they started, then the master."""
        for process in reversed(self._processes):
            process.terminate()
            process.wait(60)


def _descendants(process: int) -> Iterator[int]:
    for child in _children(process):
        yield child
        yield from _descendants(child)


def _children(process: int) -> list[int]:
    """The children of all threads of a process that is there; none of one that has ended."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except FileNotFoundError:
        return []
    return [int(child) for children in lists for child in children.split()]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return ""
