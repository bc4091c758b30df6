"""One stock Thrift server with the table store for all tests.

`TABLE_STORE` names the command of the environment with Spark; unless it is set, that of the
repository's own environment is taken. A server that is already running can be named instead, as
`TABLE_STORE_SERVER=host:port`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).parents[2]
_START_S = 180


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        assert process.poll() is None, f"the server ended: {log.read_text()[-2000:]}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"no server in {_START_S} s: {log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Host and port of the server."""
    if running := os.environ.get("TABLE_STORE_SERVER"):
        host, _, at = running.partition(":")
        yield host, int(at)
        return
    folder = tmp_path_factory.mktemp("server")
    command = Path(os.environ.get("TABLE_STORE", _REPOSITORY / ".venv" / "bin" / "table-store"))
    port, log = _free_port(), folder / "server.log"
    conf = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")
    arguments = ["--port", str(port), "--master", "local[2]"]
    arguments += [word for each in conf for word in ("--conf", each)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(command), "thriftserver", *arguments],
            cwd=folder,
            env={**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, port, log)
        yield "127.0.0.1", port
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)
