"""What integration tests share: one running stock shell for each test module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell


@pytest.fixture(scope="module")
def shell_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the module's shell runs; its warehouse is there."""
    return tmp_path_factory.mktemp("shell")


@pytest.fixture(scope="module")
def shell(shell_folder: Path) -> Iterator[StockShell]:
    """A stock `spark-sql` as `table-store setup` leaves it, without flags."""
    with StockShell(shell_folder) as running:
        yield running
