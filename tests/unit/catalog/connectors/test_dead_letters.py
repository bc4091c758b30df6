"""Goal: tasks that commit bad records to one table at the same time lose none and double none.

Oracle: a dict by the key.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa

from table_store import TableDescriptor, connect, open_table
from table_store.catalog.connectors.dead_letters import OF_FILES, DeadLetters

WRITERS, ROUNDS, LINES = 4, 5, 30

_barrier: Barrier


def _take(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def write(path: str, writer: int) -> None:
    """Be one of the tasks: each has a file, and all have read another one, too."""
    for number in range(ROUNDS):
        held = DeadLetters(path, OF_FILES).begin()
        for name in (f"own-{writer}", "shared"):
            held.add(records(name, number))
        _barrier.wait(60)
        held.commit()


def records(name: str, number: int) -> dict[str, pa.Array]:
    lines = range(number * LINES, (number + 1) * LINES)
    return {
        "path": pa.array([name] * LINES),
        "line": pa.array(lines),
        "value": pa.array([f"{name} {line}".encode() for line in lines]),
        "reason": pa.array(["it is no row"] * LINES),
    }


def test_tasks_that_commit_at_once(tmp_path: Path) -> None:
    table = TableDescriptor.for_managed().column("path", "STRING", nullable=False)
    table = table.column("line", "BIGINT", nullable=False).column("value", "BINARY")
    path = (
        connect(str(tmp_path))
        .create("letters", table.column("reason", "STRING").primary_key("path", "line"))
        .path
    )
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(WRITERS)
    with ProcessPoolExecutor(WRITERS, context, _take, (barrier,)) as pool:
        list(pool.map(write, [path] * WRITERS, range(WRITERS)))
    found = open_table(path).scan().to_arrow()
    expected = {
        (name, line): f"{name} {line}".encode()
        for name in (*(f"own-{writer}" for writer in range(WRITERS)), "shared")
        for line in range(ROUNDS * LINES)
    }
    keys = list(zip(found["path"].to_pylist(), found["line"].to_pylist(), strict=True))
    assert len(keys) == len(expected)
    assert dict(zip(keys, found["value"].to_pylist(), strict=True)) == expected
