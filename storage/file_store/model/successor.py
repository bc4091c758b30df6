"""The table that is to take, or has taken, a table's place, with the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.storage.kernel.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """While a table has one, nobody commits rows to it.

    Attributes:
        location: the directory of the other table, a path or URI.
        snapshot_id: whose rows the other table has; 0 for a table without snapshot.
        claim: with which the catalog gives the other table this one's name; the storage does not
            read it.
    """

    location: str
    snapshot_id: int
    claim: str

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
            snapshot_id=int(item["snapshot"]),
            claim=str(item["claim"]),
        )
