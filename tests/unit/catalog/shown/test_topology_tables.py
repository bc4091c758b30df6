"""Goal: `sys.column_lineage` tells of each job what its stored query says, by today's names."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from table_store.catalog.definition.table_definition import TableDefinition, columns_to_spark
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob, sink_digest
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import ForeignDefinition, RelationKind, ViewDefinition
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.shown.topology_tables import WarehouseTopology, topology_table
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.types import INTEGER

CATALOG = "c"


def fields(names: str) -> tuple[Field, ...]:
    return tuple(Field(id=0, name=name, type=INTEGER) for name in names.split())


def stored(text: str, columns: str) -> StoredQuery:
    return StoredQuery(
        text=text,
        current_catalog=CATALOG,
        current_namespace=("default",),
        settings={},
        columns=tuple(columns.split()),
    )


@dataclass
class Jobs:
    """A warehouse and what is defined in it, in the namespace `default` if no other is named."""

    warehouse: Warehouse

    def __post_init__(self) -> None:
        self.lifecycle = TableLifecycle(self.warehouse, catalog_name=CATALOG)

    def table(self, name: str, columns: str, query: StoredQuery | None = None) -> str:
        namespace, _, last = name.rpartition(".")
        definition = TableDefinition(columns=fields(columns), query=query)
        return self.lifecycle.create(Identifier(namespace or "default", last), definition).location

    def view(self, name: str, text: str, columns: str, current_catalog: str | None) -> None:
        view = ViewDefinition(
            query_text=text,
            current_catalog=current_catalog,
            current_namespace=("default",),
            sql_configs={},
            schema_mode="BINDING",
            query_column_names=(),
            columns=columns_to_spark(fields(columns)),
            properties={},
        )
        self.warehouse.define(Identifier("default", name), view, DefineMode.CREATE)

    def register(self, sink: str, *sources: str, insert: StoredQuery | None = None) -> None:
        is_view = insert is None
        job = RegisteredJob(
            id=sink_digest(sink) if is_view else "run",
            name=f"{CATALOG}.default.{sink.rpartition('/')[2]}" if is_view else "any name",
            commit_user=JOB_OF_VIEW if is_view else "insert:any",
            sink=sink,
            sources=frozenset(sources),
            insert=insert,
        )
        JobRegistry.of(self.warehouse).register(job)

    def lineage(self, namespace: str = "default") -> list[tuple[str | None, ...]]:
        """All rows without the job's id."""
        found = topology_table("sys", "Column_Lineage")
        assert found is not None
        rows = found.rows(WarehouseTopology(self.warehouse, namespace)).to_pylist()
        return [tuple(row.values())[1:] for row in rows]


@pytest.fixture
def jobs(warehouse: Warehouse) -> Jobs:
    return Jobs(warehouse)


def test_a_chain_of_a_view_and_an_insert(jobs: Jobs) -> None:
    jobs.warehouse.create_namespace("m", {})
    orders = jobs.table("m.orders", "id amount")
    by_id = stored("SELECT id, sum(amount) AS total FROM m.Orders GROUP BY id", "id total")
    totals = jobs.table("totals", "id total", by_id)
    insert = stored("INSERT INTO copy (n) SELECT total FROM totals WHERE id > 0", "total")
    copy = jobs.table("copy", "n ts")
    jobs.register(totals, orders)
    jobs.register(copy, totals, insert=insert)
    assert jobs.lineage() == [
        ("copy", "n", "totals", "total", "value"),
        ("copy", "ts", None, None, "value"),
        ("copy", None, "totals", "id", "indirect"),
        ("totals", "id", "m.orders", "id", "value"),
        ("totals", "total", "m.orders", "amount", "value"),
        ("totals", None, "m.orders", "id", "indirect"),
    ]
    assert ("default.totals", "id", "orders", "id", "value") in jobs.lineage("m")


def test_views_and_foreign_tables(jobs: Jobs) -> None:
    orders = jobs.table("orders", "id amount")
    jobs.view("large", "SELECT amount * 2 FROM orders WHERE id > 0", "doubled", None)
    jobs.view("larger", "SELECT doubled FROM large", "d", CATALOG)
    foreign = ForeignDefinition(
        provider="parquet", columns=columns_to_spark(fields("rate")), properties={}
    )
    jobs.warehouse.define(Identifier("default", "rates"), foreign, DefineMode.CREATE)
    query = stored("SELECT d * rate AS z, 1 AS one FROM larger, rates", "z one")
    jobs.register(jobs.table("seen", "z one", query), orders)
    assert jobs.lineage() == [
        ("seen", "z", "orders", "amount", "value"),
        ("seen", "z", "rates", "rate", "value"),
        ("seen", "one", None, None, "value"),
        ("seen", None, "orders", "id", "indirect"),
    ]


@pytest.mark.parametrize("change", ["dropped", "replaced by name", "statement not kept"])
def test_what_is_not_known_any_more(jobs: Jobs, change: str) -> None:
    orders = jobs.table("orders", "id")
    jobs.table("other", "id")
    insert = stored("INSERT INTO copy SELECT id FROM orders", "id")
    copy = jobs.table("copy", "n")
    jobs.register(copy, orders, insert=insert)
    assert jobs.lineage() == [("copy", "n", "orders", "id", "value")]
    if change == "statement not kept":
        old = RegisteredJob(
            id="run", name="j", commit_user="insert:j", sink=copy, sources=frozenset((orders,))
        )
        JobRegistry.of(jobs.warehouse).register(old)
    else:
        jobs.lifecycle.drop(Identifier("default", "orders"))
    if change == "replaced by name":
        other = Identifier("default", "other")
        jobs.warehouse.rename(other, Identifier("default", "orders"), RelationKind.TABLE)
    assert jobs.lineage() == [("copy", "n", None, None, None)]
