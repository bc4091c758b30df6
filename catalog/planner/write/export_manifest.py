"""What an export tells about itself, in a file of its folder that is written last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json

EXPORT_MANIFEST: Final = "_MANIFEST.json"
_VERSION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A data file, by its path below the folder."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportManifest:
    """What was exported, and which files have it.

    Attributes:
        table: its name.
        snapshot_id: of the version; 0 of a table that nothing was ever written to.
        format: `parquet` or `delta`.
        rows: how many there are.
        columns: as JSON of Spark's.
        time_zone: in which the names of folders tell TIMESTAMP values.
        primary_key: of the table.
        partition_keys: the columns that the names of folders tell.
        files: in the order of their paths.
    """

    table: str
    snapshot_id: int
    format: str
    rows: int
    columns: str
    time_zone: str
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    files: tuple[ExportedFile, ...]

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        item = {
            "table": self.table,
            "snapshot": self.snapshot_id,
            "format": self.format,
            "rows": self.rows,
            "columns": json.loads(self.columns),
            "timeZone": self.time_zone,
            "primaryKey": list(self.primary_key),
            "partitionKeys": list(self.partition_keys),
            "files": [{"path": file.path, "bytes": file.size_bytes} for file in self.files],
        }
        return to_checked_json(item, version=_VERSION)

    @staticmethod
    def from_bytes(data: bytes, path: str) -> ExportManifest:
        """Return what the file at `path` holds.

        Raises:
            CorruptFileError: it is damaged, or no manifest.
            FormatVersionError: a newer version of the table store wrote it.
        """
        return from_checked_json(
            data,
            _from_json,
            path=path,
            version=_VERSION,
            noun="manifest of an export",
            remedy="Export again; or delete this file, and Spark guesses the types of partition "
            "columns from the names of folders",
        )


def _from_json(item: dict[str, Any]) -> ExportManifest:
    return ExportManifest(
        table=str(item["table"]),
        snapshot_id=int(item["snapshot"]),
        format=str(item["format"]),
        rows=int(item["rows"]),
        columns=json.dumps(item["columns"]),
        time_zone=str(item["timeZone"]),
        primary_key=tuple(item["primaryKey"]),
        partition_keys=tuple(item["partitionKeys"]),
        files=tuple(
            ExportedFile(path=file["path"], size_bytes=file["bytes"]) for file in item["files"]
        ),
    )
