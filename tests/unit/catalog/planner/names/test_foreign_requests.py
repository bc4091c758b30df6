"""Goal: ALTER loses no files of a foreign table, and DROP takes only a folder of the catalog's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import ForeignDefinition
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.foreign_requests import drop_foreign, foreign_to_alter
from table_store.catalog.planner.protocol.spark_values import SparkChange
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.temporary_tables import TemporaryTables
from table_store.storage.kernel.errors import PathNotAllowedError

T = Identifier("default", "t")


@pytest.fixture
def access(warehouse: Warehouse) -> CatalogAccess:
    temporary = TemporaryTables(warehouse=warehouse, session_id="s", owner=identity_of(os.getpid()))
    return CatalogAccess("c", warehouse, TableLifecycle(warehouse), temporary)


def define(access: CatalogAccess, location: str, *, is_own: bool) -> None:
    properties = {"is_managed_location": "true"} if is_own else {}
    definition = ForeignDefinition(provider="parquet", location=location, properties=properties)
    access.warehouse.define(T, definition, DefineMode.CREATE)


@pytest.mark.parametrize(
    ("is_own", "location", "is_allowed"),
    [
        (False, "/elsewhere", True),
        (False, "file:/elsewhere", True),
        (False, "relative", False),
        (False, "/up/../../etc", False),
        (True, "/elsewhere", False),
        (True, "relative", False),
    ],
)
def test_another_location(
    access: CatalogAccess, is_own: bool, location: str, is_allowed: bool
) -> None:
    define(access, "default.db/t-1" if is_own else "/named", is_own=is_own)
    record = access.warehouse.find(T)
    assert record is not None
    change = SparkChange({"change": "set_property", "key": "location", "value": location})
    if is_allowed:
        assert foreign_to_alter(access, record, [change]).provider == "parquet"
    else:
        with pytest.raises(PathNotAllowedError, match=r"relative|elsewhere|\.\."):
            foreign_to_alter(access, record, [change])
    other = SparkChange({**change, "key": "note"})
    assert foreign_to_alter(access, record, [other]).provider == "parquet"


@pytest.mark.parametrize(
    ("place", "is_own", "goes"),
    [
        ("warehouse/default.db/t-1", True, True),
        ("warehouse/default.db/t-1", False, False),
        ("outside/t", True, False),
        ("outside/t", False, False),
    ],
)
def test_drop(access: CatalogAccess, tmp_path: Path, place: str, is_own: bool, goes: bool) -> None:
    """The name goes, always; the folder where the catalog chose it."""
    file = tmp_path / place / "rows.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    define(access, str(tmp_path / place), is_own=is_own)
    assert drop_foreign(access, T)
    assert access.warehouse.find(T) is None
    assert file.exists() is not goes
