"""What integration tests share: one running stock shell for each test module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.stock_shell import StockShell

# Dozens of JVMs that live for a minute: compiling their code well would cost more than it saves
# (149 s of CPU for two modules of shells, 90 s so).
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="module")
def shell_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the module's shell runs; its warehouse is there."""
    return tmp_path_factory.mktemp("shell")


@pytest.fixture(scope="module")
def shell(shell_folder: Path) -> Iterator[StockShell]:
    """A stock `spark-sql` as `table-store setup` leaves it, without flags."""
    with StockShell(shell_folder) as running:
        yield running
