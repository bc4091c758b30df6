"""Changes of a table as the JVM is told of them: columns, and a handle that pins the range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.storage.file_store.changes.change_labels import LABELS
from table_store.storage.file_store.changes.change_range import ChangeRange
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.changes.change_split import ChangeMode, Deduplication
from table_store.storage.file_store.model.errors import ChangesNotAvailableError
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.arrow_types import from_arrow


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogHandle:
    """What comes back with every request about the changes.

    `unavailable` says (what, what there is instead) where the history does not reach the range:
    that refuses a query, but not a stream that began with it and is far beyond.
    """

    path: str
    schema_id: int
    range: ChangeRange
    mode: ChangeMode
    labels: tuple[str, ...]
    has_start: bool = False
    has_end: bool = False
    unavailable: tuple[str, str] | None = None

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
                "hasStart": self.has_start,
                "hasEnd": self.has_end,
                "unavailable": self.unavailable,
            },
        }

    @classmethod
    def from_json(cls, handle: Mapping[str, Any]) -> ChangelogHandle:
        """Return the handle that a request carries."""
        changes = handle["changes"]
        given = changes["unavailable"]
        return cls(
            path=handle["path"],
            schema_id=handle["schema"],
            range=ChangeRange(first_id=changes["first"], last_id=changes["last"]),
            mode=ChangeMode(
                deduplication=Deduplication(changes["deduplication"]),
                computes_updates=changes["computesUpdates"],
            ),
            labels=tuple(changes["labels"]),
            has_start=changes["hasStart"],
            has_end=changes["hasEnd"],
            unavailable=None if given is None else (given[0], given[1]),
        )

    def check_available(self, table: str) -> None:
        """Return quietly if the range can be read from its start.

        Raises:
            ChangesNotAvailableError: it cannot.
        """
        if self.unavailable is not None:
            asked, available = self.unavailable
            raise ChangesNotAvailableError(table=table, asked=asked, available=available)


def describe_changes(
    scan: ChangeScan,
    *,
    name: str,
    path: str,
    has_start: bool = False,
    has_end: bool = False,
    unavailable: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """What the JVM is told of the changes that `scan` reads, with its columns."""
    handle = ChangelogHandle(
        path=path,
        schema_id=scan.schema.id,
        range=scan.range,
        mode=scan.mode,
        labels=scan.labels,
        has_start=has_start,
        has_end=has_end,
        unavailable=unavailable,
    )
    columns = [
        Field(id=i, name=n, type=from_arrow(LABELS[n]), nullable=False)
        if n in scan.labels
        else scan.schema.field_named(n)
        for i, n in enumerate(scan.columns)
    ]
    return {"name": name, "columns": columns_to_spark(columns), "handle": handle.to_json()}
