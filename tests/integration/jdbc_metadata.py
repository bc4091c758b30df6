"""What a JDBC client that browses (DBeaver, Tableau) sees: DatabaseMetaData, by pyspark's jars.

Run as a program, because a JVM can be started only once in a process: reads statements of one
word and arguments from standard input, and prints one JSON line for each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pyspark


class JdbcBrowser:
    """A JDBC client in a process of its own; every call opens a connection, as browsers do."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, *question: str | None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the JDBC client ended"
        return json.loads(line)

    def schemas(self) -> list[str]:
        """Names of the schemas."""
        return [row[0] for row in self._ask("schemas")]

    def tables(self, schema: str = "%", pattern: str = "%") -> list[tuple[str, str, str]]:
        """(schema, table, type)."""
        return [(row[1], row[2], row[3]) for row in self._ask("tables", schema, pattern)]

    def columns(self, table: str, schema: str = "%") -> list[tuple[str, str]]:
        """(column, type)."""
        return [(row[3], row[5]) for row in self._ask("columns", schema, table)]

    def described(self, name: str, schema: str) -> tuple[str, list[tuple[str, str, str]]]:
        """A relation's REMARKS; of its columns COLUMN_NAME, IS_NULLABLE and REMARKS."""
        ((*_, remarks),) = [row[:5] for row in self._ask("tables", schema, name)]
        columns = self._ask("columns", schema, name)
        return remarks, [(row[3], row[17], row[11]) for row in columns]

    def query(self, sql: str) -> list[list[str]]:
        """The rows of a query, as text."""
        rows: list[list[str]] = self._ask("query", sql)
        return rows

    def hold(self) -> None:
        """Keep the connection from now on, as a tree that stays open does."""
        self._ask("hold")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # ends it by the end of its input


def _rows(result: Any) -> list[list[str | None]]:
    count = result.getMetaData().getColumnCount()
    rows = []
    while result.next():
        cells = [result.getString(i + 1) for i in range(count)]
        rows.append([None if cell is None else str(cell) for cell in cells])
    return rows


def _answer(connection: Any, question: list[Any]) -> Any:
    metadata = connection.getMetaData()
    match question:
        case ["schemas"]:
            return _rows(metadata.getSchemas())
        case ["tables", schema, pattern]:
            return _rows(metadata.getTables(None, schema, pattern, None))
        case ["columns", schema, table]:
            return _rows(metadata.getColumns(None, schema, table, "%"))
        case ["query", sql]:
            return _rows(connection.createStatement().executeQuery(sql))
    return None


def main(url: str) -> None:
    """Answer questions until the end of standard input."""
    import jpype

    jars = Path(pyspark.__file__).parent / "jars" / "*"
    jpype.startJVM("-Dlog4j2.level=off", classpath=[str(jars)])
    manager = jpype.JClass("java.sql.DriverManager")
    jpype.JClass("org.apache.hive.jdbc.HiveDriver")
    held = None
    for line in sys.stdin:
        question = json.loads(line)
        connection = held or manager.getConnection(url, "tester", "")
        answer = _answer(connection, question)
        if question == ["hold"]:
            held = connection
        elif held is None:
            connection.close()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
