"""The process of the service, started by its command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND = [sys.executable, "-m", "table_store.cli", "meta-service"]


@contextmanager
def meta_service(
    warehouse: str, *arguments: str, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process over a warehouse, and the address that it tells; it is killed in the end."""
    command = [*COMMAND, "--warehouse", warehouse, "--port", str(port), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("MetaService: "):
            raise AssertionError(process.stderr.read())
        yield process, line.removeprefix("MetaService: ").strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
