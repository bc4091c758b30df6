"""The one form of an error on its way to who asked."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.storage.kernel.errors import TableStoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error of ours: a stable condition, its whole text, and the SQLSTATE."""

    condition: str
    message: str
    sql_state: str

    @classmethod
    def of(cls, error: TableStoreError) -> Failure:
        """Return an error as it is told."""
        return cls(condition=error.condition, message=str(error), sql_state=error.sql_state)
