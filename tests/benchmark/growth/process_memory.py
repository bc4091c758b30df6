"""How much memory this program's Spark takes: its JVM, our planner, the Python workers."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

JVM, PLANNER, WORKER, ALL = "driver JVM", "planner", "largest Python worker", "all processes"
_PROC = Path("/proc")
_INTERVAL_S = 0.1
_WORKER_MODULES = {b"pyspark.daemon", b"pyspark.worker"}


@dataclass(slots=True)
class ProcessMemory:
    """Looks at all descendants of this process ten times a second, and keeps the peaks.

    Resident bytes as the kernel tells them; what processes share counts in each of them, also in
    the sum of all.
    """

    _peaks: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[ProcessMemory]:
        """Look on while the block runs."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            thread.join()

    def take(self) -> dict[str, int]:
        """Return the peaks in bytes since the last call, by kind of process."""
        self._look()
        with self._lock:
            peaks, self._peaks = self._peaks, {}
        return peaks

    def _run(self) -> None:
        while not self._is_over.wait(_INTERVAL_S):
            self._look()

    def _look(self) -> None:
        found = resident_bytes(os.getpid())
        with self._lock:
            for kind, size_bytes in found.items():
                self._peaks[kind] = max(self._peaks.get(kind, 0), size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of Spark's; `resident_bytes` as the kernel tells them."""

    number: int
    kind: str
    resident_bytes: int
    threads: int

    @property
    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(_PROC / str(self.number) / "fd"))


def processes(root: int) -> list[Process]:
    """Return the descendants of a process that are of one of the kinds.

    Left out is a process that was forked just now to become another program: it still shows its
    parent's memory as its own.
    """
    children: dict[int, list[int]] = defaultdict(list)
    known: dict[int, Mapping[str, str]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (status := _status(entry)):
            children[int(status["PPid"])].append(int(entry.name))
            known[int(entry.name)] = status
    found = []
    left = [(child, "") for child in children[root]]
    while left:
        number, parent_kind = left.pop()
        kind = _kind(number)
        left.extend((child, kind) for child in children[number])
        if kind and (kind == WORKER or kind != parent_kind):
            status = known[number]
            found.append(
                Process(
                    number=number,
                    kind=kind,
                    resident_bytes=int(status["VmRSS"].split()[0]) * 1024,
                    threads=int(status["Threads"]),
                )
            )
    return found


def resident_bytes(root: int) -> dict[str, int]:
    """Return the bytes of the descendants of a process, by kind; 0 where there is none."""
    found = {JVM: 0, PLANNER: 0, WORKER: 0, ALL: 0}
    for process in processes(root):
        found[ALL] += process.resident_bytes
        found[process.kind] = max(found[process.kind], process.resident_bytes)
    return found


def _status(entry: Path) -> Mapping[str, str] | None:
    try:
        lines = (entry / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return fields if "VmRSS" in fields else None


def _kind(process: int) -> str:
    try:
        command = (_PROC / str(process) / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    if command[0].endswith(b"java"):
        return JVM
    if b"table_store.planner" in command:
        return PLANNER
    return WORKER if _WORKER_MODULES & set(command) else ""
