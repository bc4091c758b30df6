"""The values that the parser returns: one frozen class for each kind of statement.

Text in these values (`definition`, `expression`, `query`, …) is a slice of the statement as the
user wrote it. Names and strings are values, already unquoted.
"""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.definition.fate import Fate
from table_store.sql_ext.statements.view_statements import (
    AlterMaterializedView,
    AlterViewAsTable,
    DefineMaterializedView,
    DescribeMaterializedView,
    DropMaterializedView,
    RefreshMaterializedView,
    ShowCreateMaterializedView,
    ShowMaterializedViews,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTerm:
    """One entry of `PARTITION (…)`; `sql` is the constant as written, None if there is none."""

    column: str
    sql: str | None = None


# -- CREATE TABLE ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalColumn:
    """A stored column. `definition` is the whole definition, ready for Spark."""

    name: str
    type_sql: str
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn:
    """`name AS expression [COMMENT '…']`."""

    name: str
    expression: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class TableConstraint:
    """A constraint on the table, as written."""

    definition: str


TableElement = PhysicalColumn | ComputedColumn | TableConstraint


@dataclass(frozen=True, slots=True)
class Watermark:
    """`WATERMARK FOR column AS expression`; a nested column is dotted, quoted where needed."""

    column: str
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """CREATE TABLE with something in it that Spark's parser refuses.

    Args:
        metadata: what columns hold of a connector's records, by their names, in order.
        options: of `WITH (…)`, in order.
        properties: of `TBLPROPERTIES (…)`, in order, without keys of `options`.
        clauses: COMMENT, PARTITIONED BY and other clauses of Spark's, as written.
        like: the table of `LIKE`, with which there are no elements and no query.
        query: text of the query of `AS`.
    """

    name: tuple[str, ...]
    or_replace: bool = False
    replace_only: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    elements: tuple[TableElement, ...] = ()
    watermark: Watermark | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    clauses: tuple[str, ...] = ()
    like: tuple[str, ...] | None = None
    query: str | None = None

    @property
    def computed_columns(self) -> tuple[ComputedColumn, ...]:
        """In the order written."""
        return tuple(e for e in self.elements if isinstance(e, ComputedColumn))

    @property
    def physical_columns(self) -> tuple[PhysicalColumn, ...]:
        """In the order written."""
        return tuple(e for e in self.elements if isinstance(e, PhysicalColumn))


# -- other statements ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DropTemporaryTable:
    """`DROP TEMPORARY TABLE [IF EXISTS] name`."""

    name: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class FatedStatement:
    """DROP TABLE, DROP MATERIALIZED VIEW or ALTER TABLE that says what becomes of dependents.

    `sql` is the statement without that word.
    """

    sql: str
    fate: Fate


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """`ALTER TABLE name DROP PRIMARY KEY`."""

    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compact:
    """`ALTER TABLE name [PARTITION (…)] COMPACT`; without terms, of the whole table."""

    name: tuple[str, ...]
    partition: tuple[PartitionTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeExtended:
    """`DESCRIBE [TABLE] EXTENDED|FORMATTED name [PARTITION (…)]`.

    Spark knows it, too: for a table that is not managed the text goes to Spark unchanged.
    """

    name: tuple[str, ...]
    partition: tuple[PartitionTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """`SHOW CREATE TABLE name`; if it is not a managed table, the text goes to Spark."""

    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetOption:
    """`SET 'key' = value`, or an unquoted key with a dash."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class ShowOption:
    """`SET 'key'` without a value."""

    key: str


@dataclass(frozen=True, slots=True)
class ResetOption:
    """`RESET 'key'`, or an unquoted key with a dash."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalog:
    """`CREATE CATALOG [IF NOT EXISTS] name [COMMENT '…'] WITH (…)`."""

    name: str
    if_not_exists: bool = False
    comment: str | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ShowJobs:
    """`SHOW JOBS`."""


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """`DESCRIBE JOB 'id'`."""

    job: str


@dataclass(frozen=True, slots=True)
class StopJob:
    """`STOP JOB 'id' [WITH DRAIN]`."""

    job: str
    drains: bool = False


@dataclass(frozen=True, slots=True)
class RefreshJob:
    """`REFRESH JOB 'id' FULL`."""

    job: str


@dataclass(frozen=True, slots=True)
class ExecuteStatementSet:
    """`EXECUTE STATEMENT SET BEGIN INSERT …; …; END`; `inserts` are the texts."""

    inserts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropCatalog:
    """`DROP CATALOG [IF EXISTS] name`."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class UseCatalog:
    """`USE CATALOG name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A statement of Spark's whose `/*+ OPTIONS(…) */` hints became `WITH (…)`."""

    sql: str


Command = (
    CreateTable
    | DropTemporaryTable
    | Compact
    | DescribeExtended
    | ShowCreateTable
    | SetOption
    | ShowOption
    | ResetOption
    | CreateCatalog
    | DropCatalog
    | DropPrimaryKey
    | UseCatalog
    | AlterMaterializedView
    | AlterViewAsTable
    | DefineMaterializedView
    | DropMaterializedView
    | RefreshMaterializedView
    | ShowCreateMaterializedView
    | ShowMaterializedViews
    | ShowJobs
    | DescribeJob
    | RefreshJob
    | StopJob
    | ExecuteStatementSet
    | FatedStatement
    | DescribeMaterializedView
)


@dataclass(frozen=True, slots=True)
class Explained:
    """EXPLAIN of one of our commands; `mode` is EXTENDED, FORMATTED, … or None."""

    mode: str | None
    command: Command


Statement = Command | Explained | Rewritten
