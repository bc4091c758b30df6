"""A warehouse in a folder, and a table with every declared rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store import TableDescriptor, connect
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse

ITEMS = (
    TableDescriptor.for_managed()
    .column("id", "BIGINT")
    .column("name", "VARCHAR(5)")
    .column("code", "CHAR(3)")
    .column("n", "INT", default="7")
    .column("price", "DECIMAL(10,2)", default="1.5")
    .column("day", "DATE", default="DATE '2020-01-31'")
    .column("at", "TIMESTAMP")
    .column("clock", "TIMESTAMP_NTZ")
    .computed_column("twice", "BIGINT", "n * 2")
    .primary_key("id")
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return connect(str(tmp_path))


@pytest.fixture
def items(warehouse: Warehouse) -> Table:
    return warehouse.create("items", ITEMS)
