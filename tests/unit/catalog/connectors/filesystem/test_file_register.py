"""Goal: the list of files that a table has taken only grows, in few pages, whoever reads it late.

Oracle: a list.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from table_store.catalog.connectors.filesystem.file_register import FileRegister
from table_store.catalog.connectors.filesystem.taken_file import TakenFile
from table_store.catalog.connectors.positions.position import FileList, Position
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.kernel.ids import RandomIds


def register(folder: Path) -> FileRegister:
    return FileRegister(LocalFileIO(str(folder)), str(folder), RandomIds())


def some(first: int, count: int) -> list[TakenFile]:
    return [TakenFile(f"day=1/{n}", n, 7) for n in range(first, first + count)]


def test_the_list_grows_in_few_pages(tmp_path: Path) -> None:
    chance = random.Random(1)
    files = register(tmp_path)
    taken, expected = FileList(), list[TakenFile]()
    lists = []
    for _ in range(300):
        new = some(len(expected), chance.choice((1, 1, 1, 2, 40)))
        lists.append((taken, list(expected)))
        taken = files.extended(taken, new)
        expected += new
        assert files.files(taken) == expected
        assert taken.rows == sum(file.weight for file in expected)
        # Who reads the list of a little while before finds it.
        for earlier, known in lists[-3:]:
            assert files.files(earlier) == known
    assert len(taken.pages) <= 12
    assert len(list((tmp_path / "files").iterdir())) <= len(taken.pages) + 8
    position = Position(rows=taken.rows, at_ms=5, files=taken)
    assert Position.from_bytes(position.to_bytes(), path="p") == position


def test_who_was_slower_harms_nobody(tmp_path: Path) -> None:
    """Lists that follow the same one, of which one is published; the others are forgotten."""
    chance = random.Random(2)
    files = register(tmp_path)
    taken, expected = FileList(), list[TakenFile]()
    for _ in range(100):
        following = []
        for _ in range(3):
            new = some(len(expected), chance.randint(1, 9))
            following.append((files.extended(taken, new), new))
        taken, new = chance.choice(following)
        expected += new
        assert register(tmp_path).files(taken) == expected


def test_a_list_of_long_ago_is_gone(tmp_path: Path) -> None:
    files = register(tmp_path)
    first = taken = files.extended(FileList(), some(0, 1))
    for number in range(1, 40):
        taken = files.extended(taken, some(number, 1))
    fresh = FileRegister(LocalFileIO(str(tmp_path)), f"{tmp_path}/./", RandomIds())
    with pytest.raises(MissingFileError):
        fresh.files(first)
