"""How commits of a statement are named that another statement runs, so that it happens once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from table_store.catalog.tables.write_options import CommitName
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER
from table_store.storage.file_store.table import FileStoreTable

_STATED: Final[ContextVar[tuple[str, CommitName] | None]] = ContextVar("commit name", default=None)


@contextmanager
def stated_commit(path: str, name: CommitName) -> Iterator[None]:
    """Name what this thread commits to the table in a directory."""
    token = _STATED.set((path, name))
    try:
        yield
    finally:
        _STATED.reset(token)


def commit_name(table: FileStoreTable) -> CommitName:
    """Return what was stated for a table, else a name for one statement alone."""
    stated = _STATED.get()
    if stated is not None and stated[0] == table.path:
        return stated[1]
    return CommitName(user=table.ids.unique(), identifier=BATCH_IDENTIFIER)
