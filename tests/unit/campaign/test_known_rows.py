"""Rows that a campaign remembers are read again once a file of theirs is another, or gone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from table_store.storage.kernel.errors import TableStoreError
from tests.campaign.history import Step
from tests.campaign.local_table import LocalTable
from tests.campaign.scenario import OPERATIONS, Scenario


@pytest.fixture
def table(tmp_path: Path) -> LocalTable:
    """A copy of a table whose rows are all known."""
    scenario = Scenario.make(OPERATIONS[1], tmp_path, random.Random(1))
    return scenario.copy(tmp_path / "copy")


def test_known_rows_are_those_that_are_read(table: LocalTable) -> None:
    known = table.anew().states()
    assert known == LocalTable(table.path).states()
    step = Step(kind="append", user="me", rows=((3, 4),))
    latest = table.do(step)
    assert latest is not None
    assert table.anew().states() == LocalTable(table.path).states() != known
    assert table.anew().states()[latest][3, 4] == 1


@pytest.mark.parametrize("folder", ["bucket-0", "manifest"])
def test_a_lost_file_is_missed(table: LocalTable, folder: str) -> None:
    for file in (table.path / folder).iterdir():
        if "left-over" not in file.name:
            data, stat = file.read_bytes(), file.stat()
            file.unlink()
            with pytest.raises(TableStoreError):
                table.anew().states()
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            assert file.stat().st_mtime_ns != stat.st_mtime_ns
            with pytest.raises(TableStoreError):
                table.anew().states()
            file.write_bytes(data)
    table.anew().states()
