"""Goal: nobody commits to a table with a log such that the log does not hear of it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from servers.kafka_broker import free_port
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER, LogNotAttachedError
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG
from table_store.storage.log_store.log_errors import LogUnavailableError
from table_store.storage.log_store.logged_table import open_logged
from tests.checkout import REPOSITORY

ROWS = pa.table({"k": pa.array([1], pa.int64())})


def schema(**options: str) -> TableSchema:
    fields = [Field(id=0, name="k", type=LONG)]
    options = {"log.kafka.topic": "t", "log.kafka.timeout": "2 s", **options}
    return replace(new_schema(fields=fields, time_ms=0), options=options)


def brokers(text: str) -> dict[str, str]:
    return {"log.kafka.bootstrap.servers": text}


def test_a_table_that_was_opened_without_its_log_takes_no_commit(tmp_path: Path) -> None:
    table = FileStoreTable.create(str(tmp_path / "t"), schema(**brokers("h:1")))
    with pytest.raises(LogNotAttachedError, match="open_table"):
        table.append(ROWS)
    with pytest.raises(LogNotAttachedError):
        table.expire_snapshots()
    assert table.latest_snapshot() is None
    replace(table, listener=NO_LISTENER).append(ROWS)
    with pytest.raises(LogNotAttachedError):
        table.compact()


def test_what_cannot_be_told_is_not_committed(tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    path = str(tmp_path / "t")
    FileStoreTable.create(path, schema(**brokers(nobody)))
    table = open_logged(path)
    with pytest.raises(LogUnavailableError, match=nobody):
        table.append(ROWS)
    assert table.latest_snapshot() is None
    with table.writer() as writer:
        writer.write(ROWS)
        messages = writer.prepare_commit()
    table.commit(messages, track_changes=False)
    assert table.scan().to_arrow() == ROWS


def test_programs_open_tables_with_their_log() -> None:
    """`FileStoreTable.open`, `.create` and the class itself are for tests and for storage."""
    found = [
        f"{source.relative_to(REPOSITORY)}:{node.lineno}"
        for folder in ("catalog", "sql_ext", "table_store", "demo")
        for source in (REPOSITORY / folder).rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("FileStoreTable")
    ]
    assert found == []
