"""Goal: both locks let one holder in at a time, free themselves of dead holders, and time out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.errors import LockTimeoutError
from table_store.catalog.names.lock import CatalogLock, LeaseCatalogLock, LocalCatalogLock
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import FileAccessError

MakeLock = Callable[[int], CatalogLock]


@pytest.fixture(params=["local", "lease"])
def make_lock(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLock:
    folder = str(tmp_path / "locks")

    def local(timeout_ms: int) -> CatalogLock:
        return LocalCatalogLock(folder=folder, clock=SystemClock(), timeout_ms=timeout_ms)

    def lease(timeout_ms: int) -> CatalogLock:
        return LeaseCatalogLock(
            file_io=LocalFileIO(folder), folder=folder, clock=SystemClock(), timeout_ms=timeout_ms
        )

    return local if request.param == "local" else lease


def test_one_at_a_time(make_lock: MakeLock, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def add_one() -> None:
        value = int(counter.read_text())
        counter.write_text(str(value + 1))

    def work() -> None:
        lock = make_lock(60_000)
        for _ in range(10):
            lock.run_with_lock("db", "t", add_one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text() == "40"


def test_the_lock_is_free_after_an_error(make_lock: MakeLock) -> None:
    lock = make_lock(1000)
    with pytest.raises(ZeroDivisionError):
        lock.run_with_lock("db", "t", lambda: 1 // 0)
    assert lock.run_with_lock("db", "t", lambda: "in") == "in"


def test_waiting_ends(make_lock: MakeLock) -> None:
    def second() -> None:
        make_lock(20).run_with_lock("db", "t", lambda: None)

    with pytest.raises(LockTimeoutError, match="20 ms") as caught:
        make_lock(1000).run_with_lock("db", "t", second)
    assert caught.value.retriable


def test_locks_of_different_tables_do_not_meet(make_lock: MakeLock) -> None:
    def other() -> str:
        return make_lock(20).run_with_lock("db", "other", lambda: "in")

    assert make_lock(1000).run_with_lock("db", "t", other) == "in"


@pytest.mark.parametrize(
    ("holder", "until_ms"),
    [
        (replace(identity_of(), start="ended"), 2**60),
        (replace(identity_of(), host="elsewhere"), 0),
    ],
    ids=["dead", "lease over"],
)
def test_a_lease_without_a_living_holder_is_passed_over(
    tmp_path: Path, holder: ProcessIdentity, until_ms: int
) -> None:
    folder = str(tmp_path / "locks")
    file_io = LocalFileIO(folder)
    lock = LeaseCatalogLock(file_io=file_io, folder=folder, clock=SystemClock(), timeout_ms=20)
    entry = {"holder": holder.to_json(), "untilMs": until_ms}
    file_io.write_new(f"{folder}/db@t/{7:012d}", json.dumps(entry).encode())
    assert lock.run_with_lock("db", "t", lambda: "in") == "in"
    assert [status.name for status in file_io.list(f"{folder}/db@t")] == [f"{9:012d}"]


def test_a_lease_of_another_machine_is_respected(tmp_path: Path) -> None:
    folder = str(tmp_path / "locks")
    file_io = LocalFileIO(folder)
    lock = LeaseCatalogLock(file_io=file_io, folder=folder, clock=SystemClock(), timeout_ms=20)
    entry = {"holder": replace(identity_of(), host="elsewhere").to_json(), "untilMs": 2**60}
    file_io.write_new(f"{folder}/db@t/{7:012d}", json.dumps(entry).encode())
    with pytest.raises(LockTimeoutError, match="elsewhere"):
        lock.run_with_lock("db", "t", lambda: None)


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    """As on a full or read-only device: an error for users, before anything is done."""
    in_the_way = tmp_path / "locks"
    in_the_way.touch()
    lock = LocalCatalogLock(folder=str(in_the_way), clock=SystemClock())
    with pytest.raises(FileAccessError, match=rf"Could not lock '{in_the_way}/.*'"):
        lock.run_with_lock("db", "t", lambda: pytest.fail("it ran without the lock"))
