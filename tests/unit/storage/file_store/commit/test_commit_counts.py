"""What a process counts of its commits is what the table's snapshots have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.counter import counted
from table_store.storage.kernel.types import LONG


def since(before: Mapping[str, int]) -> dict[str, int]:
    """What was counted since then."""
    return {name: value - before[name] for name, value in counted().items() if value > before[name]}


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    fields = [Field(id=0, name="id", type=LONG, nullable=False)]
    schema = new_schema(fields=fields, primary_key=["id"], time_ms=0)
    return FileStoreTable.create(str(tmp_path / "t"), schema)


def test_commits_and_compactions_are_counted_apart(table: FileStoreTable) -> None:
    before = counted()
    for start in range(3):
        table.append(pa.table({"id": range(start, start + 10)}))
    live = table.live_files(table.latest_snapshot(), table.schema)
    done = since(before)
    assert (done["commits"], done["committed_files"], done["committed_rows"]) == (3, 3, 30)
    assert done["committed_bytes"] == done["bytes_written"] == live.size_bytes
    assert "compactions" not in done

    before = counted()
    table.compact()
    done = since(before)
    assert (done["compactions"], done["compacted_files"]) == (1, 3)
    assert done["compacted_bytes"] == done["bytes_read"] == live.size_bytes
    assert (done["rows_read"], done["rows_written"]) == (30, 12)
    assert "commits" not in done


def test_a_conflict_is_counted_and_no_commit(table: FileStoreTable) -> None:
    with table.writer() as writer:
        writer.write(pa.table({"id": [1]}))
        messages = writer.prepare_commit()
    table.append(pa.table({"id": [2]}))
    before = counted()
    with pytest.raises(CommitConflictError):
        table.commit(messages, replaced_id=0)
    done = since(before)
    assert done["commit_conflicts"] == 1
    assert "commits" not in done
