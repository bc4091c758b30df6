"""Requests about tables by name, and the description of a table that the JVM receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from table_store.catalog.names.name_record import ForeignDefinition
from table_store.catalog.planner.protocol.handles import Handle, TableReference
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkChange, SparkColumns
from table_store.catalog.tables.staged_table import StagingMode

# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyConstraint:
    """A primary key as Spark shows it."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConstraint:
    """A CHECK as Spark shows it; `is_verified` is whether the rows of before it satisfy it."""

    name: str
    condition: str
    is_verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataColumn:
    """A column that a query sees only if it names the column; `type` is JSON of Spark's type."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table or system table at one snapshot.

    Attributes:
        name: the table's name as messages and plans show it.
        version: the snapshot's number; None before the first one.
        columns: the columns that the statement sees.
        computed: the table's computed columns.
        partitions: names of the partition columns among `columns`.
        properties: the table's properties without secrets.
        constraints: the primary key, if there is one.
        checks: the CHECK constraints, which the planner enforces.
        capabilities: names of Spark's `TableCapability`.
        metadata_columns: columns that can be read besides `columns`.
        row_id: columns that identify a row in UPDATE, DELETE and MERGE.
        is_external: whether a connector makes its rows.
        is_read_by_spark: whether that is a source of Spark's.
        is_stream: whether jobs follow that as a stream.
        handle: sent back with every request about the table.
    """

    name: str
    version: str | None = None
    columns: SparkColumns
    computed: SparkColumns
    partitions: tuple[str, ...] = ()
    properties: Mapping[str, str]
    constraints: tuple[KeyConstraint, ...] = ()
    checks: tuple[CheckConstraint, ...] = ()
    capabilities: tuple[str, ...]
    metadata_columns: tuple[MetadataColumn, ...] = ()
    row_id: tuple[str, ...] = ()
    is_external: bool = False
    is_read_by_spark: bool = False
    is_stream: bool = False
    handle: Handle


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRead:
    """What Spark reads in the place of a table: a format, and its options with the secrets.

    Attributes:
        format: as `spark.read.format` takes it.
        options: of that format.
        secret: which of them no message may show.
    """

    format: str
    options: Mapping[str, str] = field(repr=False)
    secret: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPlace:
    """Where Spark is to create a foreign table; no other table ever has this folder.

    `replaced` is the foreign table that the new one replaces.
    """

    folder: str
    replaced: ForeignDefinition | None = None


LoadedTable: TypeAlias = DescribedTable | ForeignDefinition

# -- requests --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExists:
    """Asks whether a table of this name exists."""

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
    """One entry of PARTITIONED BY, or CLUSTERED BY: a function, and paths of the columns it uses.

    `buckets` is the number of those of `bucket` and `sorted_bucket`.
    """

    name: str
    columns: tuple[tuple[str, ...], ...]
    buckets: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredConstraint:
    """A constraint: `kind` is ``primary key``, ``check``, or the text of another kind.

    A key has `columns`, a CHECK the SQL text of its `condition`.
    """

    kind: str
    name: str
    columns: tuple[tuple[str, ...], ...] = ()
    condition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """The definition in CREATE or REPLACE TABLE."""

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
class ReadConnector:
    """Asks for a temporary table with a connector, which the session need not define.

    Without `columns` it has those that the connector finds.
    """

    catalog: CatalogReference
    connector: str
    options: Mapping[str, str] = field(repr=False)
    columns: SparkColumns | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTable:
    """CREATE or REPLACE TABLE whose result nobody sees before `CommitStaged`."""

    relation: RelationReference
    definition: DeclaredTable
    mode: StagingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStaged:
    """Make a staged table visible."""

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
class FindSparkRead:
    """Asks what Spark is to read in the place of a table."""

    table: TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSparkStream:
    """Asks which range of a stream of Spark's a job reads in the place of a table."""

    table: TableReference


@dataclass(frozen=True, slots=True, kw_only=True)
class CanAlter:
    """Asks whether a write WITH SCHEMA EVOLUTION may make a change of a column."""

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
    """A foreign table that Spark has made; provider, location and comment are properties."""

    columns: SparkColumns
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    session_entry: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordForeign:
    """Remember a foreign table that Spark has made, altered or replaced."""

    relation: RelationReference
    definition: DeclaredForeign
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceForeign:
    """Replace the definition of a foreign table, if it still is the `known` one."""

    relation: RelationReference
    definition: DeclaredForeign
    known: DeclaredForeign
