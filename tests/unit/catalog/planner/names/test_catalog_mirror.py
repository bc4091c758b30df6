"""Goal: what JDBC metadata shows follows every change, and costs no reads where nothing changed."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.definition.table_change import SetComment
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import ForeignDefinition, RelationKind
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.catalog_mirror import CatalogMirror
from table_store.catalog.planner.protocol.mirror import MirroredRelation
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.temporary_tables import TemporaryTables
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import INTEGER, STRING

ONE = TableDefinition(columns=(Field(id=0, name="a", type=INTEGER),))
OTHER = TableDefinition(columns=(Field(id=0, name="z", type=STRING),))
NAMES = [Identifier(space, name) for space in ("default", "shop") for name in ("t", "u", "v")]


class CountedReads(LocalFileIO):
    """Counts the files that are read."""

    reads = 0

    def read_bytes(self, path: str) -> bytes:
        type(self).reads += 1
        return super().read_bytes(path)


@pytest.fixture
def access(warehouse: Warehouse, tmp_path: Path) -> CatalogAccess:
    root, other = warehouse.root, str(tmp_path / "other")
    counted = Warehouse(
        CountedReads(root),
        root,
        warehouse.clock,
        warehouse.ids,
        other_roots={other: LocalFileIO(other)},
    )
    temporary = TemporaryTables(warehouse=counted, session_id="s", owner=identity_of(os.getpid()))
    return CatalogAccess("c", counted, TableLifecycle(counted), temporary)


class Shown:
    """What the entries are after all answers, as the bridge keeps them."""

    def __init__(self, access: CatalogAccess) -> None:
        self.access, self.mirror = access, CatalogMirror()
        self.entries: dict[str, dict[str, MirroredRelation]] = {}

    def follow(self, *, is_shown: bool = True) -> int:
        """Take the changes over; return how many there were."""
        answer = self.mirror.changes(self.access, is_shown=is_shown)
        if answer.is_whole:
            self.entries = {}
        names = {one.name for one in answer.namespaces}
        self.entries = {name: self.entries.get(name, {}) for name in names}
        for one in answer.namespaces:
            for name in one.gone:
                self.entries[one.name].pop(name.lower(), None)
            for relation in one.relations:
                self.entries[one.name][relation.name.lower()] = relation
        return sum(len(one.relations) + len(one.gone) for one in answer.namespaces)


def change(access: CatalogAccess, randomly: random.Random) -> None:
    """Change a name, if that is possible as things are."""
    lifecycle, warehouse = access.lifecycle, access.warehouse
    name, other = randomly.sample(NAMES, 2)
    known, free = warehouse.find(name), warehouse.find(other) is None
    is_table = known is not None and known.kind is RelationKind.TABLE
    if known is None:
        if randomly.random() < 0.7:
            lifecycle.create(name, randomly.choice((ONE, OTHER)))
        else:
            definition = ForeignDefinition(provider="parquet", location="/x", properties={})
            warehouse.define(name, definition, DefineMode.CREATE)
        return
    match randomly.choice(("drop", "alter", "replace", "rename")):
        case "drop":
            warehouse.drop(known)
        case "alter" if is_table:
            lifecycle.alter(name, [SetComment(str(randomly.random()))])
        case "replace" if is_table:
            lifecycle.replace(name, randomly.choice((ONE, OTHER)), or_create=False)
        case "rename" if is_table and free and name.namespace == other.namespace:
            lifecycle.rename(name, other)


@pytest.mark.parametrize("seed", range(20))
def test_changes_add_up_to_what_is_there(access: CatalogAccess, seed: int) -> None:
    """Whoever looks for the first time sees what those see who have followed."""
    access.warehouse.create_namespace("shop", {})
    randomly, shown = random.Random(seed), Shown(access)
    for _ in range(40):
        for _ in range(randomly.randint(1, 3)):
            change(access, randomly)
        shown.follow()
        new = Shown(access)
        new.follow(is_shown=False)
        assert shown.entries == new.entries
        assert not shown.follow()


def test_a_dropped_namespace_is_gone(access: CatalogAccess) -> None:
    access.warehouse.create_namespace("shop", {})
    shown = Shown(access)
    access.lifecycle.create(Identifier("shop", "t"), ONE)
    shown.follow()
    assert shown.entries["shop"].keys() == {"t"}
    access.lifecycle.drop_namespace("shop", cascade=True)
    shown.follow()
    assert shown.entries == {"default": {}}


def test_nothing_is_read_where_nothing_has_changed(access: CatalogAccess) -> None:
    for number in range(20):
        access.lifecycle.create(Identifier("default", f"t{number}"), ONE)
    shown = Shown(access)
    assert shown.follow() == 20
    CountedReads.reads = 0
    assert shown.follow() == 0
    without = CountedReads.reads
    access.lifecycle.alter(Identifier("default", "t7"), [SetComment("new")])
    CountedReads.reads = 0
    assert shown.follow() == 1
    assert shown.entries["default"]["t7"].comment == "new"
    assert CountedReads.reads - without <= 4


def test_a_table_outside_of_the_warehouse_is_followed(
    access: CatalogAccess, tmp_path: Path
) -> None:
    table = Identifier("default", "t")
    access.lifecycle.create(table, replace(ONE, location=str(tmp_path / "other" / "own")))
    shown = Shown(access)
    assert shown.follow() == 1
    access.lifecycle.alter(table, [SetComment("new")])
    assert shown.follow() == 1
    assert shown.entries["default"]["t"].comment == "new"


def test_a_damaged_name_leaves_the_others(access: CatalogAccess) -> None:
    shown = Shown(access)
    for name in ("t", "u"):
        access.lifecycle.create(Identifier("default", name), ONE)
    (file, _) = access.warehouse.name_files("default")
    access.warehouse.file_io.write_bytes(file.path, b"{}")
    shown.follow()
    assert len(shown.entries["default"]) == 1
