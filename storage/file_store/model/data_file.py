"""What the table knows about one data file, and what a writer hands to the commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.values import Value, value_from_json, value_to_json

SEQUENCE_COLUMN: Final = "_SEQUENCE_NUMBER"
KIND_COLUMN: Final = "_VALUE_KIND"

KIND_ADD: Final = 0
"""Value of `_VALUE_KIND` on disk: the row is added."""

KIND_DELETE: Final = 1
"""Value of `_VALUE_KIND` on disk: the row of this key (without key: one equal row) is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """Bounds of one column in one file; deleted rows count too.

    `min` and `max` are None if all values are NULL or the bounds are not known. `exact` says that
    both values occur in the file; otherwise they are only bounds, because long strings are
    shortened. A NaN is greater than all other numbers, as in Spark.
    """

    min: Value
    max: Value
    null_count: int
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One immutable data file of one bucket.

    `key_min` and `key_max` are exact; None for tables without key. `delete_count` counts rows
    whose kind is delete. `checksum` is the CRC-32 of the whole file.
    The absolute sequence number of a row is its stored `_SEQUENCE_NUMBER` + `sequence_offset`;
    `min_sequence` and `max_sequence` are relative until the commit, then absolute.
    """

    name: str
    partition: tuple[Value, ...]
    bucket: int
    level: int
    schema_id: int
    row_count: int
    delete_count: int
    size_bytes: int
    key_min: tuple[Value, ...] | None
    key_max: tuple[Value, ...] | None
    min_sequence: int
    max_sequence: int
    sequence_offset: int = 0
    stats: Mapping[int, ColumnStats] = field(default_factory=FrozenMap)
    checksum: int
    created_ms: int
    format: str = "parquet"

    def __post_init__(self) -> None:
        if not isinstance(self.stats, FrozenMap):
            object.__setattr__(self, "stats", FrozenMap(self.stats))

    def shifted(self, offset: int) -> DataFile:
        """Return the file with all its sequence numbers raised by `offset`."""
        return replace(
            self,
            min_sequence=self.min_sequence + offset,
            max_sequence=self.max_sequence + offset,
            sequence_offset=self.sequence_offset + offset,
        )

    def to_json(self) -> dict[str, object]:
        """Return a mapping for `json.dumps`; `from_json` is its inverse."""
        return {
            "name": self.name,
            "partition": [value_to_json(v) for v in self.partition],
            "bucket": self.bucket,
            "level": self.level,
            "schemaId": self.schema_id,
            "rowCount": self.row_count,
            "deleteCount": self.delete_count,
            "sizeBytes": self.size_bytes,
            "keyMin": None if self.key_min is None else [value_to_json(v) for v in self.key_min],
            "keyMax": None if self.key_max is None else [value_to_json(v) for v in self.key_max],
            "minSequence": self.min_sequence,
            "maxSequence": self.max_sequence,
            "sequenceOffset": self.sequence_offset,
            "stats": {
                str(field_id): [
                    value_to_json(s.min),
                    value_to_json(s.max),
                    s.null_count,
                    s.exact,
                ]
                for field_id, s in self.stats.items()
            },
            "checksum": self.checksum,
            "createdMs": self.created_ms,
            "format": self.format,
        }

    @classmethod
    def from_json(cls, item: Mapping[str, object]) -> DataFile:
        """Return the file that `to_json` described.

        Raises:
            TableStoreError: a field is absent or has the wrong type.
        """
        try:
            return cls(
                name=_text(item["name"]),
                partition=_values(item["partition"]),
                bucket=_number(item["bucket"]),
                level=_number(item["level"]),
                schema_id=_number(item["schemaId"]),
                row_count=_number(item["rowCount"]),
                delete_count=_number(item["deleteCount"]),
                size_bytes=_number(item["sizeBytes"]),
                key_min=None if item["keyMin"] is None else _values(item["keyMin"]),
                key_max=None if item["keyMax"] is None else _values(item["keyMax"]),
                min_sequence=_number(item["minSequence"]),
                max_sequence=_number(item["maxSequence"]),
                sequence_offset=_number(item["sequenceOffset"]),
                stats=_stats(item["stats"]),
                checksum=_number(item["checksum"]),
                created_ms=_number(item["createdMs"]),
                format=_text(item["format"]),
            )
        except KeyError as error:
            raise TableStoreError(f"A data file without its field {error}.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """What one writer, or one compaction, changed in one bucket; nothing is visible yet.

    `since_snapshot_id` was the latest snapshot (0: none) when the message was made, if the writer
    looked: an earlier commit of the message is a later snapshot.
    """

    partition: tuple[Value, ...]
    bucket: int
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    since_snapshot_id: int | None = None

    def to_json(self) -> str:
        """Return one line of JSON; `from_json` is its inverse."""
        return json.dumps(
            {
                "partition": [value_to_json(v) for v in self.partition],
                "bucket": self.bucket,
                "added": [f.to_json() for f in self.added],
                "removed": [f.to_json() for f in self.removed],
                "since": self.since_snapshot_id,
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> CommitMessage:
        """Return the message that `to_json` wrote.

        Raises:
            TableStoreError: `text` is not such a message.
        """
        try:
            item = json.loads(text)
            return cls(
                partition=_values(item["partition"]),
                bucket=_number(item["bucket"]),
                added=tuple(DataFile.from_json(f) for f in item["added"]),
                removed=tuple(DataFile.from_json(f) for f in item["removed"]),
                since_snapshot_id=None if item["since"] is None else _number(item["since"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise TableStoreError(f"Not a commit message: {error}.") from error


def _number(item: object) -> int:
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    raise TableStoreError(f"A number was expected, not {item!r}.")


def _text(item: object) -> str:
    if isinstance(item, str):
        return item
    raise TableStoreError(f"A text was expected, not {item!r}.")


def _values(item: object) -> tuple[Value, ...]:
    if isinstance(item, list):
        return tuple(value_from_json(v) for v in item)
    raise TableStoreError(f"A list of values was expected, not {item!r}.")


def _stats(item: object) -> Mapping[int, ColumnStats]:
    if not isinstance(item, Mapping):
        raise TableStoreError(f"Column statistics were expected, not {item!r}.")
    return FrozenMap(
        (
            int(field_id),
            ColumnStats(
                min=value_from_json(low),
                max=value_from_json(high),
                null_count=_number(nulls),
                exact=exact is True,
            ),
        )
        for field_id, (low, high, nulls, exact) in item.items()
    )
