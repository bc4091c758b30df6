"""Goal: prepared messages are committed once, however often and wherever they are committed.

The oracle is the list of rows that were written.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.commit.own_commits import BATCH_LOOKBACK
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import (
    CommitConflictError,
    CommitStateUnknownError,
)
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.kernel.errors import FileAccessError
from tests.fakes.failing_file_io import FailingFileIO, Fault

KEEP_ONE = ExpireOptions(older_than_ms=10**15, retain_min=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("p", "BIGINT")
    return connect(str(tmp_path)).create("t", descriptor.partitioned_by("p"))


def prepared(table: Table, *ids: int) -> tuple[CommitMessage, ...]:
    """Return messages with these rows, each in a partition of its own."""
    with table.writer() as writer:
        writer.write(pa.table({"id": ids, "p": ids}))
        return writer.prepare_commit()


def ids_of(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def failing(table: Table, fail_at: int = 0, **kwargs: Any) -> tuple[FailingFileIO, Table]:
    file_io = FailingFileIO(table.storage.file_io, fail_at, Fault.OUTAGE, **kwargs)
    return file_io, replace(table, storage=replace(table.storage, file_io=file_io))


def commit_others(table: Table, count: int) -> list[int]:
    """Commit rows `count` times; return them."""
    rows = list(range(1000, 1000 + count))
    for number in rows:
        table.append(pa.table({"id": [number], "p": [number]}))
    return rows


def test_a_commit_whose_outcome_is_unknown_is_made_once(table: Table) -> None:
    messages = prepared(table, 1, 2)
    _, down = failing(table, fail_in="snapshot/snapshot-")
    with pytest.raises(CommitStateUnknownError):
        down.commit(messages)
    others = commit_others(table, BATCH_LOOKBACK + 5)
    again = table.commit(messages)
    assert isinstance(again, Committed)
    assert (again.repeated, again.snapshot.id) == (True, 1)
    assert ids_of(table) == [1, 2, *others]


def test_the_error_names_the_user_of_the_snapshot(table: Table) -> None:
    messages = prepared(table, 1)
    _, down = failing(table, fail_in="snapshot/snapshot-")
    with pytest.raises(CommitStateUnknownError) as raised:
        down.commit(messages)
    assert table.history()["commit_user"].to_pylist() == [raised.value.commit_user]


def test_an_outage_at_any_operation_of_the_commit_loses_and_doubles_nothing(table: Table) -> None:
    count, last = 0, False
    while not last:
        count += 1
        messages = prepared(table, count)
        file_io, down = failing(table, count)
        with suppress(CommitStateUnknownError, FileAccessError):
            down.commit(messages)
        last = not file_io.reached
        assert isinstance(table.commit(messages), Committed)
        assert ids_of(table) == list(range(1, count + 1))
    assert count > 10


def test_messages_that_are_committed_twice_are_committed_once(table: Table) -> None:
    messages = prepared(table, 1, 2)
    first = table.commit(messages)
    assert isinstance(first, Committed)
    for again in (messages, messages[::-1], pickle.loads(pickle.dumps(messages))):
        outcome = table.commit([CommitMessage.from_json(m.to_json()) for m in again])
        assert outcome == replace(first, repeated=True)
    assert ids_of(table) == [1, 2]


def test_a_writer_that_prepares_twice_makes_two_commits(table: Table) -> None:
    with table.writer() as writer:
        writer.write(pa.table({"id": [1], "p": [1]}))
        first = writer.prepare_commit()
        writer.write(pa.table({"id": [1], "p": [1]}))
        second = writer.prepare_commit()
        assert writer.prepare_commit() == ()
    for messages in (second, first, first, second):
        table.commit(messages)
    assert ids_of(table) == [1, 1]
    assert len(table.history()) == 2


def test_parts_of_prepared_messages_are_commits_of_their_own(table: Table) -> None:
    messages = prepared(table, 1, 2)
    for part in (messages[:1], messages[1:], messages[:1]):
        table.commit(part)
    assert ids_of(table) == [1, 2]


def test_a_message_is_not_committed_again_with_others(table: Table) -> None:
    first, second = prepared(table, 1), prepared(table, 2)
    table.commit([*first, *second])
    with pytest.raises(CommitConflictError, match="Commit each message once"):
        table.commit(first)
    with pytest.raises(CommitConflictError, match="Commit each message once"):
        table.commit([*first, *prepared(table, 3)])
    assert ids_of(table) == [1, 2]


def test_a_commit_that_was_compacted_is_not_made_again(table: Table) -> None:
    messages = prepared(table, 1)
    table.commit(messages)
    table.append(pa.table({"id": [1], "p": [1]}))
    table.compact()
    outcome = table.commit(messages)
    assert isinstance(outcome, Committed)
    assert outcome.repeated
    assert ids_of(table) == [1, 1]


def test_a_commit_whose_snapshot_has_expired_is_not_made_again(table: Table) -> None:
    messages = prepared(table, 1)
    table.commit(messages)
    others = commit_others(table, 2)
    table.storage.expire_snapshots(KEEP_ONE)
    assert isinstance(table.commit(messages), NoChange)
    assert ids_of(table) == [1, *others]


def test_rows_that_others_overtake_and_expire_are_committed(table: Table) -> None:
    messages = prepared(table, 1)
    others = commit_others(table, 3)
    table.storage.expire_snapshots(KEEP_ONE)
    assert isinstance(table.commit(messages), Committed)
    assert ids_of(table) == [1, *others]


def test_a_compaction_is_committed_once(table: Table) -> None:
    for _ in range(2):
        table.append(pa.table({"id": [1], "p": [1]}))
    storage = table.storage
    live = storage.live_files(storage.latest_snapshot(), storage.schema)
    written = [task.run() for task in storage.compaction_tasks(live, storage.schema)]
    first = storage.commit_compaction(written, storage.schema)
    assert isinstance(first, Committed)
    assert storage.commit_compaction(written, storage.schema) == replace(first, repeated=True)
    assert ids_of(table) == [1, 1]


def test_commits_of_no_message_are_independent(table: Table) -> None:
    table.append(pa.table({"id": [1], "p": [1]}))
    for _ in range(2):
        table.overwrite(pa.table({"id": pa.array([], pa.int64()), "p": pa.array([], pa.int64())}))
        table.append(pa.table({"id": [2], "p": [2]}))
        assert ids_of(table) == [2]
