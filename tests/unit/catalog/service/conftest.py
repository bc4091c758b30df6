"""A service over a warehouse that plain Python has written, asked without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.service.application import application_of
from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.fakes.written_topology import WrittenTopology
from tests.unit.catalog.conftest import CountedIds, SteppingClock

ADDRESS = "http://127.0.0.1:8188"
TOKEN = "a-token-that-is-long-enough"


class Service:
    """A service and who asks it."""

    def __init__(self, written: WrittenTopology, **settings: Any) -> None:
        self.written = written
        application = application_of(written.warehouse, **settings)
        self.client = TestClient(application, base_url=ADDRESS)

    def told(self, path: str, **parameters: Any) -> dict[str, Any]:
        """What a path answers that must answer."""
        response = self.client.get(path, params=parameters)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def refused(self, path: str, **parameters: Any) -> tuple[int, str, str]:
        """The status, condition and message of a path that must not answer."""
        response = self.client.get(path, params=parameters)
        error = response.json()["error"]
        return response.status_code, error["condition"], error["message"]


def written_in(folder: Path) -> WrittenTopology:
    """`a` and `b` follow `r`, `c` follows both; at barrier 20 only `a` has come, and `b` fails."""
    # Ahead of this machine's clock, by which tables are written: all of them are old.
    clock = SteppingClock(time_ms=4_000_000_000_000)
    root = str(folder / "warehouse")
    made = WrittenTopology(Warehouse(LocalFileIO(root), root, clock, CountedIds()))
    made.write("r")
    first = made.cut(10, "r")
    made.epoch("a", first, r=1)
    made.told("a", first, ended_ms=110, took_ms=40)
    made.epoch("b", first, r=1)
    made.told("b", first, ended_ms=130, took_ms=100)
    made.epoch("c", first, a=1, b=1)
    made.told("c", first, ended_ms=200, took_ms=50)
    made.state("c", "INSERT INTO c SELECT x.n + 1 FROM a x JOIN b ON x.n = b.n")
    made.write("r")
    second = made.cut(20, "r")
    made.epoch("a", second, r=2)
    made.told("a", second, ended_ms=clock.now_ms(), took_ms=7)
    made.told("b", second, ended_ms=clock.now_ms(), took_ms=3, error="[X] out of space")
    return made


@pytest.fixture
def written(tmp_path: Path) -> WrittenTopology:
    """A topology of the test's own."""
    return written_in(tmp_path)


@pytest.fixture(scope="session")
def only_read(tmp_path_factory: pytest.TempPathFactory) -> WrittenTopology:
    """One that nobody changes."""
    return written_in(tmp_path_factory.mktemp("topology"))


@pytest.fixture(scope="session")
def service(only_read: WrittenTopology) -> Service:
    return Service(only_read)
