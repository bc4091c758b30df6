"""The query of a table that is kept equal to it, as the table's definition has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.storage.kernel.frozen_map import FrozenMap


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """The query that a materialized view is kept equal to.

    Attributes:
        text: SQL, as the user wrote it.
        current_catalog: in which its names without a catalog are looked for.
        current_namespace: in which its names without a namespace are looked for.
        settings: of Spark, under which the text has its meaning (ANSI mode, time zone, …).
        columns: what its result's columns were called, so that a column which a table gets later
            is no part of a ``*``; none if that is not known.
    """

    text: str
    current_catalog: str
    current_namespace: tuple[str, ...]
    settings: Mapping[str, str]
    columns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the part of a file that `from_json` reads."""
        return {
            "text": self.text,
            "currentCatalog": self.current_catalog,
            "currentNamespace": list(self.current_namespace),
            "settings": dict(self.settings),
            "columns": list(self.columns),
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> StoredQuery:
        """Return what `to_json` made."""
        return cls(
            text=item["text"],
            current_catalog=item["currentCatalog"],
            current_namespace=tuple(item["currentNamespace"]),
            settings=FrozenMap(item["settings"]),
            columns=tuple(item.get("columns", ())),
        )
