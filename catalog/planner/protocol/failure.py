"""The form in which every error is sent to the requester."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.storage.kernel.errors import TableStoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A `TableStoreError`: its stable condition, its whole text, and the SQLSTATE."""

    condition: str
    message: str
    sql_state: str

    @classmethod
    def of(cls, error: TableStoreError) -> Failure:
        """Return the form in which `error` is sent."""
        return cls(condition=error.condition, message=str(error), sql_state=error.sql_state)
