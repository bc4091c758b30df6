"""Goal: an ALTER that was made says so, whatever becomes of the table's name meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.names import catalog_access
from table_store.catalog.planner.names.catalog_access import WAREHOUSE, CatalogAccess
from table_store.catalog.planner.names.table_requests import alter_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkChange
from table_store.catalog.planner.protocol.tables import AlterTable
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.listeners import TableContext
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.types import LONG, STRING

OLD, NEW = Identifier("default", "t"), Identifier("default", "other")


class Renaming:
    """Gives the table another name while it is altered, as another session would."""

    def __init__(self, lifecycle: TableLifecycle) -> None:
        self._lifecycle = lifecycle

    def on_create_table(self, context: TableContext) -> None:
        pass

    def on_alter_table(self, context: TableContext, before: TableSchema) -> None:
        self._lifecycle.rename(OLD, NEW)

    def on_drop_table(self, context: TableContext) -> None:
        pass


def _no_spark() -> Any:
    raise AssertionError("ALTER asked Spark")


def test_a_table_that_is_renamed_while_it_is_altered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = PlannerSession("alter", _no_spark)
    catalog = CatalogReference(name="c", options={WAREHOUSE: str(tmp_path)}, allowed_roots="")
    lifecycle = CatalogAccess.of(session, catalog).lifecycle
    columns = (Field(id=0, name="id", type=LONG), Field(id=1, name="v", type=STRING))
    lifecycle.create(OLD, TableDefinition(columns=columns))
    monkeypatch.setattr(catalog_access, "all_listeners", lambda: (Renaming(lifecycle),))

    relation = RelationReference(catalog=catalog, namespace=("default",), name="t")
    change = SparkChange({"change": "drop_column", "path": ["v"], "ifExists": False})
    alter_table(session, AlterTable(relation=relation, changes=(change,)))

    assert [field.name for field in lifecycle.load(NEW).schema.fields] == ["id"]
