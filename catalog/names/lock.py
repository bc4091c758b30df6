"""Locks that let one process at a time change the names of a warehouse.

A commit needs no lock, because every store can create a file only if it is absent; a change of
names is more than one step.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from table_store.catalog.errors import LockTimeoutError
from table_store.catalog.names.identifier import file_name_of
from table_store.catalog.names.process_identity import (
    Liveness,
    ProcessIdentity,
    identity_of,
    liveness,
)
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import FileAccessError, MissingFileError

LOCK_FOLDER: Final = "_locks"
TIMEOUT_MS: Final = 60_000
LEASE_MS: Final = 120_000

_FIRST_WAIT_MS: Final = 2
_LONGEST_WAIT_MS: Final = 250

_ENTRY_VERSION: Final = 2
_FREE: Final = to_checked_json({"holder": None}, version=_ENTRY_VERSION)
_REMEDY: Final = "Delete it when nobody changes tables of the warehouse"

T = TypeVar("T")


class CatalogLock(Protocol):
    """A lock for each table, shared by all machines that change its name."""

    def run_with_lock(self, database: str, table: str, action: Callable[[], T]) -> T:
        """Return what `action` returns, run while nobody else holds the lock of the table.

        Raises:
            LockTimeoutError: another holder kept it too long; `action` did not run.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCatalogLock:
    """Locks of this machine's kernel on files below `folder`; the lock of a dead process is free.

    They work between threads and between processes, also on NFS from version 4. The empty lock
    files are never deleted: if another process waited for one, two processes would get in.
    """

    folder: str
    clock: Clock
    timeout_ms: int = TIMEOUT_MS

    def run_with_lock(self, database: str, table: str, action: Callable[[], T]) -> T:
        """Return what `action` returns, run while nobody else holds the lock of the table.

        Raises:
            LockTimeoutError: another holder kept it for `timeout_ms`.
            FileAccessError: the file of the lock cannot be made; `action` did not run.
        """
        path = os.path.join(self.folder, _lock_name(database, table))
        handle = _opened(path)
        try:
            for _ in _waits(self.clock, self.timeout_ms):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                return action()
            raise LockTimeoutError(lock=path, holder="a process", waited_ms=self.timeout_ms)
        finally:
            os.close(handle)


def _opened(path: str) -> int:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise FileAccessError(
            path=path,
            operation="lock",
            reason=error.strerror or str(error),
            may_have_happened=False,
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseCatalogLock:
    """Locks made of files alone, for stores that can create one only if it is absent.

    A lock is a sequence of numbered files. The one with the greatest number says who holds the
    lock, or that it is free. Taking and giving back each create the next number, so that only one
    of any number of takers succeeds. A holder that died, or has held the lock for `lease_ms`, is
    ignored, so an action must be much shorter than that.
    """

    file_io: FileIO
    folder: str
    clock: Clock
    timeout_ms: int = TIMEOUT_MS
    lease_ms: int = LEASE_MS

    def run_with_lock(self, database: str, table: str, action: Callable[[], T]) -> T:
        """Return what `action` returns, run while nobody else holds the lock of the table.

        Raises:
            LockTimeoutError: another holder kept it for `timeout_ms`.
        """
        with self._held(join_path(self.folder, _lock_name(database, table))):
            return action()

    @contextmanager
    def _held(self, lock: str) -> Iterator[None]:
        number = self._acquired(lock)
        try:
            yield
        finally:
            # If the lease ran out and another process took the lock, there is nothing to give back.
            if self.file_io.write_new(_entry(lock, number + 1), _FREE):
                self._forget_before(lock, number + 1)

    def _acquired(self, lock: str) -> int:
        holder = "an unknown process"
        for _ in _waits(self.clock, self.timeout_ms):
            last = max(self._numbers(lock), default=0)
            found = self._holder(lock, last)
            if found is not None:
                holder = f"process {found.pid} on {found.host}"
                continue
            if not self.file_io.write_new(_entry(lock, last + 1), self._claim()):
                continue
            # The numbers may be older than those of others who took the lock, gave it back and
            # deleted old files meanwhile.
            if max(self._numbers(lock)) == last + 1:
                return last + 1
            self.file_io.delete(_entry(lock, last + 1))
        raise LockTimeoutError(lock=lock, holder=holder, waited_ms=self.timeout_ms)

    def _claim(self) -> bytes:
        until_ms = self.clock.now_ms() + self.lease_ms
        item = {"holder": identity_of().to_json(), "untilMs": until_ms}
        return to_checked_json(item, version=_ENTRY_VERSION)

    def _holder(self, lock: str, number: int) -> ProcessIdentity | None:
        """Return the process that holds the lock by this entry; None if it is free."""
        if number == 0:
            return None
        path = _entry(lock, number)
        try:
            data = self.file_io.read_bytes(path)
        except MissingFileError:
            return None  # deleted meanwhile, so taking the next number fails or is undone
        holder, until_ms = from_checked_json(
            data, _claim_in, path=path, version=_ENTRY_VERSION, noun="lock", remedy=_REMEDY
        )
        if holder is None or until_ms < self.clock.now_ms():
            return None
        return None if liveness(holder) is Liveness.DEAD else holder

    def _numbers(self, lock: str) -> list[int]:
        entries = self.file_io.list(lock)
        return [int(status.name) for status in entries if status.name.isdecimal()]

    def _forget_before(self, lock: str, number: int) -> None:
        for old in self._numbers(lock):
            if old < number:
                self.file_io.delete(_entry(lock, old))


def lock_of_warehouse(file_io: FileIO, root: str, clock: Clock) -> CatalogLock:
    """Return the lock that all processes of a warehouse share: the kernel's on a local path."""
    folder = join_path(root, LOCK_FOLDER)
    if isinstance(file_io, LocalFileIO):
        return LocalCatalogLock(folder=folder, clock=clock)
    return LeaseCatalogLock(file_io=file_io, folder=folder, clock=clock)


def _claim_in(item: Mapping[str, Any]) -> tuple[ProcessIdentity | None, int]:
    """Return who has the lock, and until when (ms since 1970)."""
    holder = ProcessIdentity.from_json(item["holder"])
    return holder, 0 if holder is None else int(item["untilMs"])


def _entry(lock: str, number: int) -> str:
    return join_path(lock, f"{number:012d}")


def _lock_name(database: str, table: str) -> str:
    # No file name has an `@` in it. Two very long names may share a lock, which only costs time.
    return f"{file_name_of(database)[:100]}@{file_name_of(table)[:100]}"


def _waits(clock: Clock, timeout_ms: int) -> Iterator[None]:
    """Yield for every attempt, waiting longer and longer between them, until the time is up."""
    started_ms, wait_ms = clock.now_ms(), _FIRST_WAIT_MS
    yield
    while clock.now_ms() - started_ms < timeout_ms:
        clock.sleep_ms(wait_ms)
        wait_ms = min(wait_ms * 2, _LONGEST_WAIT_MS)
        yield
