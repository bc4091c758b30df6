"""Which process owns something on storage, and whether that process still lives.

A process number alone is used again by later processes, so it is kept together with the
start time the kernel reports, and with the machine (and, in containers, the process name
space) in which both mean anything.
"""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_PROC = Path("/proc")
# Field 22 of /proc/<pid>/stat, counted after the command's closing bracket (proc(5)).
_START_TIME_FIELD = 19


class Liveness(Enum):
    """What is known about a process."""

    RUNNING = "running"
    DEAD = "dead"
    UNKNOWN = "unknown"
    """It ran on another machine or in another process name space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One run of one process. `start` is opaque: it is only ever compared."""

    host: str
    pid: int
    start: str

    def to_json(self) -> dict[str, str | int]:
        """Return what `from_json` reads."""
        return {"host": self.host, "pid": self.pid, "start": self.start}

    @classmethod
    def from_json(cls, value: object) -> ProcessIdentity | None:
        """Return the process a record names, None where it names none."""
        if not isinstance(value, dict):
            return None
        host, pid, start = value.get("host"), value.get("pid"), value.get("start")
        if isinstance(host, str) and isinstance(pid, int) and isinstance(start, str):
            return cls(host=host, pid=pid, start=start)
        return None


def identity_of(pid: int | None = None) -> ProcessIdentity:
    """Return the identity of a running process of this machine, by default of this one.

    The identity of a process that does not run has an empty start and counts as dead.
    """
    number = os.getpid() if pid is None else pid
    return ProcessIdentity(host=_host(), pid=number, start=_start_of(number) or "")


def liveness(identity: ProcessIdentity) -> Liveness:
    """Return whether the process still runs, as far as this machine can know."""
    if identity.host != _host():
        return Liveness.UNKNOWN
    start = _start_of(identity.pid)
    if start is None or start != identity.start:
        return Liveness.DEAD
    return Liveness.RUNNING


def _host() -> str:
    name = socket.gethostname()
    try:
        # Two containers may share a host name, but then not the space of process numbers.
        space = os.readlink(_PROC / "self" / "ns" / "pid")
    except OSError:
        return name
    return f"{name} {space}"


def _start_of(pid: int) -> str | None:
    if _PROC.joinpath("self", "stat").exists():
        return _start_from_proc(pid)
    return _start_from_ps(pid)


def _start_from_proc(pid: int) -> str | None:
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command may hold spaces and brackets; the numbers follow its last bracket.
    fields = stat.rpartition(")")[2].split()
    if not fields or fields[0] in ("Z", "X"):
        return None
    # Ticks since boot: the same number may come again after a restart of the machine.
    return f"{_boot()}:{fields[_START_TIME_FIELD]}"


def _boot() -> str:
    try:
        text = _PROC.joinpath("sys", "kernel", "random", "boot_id").read_text(encoding="ascii")
    except OSError:
        return ""
    return text.strip()


def _start_from_ps(pid: int) -> str | None:
    try:
        answer = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
    except OSError:
        return None
    return answer.stdout.strip() or None
