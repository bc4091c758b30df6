"""Opens a table so that its log hears of every commit: every program opens tables like this."""

from __future__ import annotations

from dataclasses import replace

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.resolve import file_io_for, named_path
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener


def open_logged(path: str, file_io: FileIO | None = None) -> FileStoreTable:
    """Return the table at a path; its log hears of its commits and expiries.

    Raises:
        NotFoundError: there is none.
        MissingFileError: its definition is lost.
    """
    table = known_table(path, file_io)
    table.schema_store.latest_id()
    return table


def known_table(path: str, file_io: FileIO | None = None) -> FileStoreTable:
    """Return the table at a path as `open_logged` does, without a look whether there is one.

    The first read of its schema tells.
    """
    table = FileStoreTable(file_io or file_io_for(path), named_path(path))
    return replace(table, listener=LogListener(table))
