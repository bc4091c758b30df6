"""CHECK constraints: conditions that every row of a table satisfies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.kernel.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One constraint; a row breaks it if the condition is false, not if it is NULL.

    Attributes:
        name: unique among the constraints of the table, case aside.
        condition: on the table's columns, which only the layers above can evaluate.
        since: id of the first schema that has it. With the name it says which constraint it is.
        is_verified: whether the rows that were there before it satisfy it, too; false while they
            are looked at, and if whoever did so has died.
    """

    name: str
    condition: StoredExpression
    since: int = 0
    is_verified: bool = True

    def to_json(self) -> dict[str, Json]:
        """Return the form in the schema file."""
        return {
            "name": self.name,
            "condition": self.condition.text,
            "since": self.since,
            "verified": self.is_verified,
            **self.condition.settings_json("settings"),
        }

    @staticmethod
    def from_json(item: Mapping[str, Any]) -> Check:
        """Return the constraint that `to_json` wrote."""
        return Check(
            name=str(item["name"]),
            condition=StoredExpression.from_json(item["condition"], item.get("settings")),
            since=int(item["since"]),
            is_verified=bool(item["verified"]),
        )
