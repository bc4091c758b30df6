"""The values of statements about materialized views."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.definition.upkeep_change import UpkeepChange
from table_store.catalog.planner.protocol.view_clauses import ViewClauses


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineMaterializedView:
    """CREATE MATERIALIZED VIEW with something that Spark refuses, or `ALTER … AS query`.

    Args:
        clauses: what Spark refuses.
        typed_columns: the declared columns as written, if they have types.
        properties: of `WITH (…)` and `TBLPROPERTIES (…)`.
        kept: COMMENT and PARTITIONED BY as written.
        query: text of the query.
    """

    name: tuple[str, ...]
    clauses: ViewClauses
    if_not_exists: bool = False
    typed_columns: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()
    query: str


@dataclass(frozen=True, slots=True)
class AlterMaterializedView:
    """`ALTER MATERIALIZED VIEW name` SUSPEND, RESUME, SET REFRESH POLICY, … SCHEDULE, … TRIGGER."""

    name: tuple[str, ...]
    change: UpkeepChange


@dataclass(frozen=True, slots=True)
class AlterViewAsTable:
    """`ALTER MATERIALIZED VIEW name action`, where Spark has the same action for tables."""

    name: tuple[str, ...]
    action: str


@dataclass(frozen=True, slots=True)
class RefreshMaterializedView:
    """`REFRESH MATERIALIZED VIEW name [FULL]`."""

    name: tuple[str, ...]
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class DropMaterializedView:
    """`DROP MATERIALIZED VIEW [IF EXISTS] name`."""

    name: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowMaterializedViews:
    """`SHOW MATERIALIZED VIEWS [IN namespace]`; without one, of the current namespace."""

    namespace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeMaterializedView:
    """`DESCRIBE [EXTENDED] MATERIALIZED VIEW name`."""

    name: tuple[str, ...]
    is_extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreateMaterializedView:
    """`SHOW CREATE MATERIALIZED VIEW name`."""

    name: tuple[str, ...]
