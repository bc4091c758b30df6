"""Errors about tables whose rows come from elsewhere."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError


class UnboundedSourceError(TableStoreError):
    """A statement would read all rows of a table to which rows come without end."""

    condition = "TABLE_STORE_UNBOUNDED_SOURCE"
    sql_state = "0A000"

    def __init__(self, *, table: str, connector: str, bound: str) -> None:
        self.table = table
        super().__init__(
            f"Rows of {table} come from the connector {connector!r} without end, so a batch "
            "statement that reads all of them would not end. SET 'execution.runtime-mode' = "
            "'streaming' for an INSERT that goes on, read some of them with (SELECT … FROM "
            f"{table} LIMIT 100), or create the table with {bound!r}."
        )


class ExternalTableError(TableStoreError):
    """A table whose rows come from elsewhere cannot do what a statement asks of it."""

    condition = "TABLE_STORE_EXTERNAL_TABLE"
    sql_state = "0A000"

    def __init__(self, *, table: str, connector: str, operation: str, remedy: str) -> None:
        self.table = table
        self.operation = operation
        super().__init__(
            f"{operation} does not work on {table}, whose rows the connector {connector!r} makes. "
            f"{remedy}."
        )
