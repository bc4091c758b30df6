"""Goal: a sink's snapshots tell what a job has brought it to, whatever others commit or undo."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from table_store.catalog.jobs.progress import Followed
from table_store.catalog.jobs.sink_commit import commit_properties, is_alone, last_followed
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from tests.fakes.metadata_table import KEYLESS, MetadataTable, add, make_file

JOB, SOURCE = "insert:j:1", "/w/default.db/ü a"


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    return MetadataTable(str(tmp_path / "t"), schema=KEYLESS).create()


def commit_of_job(table: MetadataTable, barrier: int, at: int) -> None:
    table.commit.commit(
        add(make_file(f"job{barrier}")),
        kind=CommitKind.APPEND,
        commit_user=JOB,
        commit_identifier=barrier,
        properties=commit_properties(
            barrier,
            Followed(
                sources={SOURCE: at},
                created={SOURCE: 7},
                plan="p",
                states={2: at + 1},
                emitted_ms=at - 4 or None,
            ),
        ),
    )


def commit_of_other(table: MetadataTable, name: str) -> None:
    table.commit.commit(add(make_file(name)), kind=CommitKind.APPEND, commit_user=name)


def followed(table: MetadataTable) -> Mapping[str, int] | None:
    latest = table.snapshots.latest()
    assert latest is not None
    found = last_followed(table.snapshots, latest, JOB)
    if found is not None:
        assert (found.plan, found.created) == ("p", {SOURCE: 7})
        assert found.states == {2: found.sources[SOURCE] + 1}
        assert found.emitted_ms == (found.sources[SOURCE] - 4 or None)
    return None if found is None else found.sources


def test_the_last_commit_tells(table: MetadataTable) -> None:
    commit_of_other(table, "a")
    assert followed(table) is None
    commit_of_job(table, 10, 3)
    assert followed(table) == {SOURCE: 3}
    commit_of_job(table, 20, 5)
    commit_of_other(table, "b")
    assert followed(table) == {SOURCE: 5}


def test_a_rollback_takes_back_the_commits_behind_its_target(table: MetadataTable) -> None:
    commit_of_other(table, "a")
    commit_of_job(table, 10, 3)
    commit_of_other(table, "b")
    commit_of_job(table, 20, 5)
    table.commit.rollback(3, commit_user="r1")
    assert followed(table) == {SOURCE: 3}
    commit_of_other(table, "c")
    table.commit.rollback(1, commit_user="r2")
    assert followed(table) is None
    table.commit.rollback(5, commit_user="r3")
    assert followed(table) == {SOURCE: 3}
    commit_of_job(table, 30, 8)
    assert followed(table) == {SOURCE: 8}


def test_a_commit_that_has_expired_tells_nothing(table: MetadataTable) -> None:
    commit_of_job(table, 10, 3)
    commit_of_other(table, "a")
    table.expiry.expire(ExpireOptions(older_than_ms=0, retain_min=1, retain_max=1))
    with pytest.raises(SnapshotNotFoundError):
        followed(table)


def alone_commit(table: MetadataTable, barrier: int, until: int) -> None:
    followed = Followed(sources={SOURCE: 1}, created={SOURCE: 7}, plan="p")
    table.commit.commit(
        add(make_file(f"alone{barrier}")),
        kind=CommitKind.APPEND,
        commit_user=JOB,
        commit_identifier=barrier,
        properties=commit_properties(barrier, followed, alone_until=until),
    )


def is_job_alone(table: MetadataTable) -> bool:
    return is_alone(table.snapshots, table.snapshots.latest(), JOB)


def compaction(table: MetadataTable, name: str) -> None:
    table.commit.commit(add(make_file(name)), kind=CommitKind.COMPACT, commit_user=name)


def test_a_job_is_alone_until_somebody_else_commits(table: MetadataTable) -> None:
    assert is_job_alone(table)
    alone_commit(table, 10, 0)
    compaction(table, "c1")
    assert is_job_alone(table)
    compaction(table, "c2")
    alone_commit(table, 20, 2)  # compactions may come between its look and its commit
    assert is_job_alone(table)
    commit_of_other(table, "a")
    assert not is_job_alone(table)
    commit_of_job(table, 30, 3)
    assert not is_job_alone(table)


def test_who_commits_between_the_look_and_the_commit_is_seen(table: MetadataTable) -> None:
    alone_commit(table, 10, 0)
    commit_of_other(table, "a")
    alone_commit(table, 20, 1)
    assert not is_job_alone(table)
    commit_of_job(table, 30, 3)
    assert not is_job_alone(table)


def test_a_job_that_is_not_first_is_not_alone(table: MetadataTable) -> None:
    commit_of_other(table, "a")
    assert not is_job_alone(table)
