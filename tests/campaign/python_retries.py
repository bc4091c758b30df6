"""Commits whose outcome is not known are tried again by the program: their rows are there once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import CommitStateUnknownError
from table_store.storage.kernel.errors import FileAccessError
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.failing_file_io import FailingFileIO, Fault

_COMMITS: Final = 12


class Outage(FailingFileIO):
    """Storage is away from the creation of a snapshot on, until the outage ends."""

    takes_effect = False
    """Whether that snapshot is published."""

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        if "/snapshot/" in path and self.takes_effect:
            self._inner.write_new(path, data, private=private)
        return super().write_new(path, data, private=private)


@dataclass
class Retries:
    """A table without key, and the values that its rows must have."""

    table: Table
    dice: random.Random
    wanted: Counter[int]
    number: int = 0
    unknown: int = 0

    def commit(self) -> None:
        """Commit some rows, by as many tries as it takes."""
        self.number += 1
        rows = pa.table({"id": [self.number] * self.dice.randrange(1, 4)})
        with self.table.writer() as writer:
            writer.write(rows)
            messages = writer.prepare_commit()
        while not self._is_known(messages):
            self.unknown += 1
            if self.dice.random() < 0.4:  # another program commits between two tries
                self.wanted[0] += 1
                self.table.append(pa.table({"id": [0]}))
            if self.dice.random() < 0.2:
                self.table.compact()
        self.wanted[self.number] += rows.num_rows
        found = Counter(self.table.scan().to_arrow()["id"].to_pylist())
        assert found == self.wanted, f"commit {self.number}: {found - self.wanted} too many"

    def _is_known(self, messages: tuple[CommitMessage, ...]) -> bool:
        storage = self.table.storage
        if self.dice.random() < 0.4:
            self.table.commit(messages)
            return True
        away = Outage(storage.file_io, fault=Fault.ERROR_FOREVER, fail_in="/snapshot/")
        away.takes_effect = self.dice.random() < 0.6
        try:
            replace(self.table, storage=replace(storage, file_io=away)).commit(messages)
        except (CommitStateUnknownError, FileAccessError):
            return False
        return True


def run_case(case: Case) -> Counts:
    """Commit to one table while its storage is away now and then."""
    described = TableDescriptor.for_managed().column("id", "BIGINT")
    table = connect(str(case.folder)).create("t", described.option("commit.max-retries", "0"))
    retries = Retries(table, case.random(), Counter())
    for _ in range(_COMMITS):
        retries.commit()
    return {"commits": _COMMITS, "unknown outcomes": retries.unknown}


PYTHON_RETRIES: Final = Technique(
    name="python-retries",
    goal="a commit that is tried again after an unknown outcome has its rows once",
    suite_cases=4,
    release_cases=5_000,
    run_case=run_case,
)
