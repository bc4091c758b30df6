"""Goal: a look finds what is there, and asks for no more than it needs to.

Oracle: a list of the whole folder; the condition on rows with the values of the partitions.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from table_store.catalog.connectors.filesystem.folder_listing import files_below, files_now
from table_store.catalog.connectors.filesystem.partition_filter import PartitionFilter
from table_store.storage.file_io.file_io import FileStatus
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.object_file_io import ObjectFileIO
from table_store.storage.file_store.model.partition_path import partition_folders
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from table_store.storage.kernel.types import DATE, INTEGER, STRING, to_arrow
from tests.fakes import served_s3

DAY = Field(id=0, name="day", type=DATE)
SHOP = Field(id=1, name="shop", type=STRING)
HOUR = Field(id=2, name="hour", type=INTEGER)


@dataclass(frozen=True, slots=True)
class WatchedFileIO(LocalFileIO):
    """Notes which folders are listed."""

    listed: deque[str] = field(default_factory=deque, compare=False)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        self.listed.append(path.removeprefix(self.root).lstrip("/"))
        return LocalFileIO.list(self, path)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_folder_is_listed_again_when_it_has_changed(tmp_path: Path) -> None:
    file_io, root, clock = WatchedFileIO(str(tmp_path)), str(tmp_path), Clock()
    for number in range(3):
        (tmp_path / f"n={number}").mkdir()
        (tmp_path / f"n={number}" / "a").write_text("1")
    all_folders = ["", "n=0", "n=1", "n=2"]

    def look(after_s: float) -> list[str]:
        """Return which folders it has listed."""
        clock.now_s += after_s
        found = files_now(file_io, root, clock)
        assert found == files_below(LocalFileIO(root), root)
        assert files_now(file_io, root, clock) == found
        listed = sorted(set(file_io.listed))
        file_io.listed.clear()
        return listed

    assert look(0) == all_folders
    # Names may still have come within the tick of the clock of the first look.
    assert look(1.5) == all_folders
    assert look(1) == all_folders
    assert look(1) == []
    before = files_now(file_io, root, clock)
    assert files_now(file_io, root, clock) is before
    (tmp_path / "n=1" / "b").write_text("1")
    assert look(1) == ["n=1"]
    assert look(3) == ["n=1"]
    assert look(1) == []
    (tmp_path / "n=2" / "a").rename(tmp_path / "n=1" / "c")
    assert look(1) == ["n=1", "n=2"]
    # A file that changes in its place is seen within a minute.
    assert look(3) == ["n=1", "n=2"]
    (tmp_path / "n=0" / "a").write_text("12")
    clock.now_s += 40
    assert files_now(file_io, root, clock) != files_below(LocalFileIO(root), root)
    assert set(look(20)) >= {"n=0"}


def test_looks_find_what_is_there(tmp_path: Path) -> None:
    """Names come and go in any order, also within one tick of the file system's clock."""
    chance, file_io, root = random.Random(4), WatchedFileIO(str(tmp_path)), str(tmp_path)
    clock = Clock()
    for step in range(400):
        for _ in range(chance.choice((0, 0, 1, 3))):
            folder = tmp_path / chance.choice(("", "p=1", "p=2/q=1", "_hidden", "p=2"))
            folder.mkdir(parents=True, exist_ok=True)
            name = folder / chance.choice((f"{step}", f".{step}", "same"))
            if name.exists():
                name.unlink()
            else:
                name.write_text("." * chance.randint(1, 3))
        clock.now_s += chance.choice((0.1, 1, 5))
        assert files_now(file_io, root, clock) == files_below(LocalFileIO(root), root)


THIRD = Comparison("day", "=", date(2026, 1, 3))
AMOUNT = Comparison("amount", ">", 7)
CONDITIONS: list[tuple[Predicate, int]] = [
    (THIRD, 1),
    (Comparison("DAY", ">=", date(2026, 1, 29)), 2),
    (And(Comparison("day", "<", date(2026, 1, 3)), Comparison("shop", "=", "a/b")), 2),
    (In("shop", ("a", "é x")), 30),
    (And(THIRD, IsNull("hour")), 1),
    (Not(Comparison("day", "<", date(2026, 1, 28))), 3),
    (Or(THIRD, IsNull("shop")), 30),
    (And(StartsWith("shop", "a"), IsNotNull("hour")), 30),
    (Comparison("day", "=", date(2027, 1, 1)), 0),
]


@pytest.mark.parametrize(("condition", "days"), CONDITIONS)
@pytest.mark.parametrize("has_more", [False, True])
def test_partitions_that_a_condition_excludes_are_not_listed(
    tmp_path: Path, condition: Predicate, days: int, *, has_more: bool
) -> None:
    """Whatever else the condition asks of rows."""
    columns = [DAY, SHOP, HOUR]
    rows = [
        (date(2026, 1, day), shop, hour)
        for day in range(1, 31)
        for shop in ("a", "a/b", "é x", None)
        for hour in (7, None)
    ]
    folders = ["/".join(partition_folders([c.name for c in columns], row)) for row in rows]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(".")
    file_io = WatchedFileIO(str(tmp_path))
    asked = And(condition, Or(THIRD, AMOUNT)) if has_more else condition
    found = files_below(file_io, str(tmp_path), PartitionFilter.of(columns, asked))
    values = zip(*rows, strict=True)
    table = pa.table(
        [pa.array(v, to_arrow(c.type)) for c, v in zip(columns, values, strict=True)],
        names=["DAY" if "DAY" in condition.columns() else "day", "shop", "hour"],
    ).append_column("folder", pa.array(folders))
    expected = table.filter(condition.to_expression())["folder"].to_pylist()
    assert [file.folder for file in found] == sorted(expected)
    assert len([folder for folder in file_io.listed if folder and "/" not in folder]) == days
    assert len(file_io.listed) <= 1 + days * (1 + 4 + 8)


@pytest.mark.parametrize("condition", [AMOUNT, Or(THIRD, AMOUNT)])
def test_conditions_that_say_nothing_of_partitions(condition: Predicate) -> None:
    assert PartitionFilter.of([DAY], condition) == PartitionFilter()


def test_what_is_no_partition_stays(tmp_path: Path) -> None:
    """It is read, and refused then, as without a condition."""
    for folder in ("day=2026-01-01", "day=2026-01-02", "day=soon", "other/day=2026-01-01", "other"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "file").write_text(".")
    partitions = PartitionFilter.of([DAY], Comparison("day", "=", date(2026, 1, 2)))
    found = files_below(LocalFileIO(str(tmp_path)), str(tmp_path), partitions)
    assert [file.folder for file in found] == ["day=2026-01-02", "day=soon", "other"]


@pytest.mark.object_store
def test_objects_are_listed_by_thousands(tmp_path: Path) -> None:
    root = f"s3://{served_s3.BUCKET}/{tmp_path.name}"
    file_io = ObjectFileIO(root, served_s3.start())
    names = [f"day=2026-01-{n % 2 + 1:02}/shop={quote('a/b', safe='')}/{n}" for n in range(2000)]
    hidden = ["_staging/day=2026-01-01/x", "day=2026-01-01/.x/y", "day=2026-01-02/_SUCCESS"]
    file_io.write_files({f"{root}/{name}": b"." for name in (*names, *hidden)})
    served_s3.REQUESTS.clear()
    assert [file.path for file in files_now(file_io, root)] == sorted(names)
    assert len(served_s3.REQUESTS) == 3
    served_s3.REQUESTS.clear()
    partitions = PartitionFilter.of([DAY, SHOP], Comparison("day", "=", date(2026, 1, 2)))
    found = files_below(file_io, root, partitions)
    assert [file.path for file in found] == sorted(names[1::2])
    # The root, the day, and what is in its one folder.
    assert len(served_s3.REQUESTS) == 3
