"""Requests about the changes of a table, and the description of changes that the JVM receives."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.planner.protocol.handles import Handle
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.storage.file_store.changes.change_split import Deduplication


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBound:
    """A bound of a range as the user stated it: a version or a time."""

    version: str | None = None
    timestamp_us: int | None = None
    is_inclusive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadChangelog:
    """`CHANGES FROM … TO …`: the range, and the form of the changes."""

    relation: RelationReference
    start: StatedBound | None = None
    end: StatedBound | None = None
    deduplication_mode: Deduplication
    compute_updates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Changelog:
    """The changes in a range, pinned to versions."""

    name: str
    columns: SparkColumns
    handle: Handle
