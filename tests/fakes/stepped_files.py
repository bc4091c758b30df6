"""Threads that do their file operations one at a time, in an order that the test chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Semaphore, Thread

from table_store.storage.kernel.errors import MissingFileError


class Steps:
    """Lets one taker at a time do one operation."""

    def __init__(self, takers: int) -> None:
        self.turns = [Semaphore(0) for _ in range(takers)]
        self.arrived = Semaphore(0)
        self.running = set(range(takers))

    def wait(self, taker: int) -> None:
        self.arrived.release()
        self.turns[taker].acquire()

    def end(self, taker: int) -> None:
        self.running.discard(taker)
        self.arrived.release()

    def let(self, taker: int) -> None:
        self.turns[taker].release()
        self.arrived.acquire()

    def run(self, actions: Sequence[Callable[[int], object]], order: Sequence[int]) -> None:
        """Run an action for each taker, which go on in this order and then one after the other."""

        def run_one(taker: int) -> None:
            try:
                actions[taker](taker)
            finally:
                self.end(taker)

        threads = [Thread(target=run_one, args=(i,), daemon=True) for i in range(len(actions))]
        for thread in threads:
            thread.start()
            self.arrived.acquire()
        for choice in order:
            if choice in self.running:
                self.let(choice)
        while self.running:
            self.let(min(self.running))
        for thread in threads:
            thread.join(timeout=10)


class SteppedFiles:
    """Some operations on files of one folder in memory; each is one step of its taker."""

    def __init__(self, files: dict[str, bytes], steps: Steps, taker: int) -> None:
        self._files = files
        self._steps = steps
        self._taker = taker

    def _wait(self) -> None:
        self._steps.wait(self._taker)

    def names(self, folder: str) -> tuple[str, ...]:
        self._wait()
        return tuple(name.rpartition("/")[2] for name in sorted(self._files))

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

    def write_bytes(self, path: str, data: bytes) -> None:
        self._wait()
        self._files[path] = data

    def exists(self, path: str) -> bool:
        self._wait()
        return path in self._files

    def delete(self, path: str) -> None:
        self.delete_files([path])

    def delete_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._wait()
            self._files.pop(path, None)
