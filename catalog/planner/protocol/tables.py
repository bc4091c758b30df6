"""Requests about tables by name, and a table as the JVM is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from table_store.catalog.names.name_record import ForeignDefinition
from table_store.catalog.planner.protocol.handles import Handle, TableReference
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkChange, SparkColumns
from table_store.catalog.tables.staged_table import StagingMode

# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConstraint:
    """A primary key as Spark shows it."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataColumn:
    """A column that only a query sees which names it; `type` is JSON of Spark's type."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table or system table at one snapshot.

    Attributes:
        name: as messages and plans show it.
        version: the snapshot's number; None before the first one.
        columns: those that the statement sees.
        computed: those that are computed.
        partitions: names of the partition columns among `columns`.
        properties: without secrets.
        constraints: the primary key, if there is one.
        capabilities: names of Spark's `TableCapability`.
        metadata_columns: what can be read besides `columns`.
        row_id: columns that tell rows apart in UPDATE, DELETE and MERGE.
        update_as_delete_and_insert: whether these give an updated row so.
        handle: what every request about the table is to carry.
    """

    name: str
    version: str | None = None
    columns: SparkColumns
    computed: SparkColumns
    partitions: tuple[str, ...] = ()
    properties: Mapping[str, str]
    constraints: tuple[KeyConstraint, ...] = ()
    capabilities: tuple[str, ...]
    metadata_columns: tuple[MetadataColumn, ...] = ()
    row_id: tuple[str, ...] = ()
    update_as_delete_and_insert: bool = False
    handle: Handle


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPlace:
    """Where Spark is to make a table of another format; no other table ever has this folder.

    `replaced` is the foreign table whose place it takes.
    """

    folder: str
    replaced: ForeignDefinition | None = None


LoadedTable: TypeAlias = DescribedTable | ForeignDefinition

# -- requests --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExists:
    """Whether a table has the name."""

    relation: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTable:
    """A table as of now, or as of a version or time, for a statement with some privileges."""

    relation: RelationReference
    version: str | None = None
    timestamp_us: int | None = None
    privileges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRelation:
    """A table or a view."""

    relation: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTransform:
    """One entry of PARTITIONED BY: a function, and paths of the columns that it uses."""

    name: str
    columns: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredConstraint:
    """A constraint: `kind` is ``primary key``, or the text of another kind."""

    kind: str
    name: str
    columns: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """What CREATE or REPLACE TABLE says."""

    columns: SparkColumns
    partitions: tuple[PartitionTransform, ...]
    properties: Mapping[str, str]
    constraints: tuple[DeclaredConstraint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeSource:
    """The managed table that CREATE TABLE LIKE names, as Spark shows it."""

    handle: Handle
    properties: Mapping[str, str]
    constraints: tuple[DeclaredConstraint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """CREATE TABLE without a query."""

    relation: RelationReference
    definition: DeclaredTable
    like: LikeSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """CREATE or REPLACE TABLE whose result nobody sees before `CommitStaged`."""

    relation: RelationReference
    definition: DeclaredTable
    mode: StagingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStaged:
    """Let a staged table be seen."""

    table: TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortStaged:
    """Remove a staged table."""

    table: TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable:
    """ALTER TABLE: all changes at once."""

    relation: RelationReference
    changes: tuple[SparkChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanAlter:
    """Whether a write WITH SCHEMA EVOLUTION may make a change of a column."""

    table: TableReference
    change: SparkChange


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """DROP TABLE."""

    relation: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    """ALTER TABLE … RENAME TO."""

    relation: RelationReference
    to: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredForeign:
    """A foreign table as Spark has made it; provider, location and comment are properties."""

    columns: SparkColumns
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordForeign:
    """Remember a foreign table that Spark has made, altered or replaced."""

    relation: RelationReference
    definition: DeclaredForeign
    is_new: bool
