"""System tables as relations: `t$snapshots`, and tables of changes, such as `t$audit_log`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, SYSTEM_TABLE_SEPARATOR
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.changelog import describe_changes
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.changes import Changelog
from table_store.catalog.planner.protocol.handles import (
    Handle,
    SystemTableHandle,
    TopologyTableHandle,
)
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import DescribedTable
from table_store.catalog.shown.system_tables import SYSTEM_TABLES
from table_store.catalog.shown.topology_tables import TOPOLOGY_NAMESPACE, topology_table
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.changes.change_labels import CHANGE_LABELS, ROW_KIND
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.logged_table import open_logged

CHANGE_TABLES: Final[Mapping[str, tuple[str, ...]]] = FrozenMap(
    {"audit_log": (ROW_KIND,), "changes": CHANGE_LABELS}
)
"""Tables of every change in the history, and their label columns.

`audit_log` is Paimon's and begins with the label column; `changes` is ours and ends with them.
"""


@dataclass(frozen=True, slots=True)
class SystemTableName:
    """Which system table of which table."""

    namespace: tuple[str, ...]
    table: str
    system: str

    def __str__(self) -> str:
        """Return the name as plans show it."""
        return f"{'.'.join(self.namespace)}.{self.table}{SYSTEM_TABLE_SEPARATOR}{self.system}"


def system_table_name(
    session: PlannerSession, access: CatalogAccess, relation: RelationReference
) -> SystemTableName | None:
    """The table that ``t$snapshots`` or ``t.snapshots`` names; None for an ordinary name."""
    namespace, name = relation.namespace, relation.name
    base, separator, system = name.rpartition(SYSTEM_TABLE_SEPARATOR)
    if separator and base and _is_system(system):
        return SystemTableName(namespace, base, system.lower())
    if not _is_system(name):
        return None
    if len(namespace) == 2:
        return SystemTableName(namespace[:1], namespace[1], name.lower())
    if len(namespace) == 1 and access.warehouse.find_namespace(namespace[0]) is None:
        where = session.namespace_in(access.name)
        return SystemTableName((where,), namespace[0], name.lower())
    return None


def describe_topology_table(
    session: PlannerSession, access: CatalogAccess, relation: RelationReference
) -> DescribedTable | None:
    """The description of `sys.jobs`, `__META_ETL_SINK` and the like; None for other names."""
    if len(relation.namespace) > 1:
        return None
    namespace = relation.namespace[0] if relation.namespace else DEFAULT_NAMESPACE
    table = topology_table(namespace, relation.name)
    if table is None:
        return None
    is_of_all = namespace.lower() == TOPOLOGY_NAMESPACE
    seen_from = session.namespace_in(access.name) if is_of_all else namespace
    return _described(
        f"{access.name}.{namespace}.{relation.name}",
        SparkColumns(table.struct),
        TopologyTableHandle(namespace=seen_from, table=table.name),
    )


def describe_system_table(
    managed: ManagedTable, name: SystemTableName, *, catalog: str
) -> DescribedTable:
    """The description of a system table that the JVM receives."""
    shown = f"{catalog}.{name}"
    if name.system in CHANGE_TABLES:
        changes = _changes(managed, name.system, shown)
        return _described(shown, changes.columns, changes.handle)
    columns = SparkColumns(json.dumps(SYSTEM_TABLES[name.system].spark_schema()))
    return _described(shown, columns, SystemTableHandle(path=managed.location, system=name.system))


def _described(name: str, columns: SparkColumns, handle: Handle) -> DescribedTable:
    return DescribedTable(
        name=name,
        columns=columns,
        computed=SparkColumns(columns_to_spark(())),
        properties={},
        capabilities=("BATCH_READ",),
        handle=handle,
    )


def _is_system(name: str) -> bool:
    return name.lower() in SYSTEM_TABLES or name.lower() in CHANGE_TABLES


def _changes(managed: ManagedTable, system: str, shown: str) -> Changelog:
    labels, columns = CHANGE_TABLES[system], managed.schema.column_names
    scan = open_logged(managed.location).changes(
        columns=(*labels, *columns) if system == "audit_log" else (*columns, *labels),
        mode=ChangeMode(computes_updates=True),
        labels=labels,
        schema=managed.schema,
    )
    return describe_changes(scan, name=shown, path=managed.location)
