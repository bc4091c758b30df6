"""Tables about the topology of a warehouse: `sys.jobs`, `__META_ETL_SOURCE` and so on.

The names that begin with `__META` and their columns are those of FLIP-276 ("Query consistency
information"); its example calls two of them otherwise, so these are other names of the same.
Tables are called by their names as far as the namespace in which the table is read leaves out
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import pyarrow as pa

from table_store.catalog.jobs.ledger import Ledger
from table_store.catalog.meta_service.column_lineage import WrittenTable, column_lineage
from table_store.catalog.meta_service.delay import delays, heads_of_roots
from table_store.catalog.meta_service.named_relations import NamedRelations
from table_store.catalog.meta_service.observed_job import (
    ObservedJob,
    kept_epochs,
    observed_jobs,
)
from table_store.catalog.meta_service.producer_transactions import ProducerTransactions
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.identifier import Identifier, name_key
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import StructField, StructType

Row: TypeAlias = dict[str, Any]

_TEXT: Final = pa.string()
_LONG: Final = pa.int64()
_TIME: Final = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class WarehouseTopology:
    """The jobs of a warehouse, as somebody sees them whose namespace is `namespace`."""

    warehouse: Warehouse
    namespace: str

    @cached_property
    def jobs(self) -> list[ObservedJob]:
        """All registered jobs, by the names of their tables."""
        found = observed_jobs(JobRegistry.of(self.warehouse))
        return sorted(found, key=lambda one: self.name_of(one.job.sink))

    @cached_property
    def ledger(self) -> Ledger:
        """The barriers."""
        return Ledger.of(self.warehouse)

    def name_of(self, path: str) -> str:
        """Return the name of a table by its directory; the directory if it has none any more."""
        return self._names.get(path, path)

    def seen_as(self, identifier: Identifier) -> str:
        """Return the name of a table or view as it is called in the namespace."""
        namespace = self._namespaces.get(name_key(identifier.namespace), identifier.namespace)
        return identifier.name if namespace == self.namespace else f"{namespace}.{identifier.name}"

    @cached_property
    def _namespaces(self) -> Mapping[str, str]:
        return {name_key(name): name for name in self.warehouse.namespaces()}

    @cached_property
    def _names(self) -> Mapping[str, str]:
        found = {}
        for namespace in self._namespaces.values():
            for record in self.warehouse.records(namespace, (RelationKind.TABLE,)):
                found[self.warehouse.location(record)] = self.seen_as(record.identifier)
        return found


@dataclass(frozen=True, slots=True)
class TopologyTable:
    """One kind of table: its columns, and the function that makes its rows."""

    name: str
    schema: pa.Schema
    _rows: Callable[[WarehouseTopology], Iterable[Row]]

    @property
    def struct(self) -> str:
        """The columns as the JSON of Spark's StructType."""
        fields = tuple(StructField(name=f.name, type=from_arrow(f.type)) for f in self.schema)
        return json.dumps(StructType(fields).to_json())

    def records(self, topology: WarehouseTopology) -> Iterable[Row]:
        """Yield all rows, by the names of the columns; fails as `rows`."""
        return self._rows(topology)

    def rows(self, topology: WarehouseTopology) -> pa.Table:
        """Return all rows.

        Raises:
            CorruptFileError: the registry or the ledger is damaged.
        """
        return pa.Table.from_pylist(list(self._rows(topology)), schema=self.schema)


def _sources(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        for path in sorted(one.job.sources):
            yield {"job_id": one.job.id, "table_name": topology.name_of(path)}


def _sinks(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        yield {"job_id": one.job.id, "table_name": topology.name_of(one.job.sink)}


def _versions(topology: WarehouseTopology) -> Iterable[Row]:
    """The snapshot of the newest barrier of each table; NULL before there was one."""
    sinks = {one.job.sink for one in topology.jobs}
    last = topology.ledger.latest()
    roots = {path for one in topology.jobs for path in one.job.sources} - sinks
    for path in sorted(roots, key=topology.name_of):
        known = None if last is None else last.roots.get(path)
        version = None if known is None else known.head.snapshot
        yield {"table_name": topology.name_of(path), "version": version, "table_type": "Root"}
    for one in topology.jobs:
        yield {
            "table_name": topology.name_of(one.job.sink),
            "version": one.track.taken[-1].snapshot if one.track.taken else None,
            "table_type": "Intermediate",
        }


def _jobs(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        taken = one.track.taken[-1] if one.track.taken else None
        yield {
            "job_id": one.job.id,
            "job_name": one.job.name,
            "kind": "materialized view" if one.is_view else "streaming INSERT",
            "table_name": topology.name_of(one.job.sink),
            "state": one.state().value,
            "barrier": None if taken is None else taken.barrier,
            "snapshot": None if taken is None else taken.snapshot,
            "diverged": None if one.progress is None else one.progress.diverged,
        }


def _barriers(topology: WarehouseTopology) -> Iterable[Row]:
    for barrier in topology.ledger.newest_first():
        for path, root in sorted(barrier.roots.items()):
            if root.position == barrier.position:
                yield {
                    "barrier": barrier.number,
                    "table_name": topology.name_of(path),
                    "snapshot": root.head.snapshot,
                }


def _source_lineage(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        for taken in one.track.taken:
            for path, snapshot in sorted(taken.sources.items()):
                yield {
                    "job_id": one.job.id,
                    "barrier": taken.barrier,
                    "table_name": topology.name_of(path),
                    "snapshot": snapshot,
                }


def _sink_lineage(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        for taken in one.track.taken:
            yield {
                "job_id": one.job.id,
                "barrier": taken.barrier,
                "table_name": topology.name_of(one.job.sink),
                "snapshot": taken.snapshot,
            }


def _progress(topology: WarehouseTopology) -> Iterable[Row]:
    for one in topology.jobs:
        for epoch in kept_epochs(one):
            yield {
                "job_id": one.job.id,
                "barrier": epoch.barrier or None,
                "started": (epoch.ended_ms - epoch.milliseconds) * 1000,
                "finished": epoch.ended_ms * 1000,
                "milliseconds": epoch.milliseconds,
                "rows_read": epoch.rows_read,
                "rows_changed": epoch.rows_changed,
                "error": epoch.error,
            }


def _transactions(topology: WarehouseTopology) -> Iterable[Row]:
    for one in ProducerTransactions.of(topology.warehouse).look().transactions:
        for path in sorted(one.tables):
            yield {
                "transaction": one.name,
                "table_name": topology.name_of(path),
                "begun": one.begun_ms * 1000,
            }


def _column_lineage(topology: WarehouseTopology) -> Iterable[Row]:
    relations = NamedRelations(topology.warehouse)
    for one in topology.jobs:
        for found in column_lineage(WrittenTable.of(one), relations.find):
            source = found.source
            yield {
                "job_id": one.job.id,
                "table_name": topology.name_of(one.job.sink),
                "column_name": found.column,
                "source_table": None if source is None else topology.seen_as(source.table),
                "source_column": None if source is None else source.name,
                "kind": None if found.kind is None else found.kind.value,
            }


def _delays(topology: WarehouseTopology) -> Iterable[Row]:
    now_ms = topology.warehouse.clock.now_ms()
    heads = heads_of_roots(topology.jobs)
    for delay in delays(topology.jobs, topology.ledger, heads, now_ms):
        yield {
            "table_name": topology.name_of(delay.job.job.sink),
            "job_id": delay.job.job.id,
            "barrier": delay.barrier,
            "delay_ms": delay.delay_ms,
            "bottlenecks": [one.job.name for one in delay.bottlenecks],
        }


_LINEAGE: Final = pa.schema(
    {"job_id": _TEXT, "barrier": _LONG, "table_name": _TEXT, "snapshot": _LONG}
)
_EDGE: Final = pa.schema({"job_id": _TEXT, "table_name": _TEXT})

_PROGRESS: Final = pa.schema(
    {
        "job_id": _TEXT,
        "barrier": _LONG,
        "started": _TIME,
        "finished": _TIME,
        "milliseconds": _LONG,
        "rows_read": _LONG,
        "rows_changed": _LONG,
        "error": _TEXT,
    }
)
_JOBS: Final = pa.schema(
    {
        "job_id": _TEXT,
        "job_name": _TEXT,
        "kind": _TEXT,
        "table_name": _TEXT,
        "state": _TEXT,
        "barrier": _LONG,
        "snapshot": _LONG,
        "diverged": _TEXT,
    }
)
_COLUMN_LINEAGE: Final = pa.schema(
    {
        "job_id": _TEXT,
        "table_name": _TEXT,
        "column_name": _TEXT,
        "source_table": _TEXT,
        "source_column": _TEXT,
        "kind": _TEXT,
    }
)
_DELAYS: Final = pa.schema(
    {
        "table_name": _TEXT,
        "job_id": _TEXT,
        "barrier": _LONG,
        "delay_ms": _LONG,
        "bottlenecks": pa.list_(_TEXT),
    }
)
_BARRIERS: Final = pa.schema({"barrier": _LONG, "table_name": _TEXT, "snapshot": _LONG})
_TRANSACTIONS: Final = pa.schema({"transaction": _TEXT, "table_name": _TEXT, "begun": _TIME})
_VERSIONS: Final = pa.schema({"table_name": _TEXT, "version": pa.int32(), "table_type": _TEXT})

TOPOLOGY_NAMESPACE: Final = "sys"
TOPOLOGY_TABLES: Final[Mapping[str, TopologyTable]] = FrozenMap(
    (table.name, table)
    for table in (
        TopologyTable("__META_ETL_SOURCE", _EDGE, _sources),
        TopologyTable("__META_ETL_SINK", _EDGE, _sinks),
        TopologyTable("__META_TABLE_VERSION", _VERSIONS, _versions),
        TopologyTable("jobs", _JOBS, _jobs),
        TopologyTable("barriers", _BARRIERS, _barriers),
        TopologyTable("source_snapshot_lineage", _LINEAGE, _source_lineage),
        TopologyTable("sink_snapshot_lineage", _LINEAGE, _sink_lineage),
        TopologyTable("job_progress", _PROGRESS, _progress),
        TopologyTable("table_delay", _DELAYS, _delays),
        TopologyTable("column_lineage", _COLUMN_LINEAGE, _column_lineage),
        TopologyTable("transactions", _TRANSACTIONS, _transactions),
    )
)
"""All of them by name; those in lower case are in the namespace `sys`, the others in every one."""

_ALIASES: Final = FrozenMap(
    {"__META_JOB_SOURCE": "__META_ETL_SOURCE", "__META_JOB_SINK": "__META_ETL_SINK"}
)


def topology_table(namespace: str, name: str) -> TopologyTable | None:
    """Return the table of a name in a namespace; None if it is an ordinary name."""
    if namespace.lower() == TOPOLOGY_NAMESPACE:
        return TOPOLOGY_TABLES.get(name.lower())
    upper = name.upper()
    return TOPOLOGY_TABLES.get(_ALIASES.get(upper, upper))
