"""What work leaves behind while it goes on: files of tables, memory, threads and descriptors."""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmark.growth.process_memory import JVM, PLANNER, Process, processes


def held_resources(folder: Path) -> dict[str, float]:
    """Return how many files are below a folder, and what the JVM and the planner hold."""
    found: dict[str, float] = {"files": sum(1 for path in folder.rglob("*") if path.is_file())}
    known: dict[str, Process] = {process.kind: process for process in processes(os.getpid())}
    for kind in (JVM, PLANNER):
        process = known[kind]
        found[f"{kind}, MB"] = process.resident_bytes / (1 << 20)
        found[f"{kind}, threads"] = process.threads
        found[f"{kind}, descriptors"] = process.descriptors
    return found
