"""The lock that a catalog lends where the store cannot create a file only if it is absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class CatalogLock(Protocol):
    """A lock by table, held over all machines that commit to it.

    Commits stay correct without it wherever `FileIO.write_new` is atomic; then it only saves
    attempts.
    """

    def run_with_lock(self, database: str, table: str, action: Callable[[], Result]) -> Result:
        """Return what `action` returns, run while nobody else holds the table's lock."""
        ...


class TableLock:
    """A `CatalogLock` bound to one table."""

    def __init__(self, lock: CatalogLock, *, database: str, table: str) -> None:
        self._lock = lock
        self._database = database
        self._table = table

    def run(self, action: Callable[[], Result]) -> Result:
        """Return what `action` returns, run under the lock."""
        return self._lock.run_with_lock(self._database, self._table, action)
