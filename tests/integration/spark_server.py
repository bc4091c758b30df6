"""A server of the installed, unmodified pyspark (Thrift, Connect), as a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.integration.closed_at_exit import ClosedAtExit

_START_S = 180


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class SparkServer(ClosedAtExit):
    """One running server, which listens on `port` once it is made."""

    def __init__(self, folder: Path, port: int, program: str, arguments: list[str]) -> None:
        """Start a program of the environment in `folder`."""
        binary = Path(sys.executable).parent
        self.port = port
        self.log = folder / f"server-{port}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [str(binary / program), *arguments],
                cwd=folder,
                env={**os.environ, "PATH": f"{binary}{os.pathsep}{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-2000:]}"
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                time.sleep(0.5)
        raise AssertionError(f"no server in {_START_S} s: {self.log.read_text()[-2000:]}")

    def close(self) -> None:
        """Stop the server; kill it where it does not stop."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(30)


class ConnectServer(SparkServer):
    """A running Connect server; `arguments` are spark-submit's."""

    def __init__(self, folder: Path, port: int, arguments: list[str]) -> None:
        main_class = "org.apache.spark.sql.connect.service.SparkConnectServer"
        own = ["--master", "local[2]", "--class", main_class, *arguments, "spark-internal"]
        super().__init__(folder, port, "spark-submit", own)
