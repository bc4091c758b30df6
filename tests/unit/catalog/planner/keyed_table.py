"""A small table with a key, and a planner's session that must not ask Spark about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from table_store import TableDescriptor, connect
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.file_store.table import FileStoreTable


def keyed_table(folder: Path, *, commits: int) -> FileStoreTable:
    """A table in which each of the commits has written the keys 1 and 2."""
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").primary_key("id")
    created = connect(str(folder)).create("t", descriptor).storage
    for _ in range(commits):
        created.append(pa.table({"id": [1, 2]}))
    return created


def session_without_spark(name: str) -> PlannerSession:
    """A session whose requests are about so few rows that Spark is not asked."""

    def no_spark() -> Any:
        raise AssertionError("a few rows asked Spark")

    return PlannerSession(name, no_spark)
