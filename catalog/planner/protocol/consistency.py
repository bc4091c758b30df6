"""The request for the snapshots that a statement reads together."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.planner.protocol.handles import TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTogether:
    """Which snapshots the tables of one statement have at one barrier.

    The answer is by the tables' directories; those that are read as they are have none.

    Attributes:
        timestamp_us: if they are read AS OF a time.
    """

    tables: tuple[TableReference, ...]
    timestamp_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedTable:
    """The version with which a table is read, and the barrier for which it was chosen."""

    version: str
    barrier: int
