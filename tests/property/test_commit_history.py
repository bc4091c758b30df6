"""Goal: after any history of commits every retained snapshot holds exactly the right files.

Random appends, compactions (also moving a file to another level), overwrites, rollbacks,
expiries and commits of two writers that conflict or not are applied to a table and to plain
dicts: snapshot id → {file name: level}. Small merge limits make manifests merge often.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.metadata import manifest_file, manifest_list
from table_store.storage.file_store.model.data_file import CommitMessage, DataFile
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from tests.fakes.metadata_table import MetadataTable, make_file

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3), st.sampled_from("pq")),
        st.tuples(st.just("compact"), st.integers(1, 4), st.sampled_from("pq")),
        st.tuples(st.just("upgrade"), st.just(0), st.sampled_from("pq")),
        st.tuples(st.just("overwrite"), st.integers(0, 2), st.sampled_from("pq*")),
        st.tuples(st.just("rollback"), st.integers(0, 30), st.just("p")),
        st.tuples(st.just("expire"), st.integers(1, 6), st.just("p")),
    ),
    max_size=25,
)


class History:
    """The table, and what each of its snapshots should hold."""

    def __init__(self, path: str) -> None:
        self.table = MetadataTable(path).create()
        self.expected: dict[int, dict[str, int]] = {0: {}}
        self.partition_of: dict[str, str] = {}
        self.count = 0

    @property
    def newest(self) -> dict[str, int]:
        return self.expected[max(self.expected)]

    def fresh(self, partition: str, level: int = 0) -> DataFile:
        self.count += 1
        name = f"f{self.count}"
        self.partition_of[name] = partition
        file = make_file(name, partition=(partition,), keys=(0, 9), level=level)
        self.table.write(file)
        return file

    def record(self, result: object, after: dict[str, int]) -> None:
        if isinstance(result, Committed):
            self.expected[result.snapshot.id] = after
        else:
            assert after == self.newest, "nothing to do, nothing changed"

    def step(self, kind: str, number: int, partition: str) -> None:
        live = [f for f in self.table.live().files(with_stats=True) if f.partition == (partition,)]
        user = f"u{self.count}-{max(self.expected)}-{kind}"
        if kind == "rollback":
            targets = sorted(i for i in self.expected if i > 0)
            if targets:
                target = targets[number % len(targets)]
                result = self.table.commit.rollback(target, commit_user=user)
                self.record(result, self.expected[target])
        elif kind == "expire":
            options = ExpireOptions(older_than_ms=10**15, retain_min=number)
            for expired in self.table.expiry.expire(options).snapshot_ids:
                del self.expected[expired]
        elif kind == "overwrite":
            self.overwrite(user, number, partition)
        else:
            self.change(user, kind, number, partition, live)

    def overwrite(self, user: str, number: int, partition: str) -> None:
        added = [self.fresh("p" if partition == "*" else partition) for _ in range(number)]
        scope = Scope() if partition == "*" else Scope(spec={"p": partition})
        result = self.table.commit.commit(
            [CommitMessage(partition=f.partition, bucket=0, added=(f,)) for f in added],
            kind=CommitKind.OVERWRITE,
            commit_user=user,
            overwrite=scope,
        )
        kept = {
            n: level
            for n, level in self.newest.items()
            if partition not in ("*", self.partition_of[n])
        }
        self.record(result, kept | {f.name: 0 for f in added})

    def change(
        self, user: str, kind: str, number: int, partition: str, live: list[DataFile]
    ) -> None:
        removed = {"append": [], "compact": live[:number], "upgrade": live[:1]}[kind]
        added: list[DataFile] = []
        if kind == "append":
            added = [self.fresh(partition) for _ in range(number)]
        elif kind == "compact" and removed:
            added = [self.fresh(partition, level=5)]
        elif removed:
            level = removed[0].level % 5 + 1
            added = [make_file(removed[0].name, partition=(partition,), keys=(0, 9), level=level)]
        message = CommitMessage(
            partition=(partition,), bucket=0, added=tuple(added), removed=tuple(removed)
        )
        result = self.table.commit.commit(
            [message],
            kind=CommitKind.APPEND if kind == "append" else CommitKind.COMPACT,
            commit_user=user,
        )
        gone = {f.name for f in removed}
        after = {n: level for n, level in self.newest.items() if n not in gone}
        self.record(result, after | {f.name: f.level for f in added})

    def check(self) -> None:
        fresh = MetadataTable(self.table.path)
        assert fresh.snapshots.ids() == tuple(sorted(i for i in self.expected if i > 0))
        remove_orphan_files(fresh.io, fresh.path, fresh.schemas, older_than_ms=10**15)
        for snapshot_id in fresh.snapshots.ids():
            files = fresh.live(snapshot_id).files()
            assert {f.name: f.level for f in files} == self.expected[snapshot_id]
            assert len(files) == len(self.expected[snapshot_id])
            snapshot = fresh.snapshots.get(snapshot_id)
            assert snapshot.total_record_count == sum(f.row_count for f in files)
            for file in files:
                assert Path(fresh.file_path(file)).exists()


@settings(max_examples=100)
@given(steps)
# A file changes its level twice and goes; its first entry must not come back when they merge.
@example(
    [
        ("append", 1, "p"),
        ("append", 2, "p"),
        ("append", 3, "q"),
        ("upgrade", 0, "p"),
        ("append", 1, "p"),
        ("upgrade", 0, "p"),
        ("compact", 1, "p"),
        ("compact", 1, "p"),
        ("append", 1, "p"),
    ]
)
def test_every_snapshot_holds_the_right_files(
    made: list[tuple[str, int, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_list, "MERGE_MIN_COUNT", 3)
        patch.setattr(manifest_list, "MANIFEST_ENTRIES_MAX", 6)
        patch.setattr(manifest_file, "MANIFEST_ENTRIES_MAX", 6)
        history = History(folder)
        for kind, number, partition in made:
            history.step(kind, number, partition)
        history.check()
