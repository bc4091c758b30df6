"""Goal: tasks that commit bad records to one table at the same time lose none and double none.

Oracle: a dict by the key.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa

from table_store import TableDescriptor, connect, open_table
from table_store.catalog.connectors.dead_letters import OF_FILES, DeadLetters
from table_store.catalog.definition.declared_type import CHAR_VARCHAR
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.types import STRING

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


def test_tables_with_rules_of_their_own_take_no_letters() -> None:
    whole = TableDefinition(columns=OF_FILES.fields(), primary_key=tuple(OF_FILES.key))
    assert OF_FILES.misfit(whole.schema(time_ms=0)) is None
    noted = Field(id=0, name="noted", type=STRING)
    assert OF_FILES.misfit(with_columns(whole, noted).schema(time_ms=0)) is None
    for more, reason in (
        (replace(noted, nullable=False), "noted is NOT NULL"),
        (replace(noted, default=StoredExpression("'new'")), "has a DEFAULT"),
        (replace(noted, generated=StoredExpression("upper(reason)")), "computed"),
    ):
        assert reason in (OF_FILES.misfit(with_columns(whole, more).schema(time_ms=0)) or "")
    checked = replace(
        whole.schema(time_ms=0), checks=(Check(name="c", condition=StoredExpression("line > 0")),)
    )
    assert "CHECK" in (OF_FILES.misfit(checked) or "")
    short = [
        replace(field, metadata=((CHAR_VARCHAR, '"varchar(10)"'),))
        if field.name == "reason"
        else field
        for field in OF_FILES.fields()
    ]
    limited = replace(whole, columns=tuple(short)).schema(time_ms=0)
    assert "reason has a length" in (OF_FILES.misfit(limited) or "")


def with_columns(table: TableDefinition, *more: Field) -> TableDefinition:
    return replace(table, columns=(*table.columns, *more))
