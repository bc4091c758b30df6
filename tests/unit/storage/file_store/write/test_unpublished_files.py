"""Goal: a commit that is surely refused leaves none of its files, and any other leaves them all.

The oracle is the search for orphans, which knows what every snapshot refers to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.expiry.orphan_files import find_orphan_files
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    TableMovedError,
)
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.unpublished_files import all_written, commit_or_delete
from table_store.storage.kernel.errors import FileAccessError, MissingFileError, TableStoreError
from table_store.storage.kernel.ids import RandomIds

NEVER_YOUNG = 1 << 50
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "v": pa.array([1, 2], pa.int64())})
TABLE, USER = "t", "u"


@dataclass
class InterferingIds(RandomIds):
    """Before it hands out the first name, another commit happens."""

    interfere: list[Callable[[], object]] = field(default_factory=list)

    def unique(self) -> str:
        if self.interfere:
            self.interfere.pop()()
        return super().unique()


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("v", "BIGINT")
    created = connect(str(tmp_path)).create("t", descriptor.primary_key("id")).storage
    for _ in range(2):
        created.append(ROWS)
    return created


def orphans(table: FileStoreTable) -> list[str]:
    found = find_orphan_files(
        table.file_io, table.path, table.schema_store, older_than_ms=NEVER_YOUNG
    )
    return [status.name for status in found]


def written(table: FileStoreTable) -> tuple[CommitMessage, ...]:
    with table.writer() as writer:
        writer.write(ROWS)
        return writer.prepare_commit()


STATEMENTS: dict[str, tuple[Callable[[FileStoreTable], object], str]] = {
    "an overwrite": (lambda table: table.overwrite(ROWS), "append"),
    "a compaction": (lambda table: table.compact(), "compact"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_conflict_leaves_no_file(table: FileStoreTable, name: str) -> None:
    statement, other = STATEMENTS[name]
    others = {"append": lambda: table.append(ROWS), "compact": lambda: table.compact()}
    mine = replace(table, ids=InterferingIds([others[other]]))
    with pytest.raises(CommitConflictError):
        statement(mine)
    assert orphans(table) == []
    assert table.scan().count() == 2


def test_rows_for_a_table_that_has_moved_leave_no_file(table: FileStoreTable) -> None:
    successor = Successor(location="t~1")
    table.schema_store.evolve(lambda s: replace(s, id=s.id + 1, successor=successor))
    for statement in (table.append, table.overwrite):
        with pytest.raises(TableMovedError):
            statement(ROWS)
    assert orphans(table) == []


def test_tasks_before_one_that_fails_leave_no_file(table: FileStoreTable) -> None:
    context = table.writer_context()
    (message,) = written(table)

    def missing() -> CommitMessage:
        raise MissingFileError(path="gone")

    with pytest.raises(MissingFileError):
        all_written(context, [lambda: message, missing])
    assert orphans(table) == []


def test_a_commit_that_was_made_before_leaves_no_file(table: FileStoreTable) -> None:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    done = Committed(snapshot=snapshot, repeated=True)
    assert commit_or_delete(table.writer_context(), written(table), lambda: done) is done
    assert orphans(table) == []


def test_files_stay_where_their_own_commit_may_have_expired(table: FileStoreTable) -> None:
    messages, done = written(table), NoChange(snapshot=None)
    assert commit_or_delete(table.writer_context(), messages, lambda: done) is done
    assert orphans(table) == [file.name for message in messages for file in message.added]


def test_a_compaction_that_is_committed_again_keeps_its_files(table: FileStoreTable) -> None:
    """As after an outcome that was unknown: the first was there."""
    live = table.live_files(table.latest_snapshot(), table.schema)
    messages = [task.run() for task in table.compaction_tasks(live, table.schema)]
    table.commit_compaction(messages, table.schema)

    def commit() -> Committed | NoChange:
        return table.commit_compaction(messages, table.schema)

    outcome = commit_or_delete(table.writer_context(), messages, commit)
    assert isinstance(outcome, Committed)
    assert outcome.repeated
    assert table.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "error",
    [
        CommitStateUnknownError(table=TABLE, commit_user=USER, commit_identifier=1, reason="r"),
        FileAccessError(path="p", operation="create", reason="r"),
    ],
    ids=["unknown", "refused"],
)
def test_files_stay_where_the_commit_may_have_happened(
    table: FileStoreTable, error: TableStoreError
) -> None:
    messages = written(table)

    def fails() -> Committed:
        raise error

    with pytest.raises(type(error)):
        commit_or_delete(table.writer_context(), messages, fails)
    names = [file.name for message in messages for file in message.added]
    assert orphans(table) == names
    table.commit(messages)
    assert orphans(table) == []


def test_a_file_that_only_moves_to_another_level_stays(table: FileStoreTable) -> None:
    (live,) = [*table.live_files(table.latest_snapshot(), table.schema).by_bucket()]
    (file, *_) = live.files
    moved = CommitMessage(partition=(), bucket=0, added=(replace(file, level=3),), removed=(file,))

    def refused() -> Committed:
        raise CommitConflictError(table=TABLE, snapshot_id=None, reason="r")

    with pytest.raises(CommitConflictError):
        commit_or_delete(table.writer_context(), [moved], refused)
    assert Path(data_file_path(table.path, (), file)).exists()


def test_messages_of_the_callers_own_may_be_committed_again(table: FileStoreTable) -> None:
    messages = written(table)
    one = replace(messages[0], removed=(replace(messages[0].added[0], name="gone"),))
    with pytest.raises(CommitConflictError):
        table.commit([one])
    table.commit(messages)
    assert table.scan().count() == 2
