"""Errors about tables whose rows are those of a database."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError

_ANEW = (
    "To begin anew, drop the source, create it again, and run the INSERT with another "
    "'pipeline.name': with 'scan.startup.mode' = 'initial' it takes the rows that are there then; "
    "delete before what its table has"
)


class SourceUnavailableError(TableStoreError):
    """The database does not answer."""

    condition = "TABLE_STORE_SOURCE_UNAVAILABLE"
    sql_state = "08001"
    retriable = True

    def __init__(self, *, server: str, reason: str) -> None:
        self.server = server
        self.reason = reason
        super().__init__(
            f"The database at {server} does not answer: {reason}. Check that it runs, and that "
            "'hostname' and 'port' of the table are right. Jobs that read it wait, and go on by "
            "themselves."
        )


class SourceBusyError(TableStoreError):
    """Others hold what is needed to follow a table."""

    condition = "TABLE_STORE_SOURCE_BUSY"
    sql_state = "55006"
    retriable = True

    def __init__(self, *, table: str, reason: str, remedy: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(
            f"The changes of {table} cannot be read yet: {reason}. {remedy}; jobs wait meanwhile, "
            "and go on by themselves."
        )


class SourceRefusedError(TableStoreError):
    """The database answered, and refuses."""

    condition = "TABLE_STORE_SOURCE_REFUSED"
    sql_state = "42501"

    def __init__(self, *, server: str, user: str, reason: str, rights: str) -> None:
        self.server = server
        self.user = user
        self.reason = reason
        super().__init__(
            f"The database at {server} refuses what the user {user!r} asks for: {reason}. Check "
            f"'username' and 'password' of the table; the user needs {rights}."
        )


class SourceTableNotFoundError(TableStoreError):
    """The table that is read is not there."""

    condition = "TABLE_STORE_SOURCE_TABLE_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, table: str, server: str, options: str) -> None:
        self.table = table
        self.server = server
        super().__init__(
            f"There is no table {table} at {server}, or the user may not read it. Create it, grant "
            f"SELECT on it, or create the source with the right {options}."
        )


class SourceTableError(TableStoreError):
    """The definition of the table that is read is not one that can be followed."""

    condition = "TABLE_STORE_SOURCE_TABLE_UNSUITABLE"
    sql_state = "0A000"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(f"The table {table} cannot be read as it is declared: {reason}.")


class SourceServerError(TableStoreError):
    """The settings of the database are not such that its changes can be followed."""

    condition = "TABLE_STORE_SOURCE_SERVER_UNSUITABLE"
    sql_state = "55000"

    def __init__(self, *, server: str, reason: str, remedy: str) -> None:
        self.server = server
        self.reason = reason
        super().__init__(
            f"The changes of the database at {server} cannot be read: {reason}. {remedy}."
        )


class SourceTableChangedError(TableStoreError):
    """The table, or the log of its changes, is not the one that has been read so far."""

    condition = "TABLE_STORE_SOURCE_TABLE_CHANGED"
    sql_state = "55000"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(
            f"The changes of {table} cannot be followed any further: {reason}. {_ANEW}."
        )


class SourceChangesGoneError(TableStoreError):
    """The database has deleted changes that are still to be read."""

    condition = "TABLE_STORE_SOURCE_CHANGES_GONE"
    sql_state = "55000"

    def __init__(self, *, table: str, position: str, reason: str, remedy: str) -> None:
        self.table = table
        self.position = position
        super().__init__(
            f"The changes of {table} from {position} on are gone before they were read: {reason}. "
            f"{_ANEW}. {remedy}."
        )
