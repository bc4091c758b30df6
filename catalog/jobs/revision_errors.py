"""Errors of CALL sys.revise."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError


class RevisionError(TableStoreError):
    """A table cannot be revised as it is asked for; nothing has changed."""

    condition = "TABLE_STORE_REVISION"
    sql_state = "55000"

    def __init__(self, *, table: str, reason: str, remedy: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(
            f"{table} cannot be revised: {reason}. Nothing has been changed. {remedy}."
        )


class RevisionOpenError(TableStoreError):
    """A revision of tables is under way, or was left on the way."""

    condition = "TABLE_STORE_REVISION_OPEN"
    sql_state = "55006"
    retriable = True

    def __init__(self, *, table: str, is_alive: bool) -> None:
        self.table = table
        self.is_alive = is_alive
        how = "is under way" if is_alive else "has not come to its end"
        remedy = "Wait until it has ended" if is_alive else "Run the same CALL sys.revise again"
        super().__init__(
            f"A revision of {table} {how}, and what it brings anew waits for it. {remedy}."
        )


class RevisionIncompleteError(TableStoreError):
    """A table was corrected, and a job that stands on it failed to follow."""

    condition = "TABLE_STORE_REVISION_INCOMPLETE"
    sql_state = "55000"

    def __init__(self, *, table: str, job: str, reason: str, again: str) -> None:
        self.table = table
        self.job = job
        super().__init__(
            f"{table} has been corrected, and {job} has not followed: {reason}. It holds back "
            f"readers with RepeatableRead. Mend what it names; {again}."
        )
