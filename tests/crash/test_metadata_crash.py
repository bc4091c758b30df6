"""Goal: a process killed, or a disk failing, at any operation leaves the table before or after.

Every scenario (commit, commit that merges manifests, compaction, overwrite, rollback, expiry,
schema change, orphan cleaning) runs once cleanly to see its outcome, then with a fault at its
n-th operation for n = 1, 2, … until the fault is not reached any more. After each run a new
process looks: the table is as before or as after; the same call repeated makes it as after,
exactly once; and once orphans are removed, the files on disk are those that snapshots need.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.metadata import manifest_list
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.schema_evolution import change_options
from table_store.storage.file_store.model.scope import Scope
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.kernel.errors import TableStoreError
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed
from tests.fakes.metadata_table import MetadataTable, add, make_file

pytestmark = pytest.mark.crash

P1 = ("p1",)
FAR_FUTURE_MS = 10**15

Action = Callable[[MetadataTable], object]
State = tuple[object, ...]


def append(table: MetadataTable) -> None:
    file = make_file("new", partition=P1, keys=(0, 9))
    table.commit.commit(add(file), kind=CommitKind.APPEND, commit_user="me")


def compact(table: MetadataTable) -> None:
    live = table.live(2).files(with_stats=True)
    merged = make_file("merged", partition=P1, keys=(0, 9), level=5)
    message = CommitMessage(partition=P1, bucket=0, removed=live, added=(merged,))
    table.commit.commit([message], kind=CommitKind.COMPACT, commit_user="me")


def overwrite(table: MetadataTable) -> None:
    table.commit.commit(
        add(make_file("new", partition=P1, keys=(0, 9))),
        kind=CommitKind.OVERWRITE,
        commit_user="me",
        overwrite=Scope(),
    )


def roll_back(table: MetadataTable) -> None:
    table.commit.rollback(1, commit_user="me")


def expire(table: MetadataTable) -> None:
    table.expiry.expire(ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=2))


def change_schema(table: MetadataTable) -> None:
    # Repeating an ALTER is not the same as doing it once, so look first as a user would.
    if "k" not in table.schemas.latest().options:
        table.schemas.evolve(lambda s: change_options(s, set_to={"k": "v"}, time_ms=5))


def clean(table: MetadataTable) -> None:
    remove_orphan_files(table.io, table.path, table.schemas, older_than_ms=FAR_FUTURE_MS)


SCENARIOS: dict[str, tuple[int, Action]] = {
    "first commit": (0, append),
    "append": (2, append),
    "append that merges manifests": (4, append),
    "compaction": (2, compact),
    "overwrite": (3, overwrite),
    "rollback": (3, roll_back),
    "expiry": (4, expire),
    "schema change": (1, change_schema),
    "orphan cleaning": (3, clean),
}


def prepare(path: Path, commits: int) -> None:
    """Make a table with some commits; every third replaces the file before it."""
    table = MetadataTable(str(path)).create()
    every = [make_file(n, partition=P1, keys=(0, 9)) for n in ("new", "merged")]
    for i in range(commits):
        file = make_file(f"f{i}", partition=P1, keys=(0, 9))
        removed = tuple(f for f in table.live().files() if i % 3 == 2 and f.name == f"f{i - 1}")
        table.write(file)
        message = CommitMessage(partition=P1, bucket=0, added=(file,), removed=removed)
        table.commit.commit([message], kind=CommitKind.APPEND, commit_user=f"u{i}")
    table.write(*every)  # what the scenarios commit; orphans until then
    (path / "manifest" / ".tmp-left-over").parent.mkdir(exist_ok=True)
    (path / "manifest" / ".tmp-left-over").write_text("x")


def state(path: Path) -> State:
    """Return what a new process sees; every retained snapshot must be readable."""
    table = MetadataTable(str(path))
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    ids = range(earliest or 0, (latest or -1) + 1)
    history = {i: frozenset(table.names(i)) for i in ids}
    for i in ids:
        for file in table.live(i).files():
            if file.name not in ("new", "merged"):
                assert Path(table.file_path(file)).exists(), f"{file.name} of snapshot {i} is gone"
    latest_names = None if latest is None else history[latest]
    return table.schemas.latest().options, latest, latest_names


def run(path: Path, action: Action, fail_at: int, fault: Fault) -> FailingFileIO:
    io = FailingFileIO(LocalFileIO(str(path)), fail_at, fault)
    table = MetadataTable(str(path), file_io=io)
    try:
        action(table)
    except Killed:
        assert io.reached
    except TableStoreError:
        assert fault not in (Fault.KILL_AFTER, Fault.KILL_BEFORE)
    return io


def assert_clean(path: Path) -> None:
    """Remove orphans; then on disk are exactly the files that snapshots refer to."""
    table = MetadataTable(str(path))
    clean(table)
    snapshots = list(table.snapshots.newest_first())
    needed = {name for s in snapshots for name in table.names(s.id)}
    folder = path / "p=p1" / "bucket-0"
    assert {f.name for f in folder.iterdir()} <= needed
    assert not list(path.rglob(".tmp-*"))
    manifests = {f.name for f in (path / "manifest").iterdir()}
    lists = {n for s in snapshots for n in (s.base_manifest_list, s.delta_manifest_list)}
    assert lists <= manifests


@pytest.mark.parametrize("fault", list(Fault), ids=lambda f: f.name.lower())
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_any_fault_leaves_before_or_after(
    name: str, fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_list, "MERGE_MIN_COUNT", 3)
    commits, action = SCENARIOS[name]
    template = tmp_path / "template"
    prepare(template, commits)
    before = state(template)
    finished = tmp_path / "finished"
    shutil.copytree(template, finished)
    run(finished, action, 0, fault)
    after = state(finished)
    fail_at = 0
    while True:
        fail_at += 1
        path = tmp_path / "faulty"
        shutil.copytree(template, path)
        io = run(path, action, fail_at, fault)
        seen = state(path)
        assert seen in (before, after), f"operation {fail_at}"
        if not io.reached:
            assert seen == after
            break
        action(MetadataTable(str(path)))
        assert state(path) == after, f"repeated after operation {fail_at}"
        assert_clean(path)
        shutil.rmtree(path)
    assert fail_at > 3, "the operations were counted"
