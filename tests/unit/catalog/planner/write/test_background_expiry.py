"""Goal: behind a commit the directories go that REPLACE TABLE left, by the rule of snapshots."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from table_store import TableDescriptor, connect
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.write.background_expiry import BackgroundExpiry
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.file_store.metadata.consumer import READER
from tests.unit.catalog.planner.keyed_table import session_without_spark

SESSION = session_without_spark("expiry")
T = Identifier("default", "t")
SOON = {"snapshot.time-retained": "1 ms", "snapshot.num-retained.min": "1"}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return connect(str(tmp_path))


@pytest.fixture
def expiry() -> Iterator[BackgroundExpiry]:
    expiry = BackgroundExpiry()
    yield expiry
    expiry.finish()


def replaced(warehouse: Warehouse, options: dict[str, str]) -> tuple[Table, Table]:
    """The table as it was, and as it is."""
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT")
    for key, value in options.items():
        descriptor = descriptor.option(key, value)
    old = warehouse.create("t", descriptor)
    warehouse.lifecycle.replace(T, descriptor.definition, or_create=False)
    return old, warehouse.open("t")


def write(expiry: BackgroundExpiry, warehouse: Warehouse, table: Table) -> None:
    """Commit twice, and return when the expiry behind the commits has run."""
    for number in range(2):
        time.sleep(0.01)
        table.append(pa.table({"id": [number]}))
    catalog = CatalogReference(name="c", options={"warehouse": warehouse.path}, allowed_roots="")
    relation = RelationReference(catalog=catalog, namespace=("default",), name="t")
    opened = OpenedTable(table=table.storage, schema=table.schema, snapshot_id=2, name="t")
    expiry.after_commit(SESSION, relation, opened)
    expiry._threads.submit(int).result()


def test_directories_of_before_go_when_snapshots_do(
    warehouse: Warehouse, expiry: BackgroundExpiry
) -> None:
    old, table = replaced(warehouse, SOON)
    reader = f"{READER}here:1:2:3"
    old.storage.consumers.note(reader, 1)
    write(expiry, warehouse, table)
    assert table.storage.snapshot_store.earliest_id() == 2
    assert Path(old.path).exists(), "a query reads it"
    old.storage.consumers.remove(reader)
    write(expiry, warehouse, table)
    assert not Path(old.path).exists()
    assert table.scan().count() == 4


@pytest.mark.parametrize("options", [{}, {**SOON, "write-only": "true"}])
def test_directories_stay_as_long_as_snapshots(
    warehouse: Warehouse, expiry: BackgroundExpiry, options: dict[str, str]
) -> None:
    old, table = replaced(warehouse, options)
    write(expiry, warehouse, table)
    assert table.storage.snapshot_store.earliest_id() == 1
    assert Path(old.path).exists()


def test_a_table_without_directories_of_before_costs_a_read_of_its_name(
    warehouse: Warehouse, expiry: BackgroundExpiry, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.create("t", TableDescriptor.for_managed().column("id", "BIGINT"))
    loads: list[object] = []
    monkeypatch.setattr(type(warehouse.lifecycle), "loaded", lambda *seen: loads.append(seen))
    write(expiry, warehouse, table)
    assert loads == []
