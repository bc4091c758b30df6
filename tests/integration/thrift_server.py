"""The unmodified Thrift server of the installed pyspark, as a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from pyhive import hive

_START_S = 180


class ThriftServer:
    """One running server, on a free port of this machine."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        binary = Path(sys.executable).parent
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.log = folder / f"thrift-{self.port}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(str(binary / "spark-submit"), "--master", "local[2]"),
                    *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"),
                    *arguments,
                    "spark-internal",
                    *("--hiveconf", f"hive.server2.thrift.port={self.port}"),
                    *("--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"),
                ],
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

    @property
    def url(self) -> str:
        """For JDBC clients."""
        return f"jdbc:hive2://127.0.0.1:{self.port}/"

    def connect(self, database: str = "default") -> ThriftSession:
        """Open a session as PyHive's users do."""
        connection = hive.connect("127.0.0.1", self.port, username="tester", database=database)
        return ThriftSession(connection)

    def __enter__(self) -> ThriftServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(30)


class ThriftSession:
    """One session of a server."""

    def __init__(self, connection: hive.Connection) -> None:
        self._connection = connection

    def run(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement; an error is raised."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
        finally:
            cursor.close()

    def error(self, sql: str) -> str:
        """What a failing statement says."""
        try:
            self.run(sql)
        except hive.OperationalError as error:
            status = error.args[0].status
            return f"{status.sqlState} {status.errorMessage}"
        raise AssertionError(f"did not fail: {sql}")

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def __enter__(self) -> ThriftSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
