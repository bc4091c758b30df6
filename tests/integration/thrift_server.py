"""The unmodified Thrift server of the installed pyspark, as `table-store` starts it."""

from __future__ import annotations

from pathlib import Path

from pyhive import hive

from tests.integration.closed_at_exit import ClosedAtExit
from tests.integration.spark_server import SparkServer, free_port


class ThriftServer(SparkServer):
    """One running Thrift server, on a free port of this machine."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        port = free_port()
        super().__init__(
            folder,
            port,
            "table-store",
            ["thriftserver", "--port", str(port), "--master", "local[2]", *arguments],
        )

    @property
    def url(self) -> str:
        """For JDBC clients."""
        return f"jdbc:hive2://127.0.0.1:{self.port}/"

    def connect(self, database: str = "default") -> ThriftSession:
        """Open a session as PyHive's users do."""
        connection = hive.connect("127.0.0.1", self.port, username="tester", database=database)
        return ThriftSession(connection)


class ThriftSession(ClosedAtExit):
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
