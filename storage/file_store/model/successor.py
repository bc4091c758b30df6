"""The table that is to take, or has taken, a table's place, with the same rows or others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.storage.kernel.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """While a table has one, nobody commits rows to it.

    Where the other table has none of its rows, those are committed that were written before, as if
    the other table had come later.

    Attributes:
        location: the directory of the other table, a path or URI.
        snapshot_id: whose rows the other table has, 0 for a table without snapshot; None: it has
            none of the rows (REPLACE TABLE).
        claim: with which the catalog gives the other table this one's name, None where that needs
            none; the storage does not read it.
    """

    location: str
    snapshot_id: int | None = None
    claim: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the form in the schema file."""
        return {
            "location": self.location,
            "snapshot": self.snapshot_id,
            "claim": self.claim,
        }

    @staticmethod
    def from_json(item: Mapping[str, Any]) -> Successor:
        """Return the value that `to_json` wrote."""
        return Successor(
            location=str(item["location"]),
            snapshot_id=None if item["snapshot"] is None else int(item["snapshot"]),
            claim=None if item["claim"] is None else str(item["claim"]),
        )
