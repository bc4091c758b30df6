"""Requests about partitions; partition values are texts of Spark's internal values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.planner.protocol.handles import TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitions:
    """The partitions with these values in some of the partition columns."""

    table: TableReference
    partition: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPartition:
    """The statistics of one partition."""

    table: TableReference
    partition: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    """Remove the rows of partitions."""

    table: TableReference
    partitions: tuple[Mapping[str, str | None], ...]
