"""A session of the Thrift server, as BI tools have it."""

from __future__ import annotations

from typing import Any

from pyhive import hive


class Dashboard:
    """One session, which ends with the program."""

    def __init__(self, port: int) -> None:
        """Connect to a server that listens."""
        self._connection = hive.connect("127.0.0.1", port, username="dashboard")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement.

        Raises:
            SystemExit: it fails; shows the server's message.
        """
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
        except hive.OperationalError as error:
            raise SystemExit(f"{statement}\n{error.args[0].status.errorMessage}") from error
        finally:
            cursor.close()
