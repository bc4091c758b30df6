"""The unmodified `spark-sql` of the installed pyspark, as a process that a test types into."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.integration.closed_at_exit import ClosedAtExit

_PROMPT = re.compile(r"^(spark-sql \([^)]*\)>|\s+>)(\s|$)")
# No test fetches as many rows with one statement.
_MARK_ROWS = 97
_NOISE = re.compile(
    r"^(Time taken:|Response code|WARNING: |Setting default log level|To adjust logging|"
    r"Spark master:|Spark Web UI|Picked up |SLF4J|\d\d:\d\d:\d\d WARN )"
)
_UNHEARD = re.compile(
    r'Traceback \(most recent call last\):\n( +File ".*pyspark/daemon\.py".*\n)+BrokenPipeError.*'
)
"""PySpark's daemon, of a worker that a failed task had started and did not wait for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one statement printed."""

    rows: tuple[tuple[str, ...], ...]
    error: str

    def ok(self) -> tuple[tuple[str, ...], ...]:
        """The rows, in the order printed; fails where the statement printed an error."""
        assert not self.error, self.error
        return self.rows

    def sorted(self) -> list[tuple[str, ...]]:
        """The rows, sorted as text."""
        return sorted(self.ok())


class StockShell(ClosedAtExit):
    """One running `spark-sql`; statements run one after the other in its session.

    Attributes:
        catalog: the current one at the beginning.
        folder: where it runs; its warehouse is there.
        namespace: the one in which tables are made whose names are alone.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        env: dict[str, str] | None = None,
        prefix: str = "q",
    ) -> None:
        binary = Path(sys.executable).parent
        path = f"{binary}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [str(binary / "spark-sql"), "--master", "local[2]", *arguments],
            cwd=folder,
            env={**os.environ, "PATH": path, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._pumps: list[threading.Thread] = []
        self._out = self._lines(self._stream(self.process.stdout))
        self._err = self._lines(self._stream(self.process.stderr))
        self.folder = folder
        is_session_catalog = "spark.sql.defaultCatalog=spark_catalog" in arguments
        self.catalog = "spark_catalog" if is_session_catalog else "table_store"
        self.namespace = "default"
        self._prefix = prefix
        self._marks = 0
        self._files = 0

    @property
    def tables(self) -> Path:
        """The folder of the namespace's tables."""
        return self.folder / "spark-warehouse" / f"{self.namespace}.db"

    def run(self, sql: str, timeout_s: float = 120) -> Answer:
        """Type one statement (without semicolon) and wait for what it prints.

        A marker query tells where the statement's own output ends: on standard output by its
        text, on standard error by the number of rows that the shell says it fetched.
        """
        self._marks += 1
        mark = f"mark-{self._marks}-end"
        self._type(sql)
        self._type(f"SELECT explode(array_repeat('{mark}', {_MARK_ROWS}))")
        printed = _until(self._out, mark, timeout_s, times=_MARK_ROWS)
        rows = [tuple(line.split("\t")) for line in printed if not _PROMPT.match(line)]
        fetched = f"Fetched {_MARK_ROWS} row(s)"
        errors = _until(self._err, fetched, timeout_s, times=1)
        text = "\n".join(line for line in errors if not _NOISE.match(line))
        return Answer(rows=tuple(rows), error=_UNHEARD.sub("", text).strip())

    def ok(self, sql: str) -> tuple[tuple[str, ...], ...]:
        """The rows of a statement that must succeed."""
        return self.run(sql).ok()

    def location(self, table: str) -> Path:
        """The folder of a table, which has a suffix if the name is not the first table's."""
        (place,) = (row[1] for row in self.ok(f"DESCRIBE EXTENDED {table}") if row[0] == "Location")
        return Path(place)

    def start(self, sql: str) -> None:
        """Type one statement and wait for nothing."""
        self._type(sql)

    def _type(self, sql: str) -> None:
        """Hand over a statement as a file: the shell repeats typed text, wrapped, in its output."""
        self._files += 1
        name = f"{self._prefix}{self._files}.sql"
        (self.folder / name).write_text(f"{sql};\n")
        keyboard = self._stream(self.process.stdin)
        keyboard.write(f"source {name};\n")
        keyboard.flush()

    def _stream(self, stream: IO[str] | None) -> IO[str]:
        assert stream is not None, "all three are pipes"
        return stream

    def _lines(self, stream: IO[str]) -> queue.Queue[str | None]:
        lines: queue.Queue[str | None] = queue.Queue()

        def pump() -> None:
            for line in stream:
                lines.put(line.rstrip("\n"))
            lines.put(None)

        thread = threading.Thread(target=pump, daemon=True)
        thread.start()
        self._pumps.append(thread)
        return lines

    def leave(self) -> list[str]:
        """End the input and return what it then prints on standard error."""
        self._stream(self.process.stdin).close()
        return [line for line in iter(self._err.get, None) if line]

    def close(self) -> None:
        """End the shell as a user does, by the end of its input; one that was killed is gone."""
        with suppress(BrokenPipeError):
            self._stream(self.process.stdin).close()
        self.process.wait(60)
        for pump in self._pumps:
            pump.join(60)
        self._stream(self.process.stdout).close()
        self._stream(self.process.stderr).close()


def _until(lines: queue.Queue[str | None], mark: str, timeout_s: float, *, times: int) -> list[str]:
    """The lines before the first that ends with `mark`; reads on until `times` of them came."""
    seen: list[str] = []
    while times:
        try:
            line = lines.get(timeout=timeout_s)
        except queue.Empty:
            raise AssertionError(f"no {mark} in {timeout_s} s; so far: {seen}") from None
        if line is None:
            raise AssertionError(f"the shell ended: {seen}")
        if line.endswith(mark):
            times -= 1
        else:
            seen.append(line)
    return seen
