"""Goal: a claim has one holder at a time, in whatever order the steps of its takers come.

Method: hypothesis chooses which taker does its next file operation. Each taker runs the real code
in a thread of its own, which waits for its turn before every operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Semaphore, Thread
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.file_io import FileStatus
from table_store.storage.kernel.errors import MissingFileError

FOLDER = "/claim"
TAKERS = 3
TRIES = 3


class Steps:
    """Lets one taker at a time do one operation."""

    def __init__(self) -> None:
        self.turns = [Semaphore(0) for _ in range(TAKERS)]
        self.arrived = Semaphore(0)
        self.running = set(range(TAKERS))

    def wait(self, taker: int) -> None:
        self.arrived.release()
        self.turns[taker].acquire()

    def end(self, taker: int) -> None:
        self.running.discard(taker)
        self.arrived.release()

    def let(self, taker: int) -> None:
        self.turns[taker].release()
        self.arrived.acquire()


class SteppedFiles:
    """The operations that a claim needs, of files in memory; each is one step of its taker."""

    def __init__(self, files: dict[str, bytes], steps: Steps, taker: int) -> None:
        self._files = files
        self._steps = steps
        self._taker = taker

    def _wait(self) -> None:
        self._steps.wait(self._taker)

    def list(self, folder: str) -> tuple[FileStatus, ...]:
        self._wait()
        return tuple(
            FileStatus(name=name.rpartition("/")[2], path=name, size=0, modified_ms=0, is_dir=False)
            for name in sorted(self._files)
        )

    def read_bytes(self, path: str) -> bytes:
        self._wait()
        if path not in self._files:
            raise MissingFileError(path=path)
        return self._files[path]

    def write_new(self, path: str, data: bytes) -> bool:
        self._wait()
        if path in self._files:
            return False
        self._files[path] = data
        return True

    def delete(self, path: str) -> None:
        self.delete_files([path])

    def delete_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._wait()
            self._files.pop(path, None)


@settings(max_examples=300)
@given(st.lists(st.integers(0, TAKERS - 1), max_size=120))
def test_only_one_holds_a_claim(order: list[int]) -> None:
    files: dict[str, bytes] = {}
    steps = Steps()
    holders: list[int] = []
    held: list[int] = []
    broken: list[str] = []

    def take_and_give_back(taker: int) -> None:
        file_io: Any = SteppedFiles(files, steps, taker)
        claim = Claim(file_io, FOLDER)
        for _ in range(TRIES):
            latest = claim.latest()
            number = 1 if latest is None else latest.number + 1
            if latest is not None and latest.content.startswith(b"held"):
                continue
            if not claim.add(number, b"held by %d" % taker):
                continue
            holders.append(taker)
            held.append(number)
            if len(holders) > 1:
                broken.append(f"{holders} hold it at once")
            steps.wait(taker)
            holders.remove(taker)
            # Not even this if another one has taken the claim since the file was there.
            claim.add(number + 1, b"free")
        steps.end(taker)

    threads = [Thread(target=take_and_give_back, args=(i,), daemon=True) for i in range(TAKERS)]
    for thread in threads:
        thread.start()
        steps.arrived.acquire()
    for choice in order:
        if choice in steps.running:
            steps.let(choice)
    while steps.running:
        steps.let(min(steps.running))
    for thread in threads:
        thread.join(timeout=10)
    assert broken == []
    assert held
    assert held == sorted(set(held))
