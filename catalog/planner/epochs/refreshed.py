"""What an epoch has done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What an epoch did; see `REFRESH MATERIALIZED VIEW` in docs/sql.md.

    Attributes:
        snapshot: of the sink, with the rows of the barrier; 0 if it has none.
        diverged: which commits without change tracking do not show in the sink; None if all do.
        rows_late: rows that came into windows that were closed already.
        rows_absent: deletes that found no row in a table without key; others had taken it.
    """

    view: str
    barrier: int
    rule: str
    reason: str
    rows_read: int
    rows_changed: int
    milliseconds: int
    snapshot: int
    rows_absent: int = 0
    rows_late: int = 0
    diverged: str | None = None
