"""Which process owns something on storage, and whether that process still lives.

Later processes may get the same process number, so it is kept together with the start time that
the kernel reports, and with the machine (in containers, the name space of processes) in which the
two are valid.
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
        """Return the process that a record names; None if it names none."""
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
        # Two containers may have the same host name, but then their process name spaces differ.
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
    # The command may contain spaces and brackets; the numbers follow its last bracket.
    fields = stat.rpartition(")")[2].split()
    if not fields or fields[0] in ("Z", "X"):
        return None
    # The start time is ticks since boot, so the boot is added: it may repeat after a restart.
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
