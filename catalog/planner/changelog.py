"""Changes of a table as the JVM is told of them: columns, and a handle that pins the range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.catalog.table_definition import columns_to_spark
from table_store.storage.file_store.change_labels import LABELS
from table_store.storage.file_store.change_range import ChangeRange
from table_store.storage.file_store.change_scan import ChangeScan
from table_store.storage.file_store.change_split import ChangeMode, Deduplication
from table_store.storage.file_store.schema import Field
from table_store.storage.kernel.arrow_types import from_arrow


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogHandle:
    """What comes back with every request about the changes."""

    path: str
    schema_id: int
    range: ChangeRange
    mode: ChangeMode
    labels: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the handle of the JVM's object; `from_json` is its inverse."""
        return {
            "path": self.path,
            "schema": self.schema_id,
            "changes": {
                "first": self.range.first_id,
                "last": self.range.last_id,
                "deduplication": self.mode.deduplication.value,
                "computesUpdates": self.mode.computes_updates,
                "labels": list(self.labels),
            },
        }

    @classmethod
    def from_json(cls, handle: Mapping[str, Any]) -> ChangelogHandle:
        """Return the handle that a request carries."""
        changes = handle["changes"]
        return cls(
            path=handle["path"],
            schema_id=handle["schema"],
            range=ChangeRange(first_id=changes["first"], last_id=changes["last"]),
            mode=ChangeMode(
                deduplication=Deduplication(changes["deduplication"]),
                computes_updates=changes["computesUpdates"],
            ),
            labels=tuple(changes["labels"]),
        )


def describe_changes(scan: ChangeScan, *, name: str, path: str) -> dict[str, Any]:
    """What the JVM is told of the changes that `scan` reads, with its columns."""
    handle = ChangelogHandle(
        path=path,
        schema_id=scan.schema.id,
        range=scan.range,
        mode=scan.mode,
        labels=scan.labels,
    )
    columns = [
        Field(id=i, name=n, type=from_arrow(LABELS[n]), nullable=False)
        if n in scan.labels
        else scan.schema.field_named(n)
        for i, n in enumerate(scan.columns)
    ]
    return {"name": name, "columns": columns_to_spark(columns), "handle": handle.to_json()}
