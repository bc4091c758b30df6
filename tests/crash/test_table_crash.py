"""Goal: a process killed, or a disk failing, within any change of rows loses or doubles none.

Twenty random histories, each the start of a write, an overwrite, a full compaction, an expiry and
an ALTER. The change runs once cleanly; its outcome has to be the model's. Then it runs with a
fault at its n-th file operation, every write to a data file among them, for n = 1, 2, … until the
fault is not reached any more. After each a new process reads the rows of before or of after, the
change repeated gives those of after, and no file stays that no snapshot needs.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.expiry.expire import SnapshotExpiry
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.schema_evolution import NewColumn, add_column
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import INTEGER, LONG, STRING
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed

pytestmark = pytest.mark.crash

KILLED_SEEDS = range(20)
FAILING_SEEDS = range(6)
ERRORS = (Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.ERROR_FOREVER)
FAR_FUTURE_MS = 10**15
SPILLS_ABOVE = 400

Row = tuple[object, ...]
Rows = Counter[Row]
Action = Callable[[FileStoreTable, "Case"], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table's shape and beginning, and the rows of the change; all from one seed."""

    schema: TableSchema
    begins: tuple[pa.Table, ...]
    change: pa.Table
    kinds: np.ndarray

    @staticmethod
    def of(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        has_key, is_partitioned = bool(seed & 1), bool(seed & 2)
        schema = new_schema(
            fields=[
                Field(id=0, name="k", type=INTEGER),
                Field(id=0, name="p", type=STRING),
                Field(id=0, name="v", type=INTEGER),
            ],
            primary_key=["p", "k"] if has_key else [],
            partition_keys=["p"] if is_partitioned else [],
            options={
                "bucket": str(1 + seed % 2),
                "file.format": ("parquet", "avro")[seed % 5 == 4],
            },
            time_ms=0,
        )
        begins = tuple(_rows(rng, count) for count in rng.integers(3, 12, size=rng.integers(1, 4)))
        change = _rows(rng, 30)
        kinds = rng.integers(0, 2, 30).astype(np.int8) if has_key else np.zeros(30, np.int8)
        return Case(schema=schema, begins=begins, change=change, kinds=kinds)

    def before(self) -> Rows:
        rows: Rows = Counter()
        for begin in self.begins:
            rows = self._merged(rows, begin, np.zeros(begin.num_rows, np.int8))
        return rows

    def after_write(self) -> Rows:
        return self._merged(self.before(), self.change, self.kinds)

    def after_overwrite(self) -> Rows:
        return self._merged(Counter(), self.change, np.zeros(self.change.num_rows, np.int8))

    def _merged(self, rows: Rows, change: pa.Table, kinds: np.ndarray) -> Rows:
        changed = [tuple(row.values()) for row in change.to_pylist()]
        if not self.schema.primary_key:
            return rows + Counter(changed)
        newest = {row[:2]: row for row in rows}
        for row, kind in zip(changed, kinds, strict=True):
            newest.pop(row[:2], None)
            if not kind:
                newest[row[:2]] = row
        return Counter(newest.values())


def _rows(rng: np.random.Generator, count: int) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(rng.integers(0, 15, count), pa.int32()),
            "p": pa.array([("a", "b")[i] for i in rng.integers(0, 2, count)]),
            "v": pa.array(rng.integers(0, 1000, count), pa.int32()),
        }
    )


def write(table: FileStoreTable, case: Case) -> None:
    context = replace(table.writer_context(), write_buffer_bytes=SPILLS_ABOVE)
    with TableWriter(context) as writer:
        for start in (0, 10, 20):
            writer.write(case.change.slice(start, 10), kinds=case.kinds[start : start + 10])
        messages = writer.prepare_commit()
    table.committer().commit(
        messages, kind=CommitKind.APPEND, commit_user="me", commit_identifier=7
    )


def overwrite(table: FileStoreTable, case: Case) -> None:
    table.overwrite(case.change)


def compact(table: FileStoreTable, case: Case) -> None:
    table.compact()


def expire(table: FileStoreTable, case: Case) -> None:
    expiry = SnapshotExpiry(table.file_io, table.path, table.schema_store)
    expiry.expire(ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=1))


def alter(table: FileStoreTable, case: Case) -> None:
    if "added" not in table.schema.column_names:
        column = NewColumn(name="added", type=LONG, initial_default="5")
        assert table.schema_store.publish(add_column(table.schema, column, time_ms=1))


CHANGES: dict[str, tuple[Action, Callable[[Case], Rows]]] = {
    "write": (write, Case.after_write),
    "overwrite": (overwrite, Case.after_overwrite),
    "compact": (compact, Case.before),
    "expire": (expire, Case.before),
    "alter": (alter, lambda case: Counter({(*row, 5): n for row, n in case.before().items()})),
}


def prepare(path: Path, case: Case) -> None:
    """Make the table with its beginning, its last two snapshots one compaction apart."""
    table = FileStoreTable.create(str(path), case.schema)
    for begin in case.begins:
        table.append(begin)
    table.compact(full=False)


def seen(path: Path) -> Rows:
    """The rows that a new process reads."""
    batches = FileStoreTable.open(str(path)).scan().to_batches()
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def run(path: Path, action: Action, case: Case, fail_at: int, fault: Fault) -> FailingFileIO:
    io = FailingFileIO(LocalFileIO(str(path)), fail_at, fault)
    try:
        action(FileStoreTable(io, str(path)), case)
    except Killed:
        assert io.reached
    except TableStoreError:
        assert fault in ERRORS
    return io


def assert_nothing_left(path: Path) -> None:
    """Remove orphans; then the data files on disk are those of the snapshots."""
    table = FileStoreTable.open(str(path))
    remove_orphan_files(table.file_io, table.path, table.schema_store, older_than_ms=FAR_FUTURE_MS)
    needed = {
        file.name
        for snapshot in table.snapshot_store.newest_first()
        for file in table.live_files(snapshot, table.schema).files()
    }
    assert {file.name for file in path.rglob("bucket-*/*")} == needed


@pytest.mark.parametrize(
    ("seed", "fault"),
    [
        # Who is killed closes no file.
        pytest.param(
            seed,
            (Fault.KILL_BEFORE, Fault.KILL_AFTER)[seed % 2],
            marks=pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
        )
        for seed in KILLED_SEEDS
    ]
    + [pytest.param(seed, ERRORS[seed % 3]) for seed in FAILING_SEEDS],
)
@pytest.mark.parametrize("name", sorted(CHANGES))
def test_rows_are_those_of_before_or_after(
    name: str, seed: int, fault: Fault, tmp_path: Path
) -> None:
    case = Case.of(seed)
    action, outcome = CHANGES[name]
    template, path = tmp_path / "template", tmp_path / "faulty"
    prepare(template, case)
    assert seen(template) == case.before()
    before, after = case.before(), outcome(case)
    fail_at = 0
    while True:
        fail_at += 1
        shutil.copytree(template, path)
        io = run(path, action, case, fail_at, fault)
        assert seen(path) in ([after] if not io.reached else [before, after]), fail_at
        if not io.reached:
            break
        action(FileStoreTable.open(str(path)), case)
        assert seen(path) == after, f"repeated after operation {fail_at}"
        assert_nothing_left(path)
        assert seen(path) == after, f"cleaned after operation {fail_at}"
        shutil.rmtree(path)
    assert fail_at > 3, "the operations were counted"
