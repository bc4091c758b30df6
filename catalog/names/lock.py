"""Locks that let one process at a time change the names of a warehouse.

A commit needs no lock, because every store can create a file only if it is absent; a change of
names is more than one step.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
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
from table_store.storage.file_io.claim import Claim, ClaimEntry
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import FileAccessError

LOCK_FOLDER: Final = "_locks"
LOCK_OF_NAMES: Final = ("_warehouse", "_names")
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

    A lock is a `Claim` whose latest entry says who holds the lock, or that it is free. A holder
    that died, or has held the lock for `lease_ms`, is ignored, so an action must be much shorter
    than that.
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
        lock = Claim(self.file_io, join_path(self.folder, _lock_name(database, table)))
        number = self._acquired(lock)
        try:
            return action()
        finally:
            # If the lease ran out and another process took the lock, this adds nothing.
            lock.add(number + 1, _FREE)

    def _acquired(self, lock: Claim) -> int:
        """Take the lock; return the number of the entry that says so."""
        holder = "an unknown process"
        for _ in _waits(self.clock, self.timeout_ms):
            latest = lock.latest()
            found = None if latest is None else self._holder(latest)
            if found is not None:
                holder = f"process {found.pid} on {found.host}"
                continue
            number = 1 if latest is None else latest.number + 1
            if lock.add(number, self._claim()):
                return number
        raise LockTimeoutError(lock=lock.folder, holder=holder, waited_ms=self.timeout_ms)

    def _claim(self) -> bytes:
        until_ms = self.clock.now_ms() + self.lease_ms
        item = {"holder": identity_of().to_json(), "untilMs": until_ms}
        return to_checked_json(item, version=_ENTRY_VERSION)

    def _holder(self, entry: ClaimEntry) -> ProcessIdentity | None:
        """Return the process that holds the lock by this entry; None if it is free."""
        holder, until_ms = from_checked_json(
            entry.content,
            _claim_in,
            path=entry.path,
            version=_ENTRY_VERSION,
            noun="lock",
            remedy=_REMEDY,
        )
        if holder is None or until_ms < self.clock.now_ms():
            return None
        return None if liveness(holder) is Liveness.DEAD else holder


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
