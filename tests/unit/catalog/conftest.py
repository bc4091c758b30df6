"""A warehouse in a temporary folder, with a clock and ids that the test can foretell."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO


@dataclass
class SteppingClock:
    """Moves by a millisecond at every look, and by what is slept."""

    time_ms: int = 1_700_000_000_000
    slept_ms: int = 0

    def now_ms(self) -> int:
        self.time_ms += 1
        return self.time_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.time_ms += duration_ms
        self.slept_ms += duration_ms


@dataclass
class CountedIds:
    """Counts: id-1, id-2 and so on."""

    prefix: str = "id"
    count: int = field(default=0)

    def unique(self) -> str:
        self.count += 1
        return f"{self.prefix}-{self.count}"


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def warehouse(tmp_path: Path, clock: SteppingClock) -> Warehouse:
    root = str(tmp_path / "warehouse")
    return Warehouse(LocalFileIO(root), root, clock, CountedIds())
