"""Goal: a file that holds a secret is its writer's alone, and no other file is.

All files of the warehouse are looked at, so that one that nobody thought of is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from table_store.catalog.definition.table_change import SetOption, UnsetOption
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import ForeignDefinition
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.staged_table import StagingMode
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import INTEGER

_KEY = "log.kafka.sasl.plain.password"
_COLUMNS = (Field(id=0, name="a", type=INTEGER),)
T = Identifier("default", "t")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def with_secret(warehouse: Warehouse) -> list[str]:
    """The names of the files that hold it; they are private, and all others are not."""
    found = []
    for path in sorted(Path(warehouse.root).rglob("*")):
        if path.is_file():
            holds = "pl4nted" in path.read_text(errors="replace")
            assert path.stat().st_mode & 0o777 == (0o600 if holds else 0o644), path
            if holds:
                found.append(path.name)
    return found


def test_tables(warehouse: Warehouse) -> None:
    lifecycle = TableLifecycle(warehouse)
    lifecycle.create(T, TableDefinition(columns=_COLUMNS, options={_KEY: "pl4nted"}))
    assert with_secret(warehouse) == ["schema-0"]
    lifecycle.alter(T, [SetOption("log.retention", "1 d")])
    assert with_secret(warehouse) == ["schema-0", "schema-1"]
    lifecycle.alter(T, [UnsetOption(_KEY)])
    assert with_secret(warehouse) == ["schema-0", "schema-1"]
    lifecycle.rename(T, Identifier("default", "u"))
    assert with_secret(warehouse) == ["schema-0", "schema-1"]


def test_staged_and_replaced_tables(warehouse: Warehouse) -> None:
    lifecycle = TableLifecycle(warehouse)
    definition = TableDefinition(columns=_COLUMNS, options={_KEY: "pl4nted"})
    lifecycle.create(T, definition)
    staged = lifecycle.staging.stage(T, definition, StagingMode.REPLACE)
    assert with_secret(warehouse) == ["schema-0", "schema-0"]
    lifecycle.staging.commit(staged)
    assert with_secret(warehouse) == ["schema-0", "schema-1", "schema-0"]


def test_a_secret_that_is_only_named_closes_nothing(warehouse: Warehouse) -> None:
    options = {_KEY: "${secret:env:PASSWORD}"}
    TableLifecycle(warehouse).create(T, TableDefinition(columns=_COLUMNS, options=options))
    assert with_secret(warehouse) == []


def test_foreign_tables_and_namespaces(warehouse: Warehouse) -> None:
    """Where another's options are kept."""
    plain = ForeignDefinition(provider="jdbc", properties={"dbtable": "x"})
    closed = ForeignDefinition(provider="jdbc", properties={"password": "pl4nted"})
    warehouse.define(T, plain, DefineMode.CREATE)
    assert with_secret(warehouse) == []
    warehouse.define(T, closed, DefineMode.CREATE_OR_REPLACE)
    warehouse.define(Identifier("default", "u"), closed, DefineMode.CREATE)
    assert len(with_secret(warehouse)) == 2
    warehouse.define(T, plain, DefineMode.CREATE_OR_REPLACE)
    assert len(with_secret(warehouse)) == 1
    warehouse.create_namespace("n", {"token": "pl4nted"})
    assert len(with_secret(warehouse)) == 2
