"""Goal: a process killed, or a disk failing, within any DDL leaves the catalog before or after.

Every statement runs once cleanly to see its outcome, then with a fault at its n-th file
operation for n = 1, 2, … until the fault is not reached any more. After each run a new process
looks: names, schemas and rows are as before or as after; the statement repeated makes them as
after; and once leftovers are removed, the directories on disk are those that names point to.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.definition.table_change import AddColumn, SetComment
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.lock import CatalogLock, LeaseCatalogLock, LocalCatalogLock
from table_store.catalog.names.name_record import RelationKind, TableTarget, table_target
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.staged_table import StagingMode
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.types import INTEGER, STRING
from tests.fakes.checked_file import rewrite
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed
from tests.fakes.manual_clock import ManualClock
from tests.fakes.view_definitions import plain_view

pytestmark = pytest.mark.crash

Action = Callable[[TableLifecycle], object]
State = Mapping[tuple[str, str], object]

T, U, OTHER = (Identifier("default", name) for name in ("t", "u", "other"))
MOVED = Identifier("n", "moved")
OLD = TableDefinition(columns=(Field(id=0, name="a", type=INTEGER),))
NEW = TableDefinition(columns=(Field(id=0, name="z", type=STRING),), comment="new")
VIEW = plain_view()


def create(lifecycle: TableLifecycle) -> None:
    if lifecycle.warehouse.find(U) is None:
        staged = lifecycle.staging.stage(U, NEW, StagingMode.CREATE)
        write_rows(lifecycle.warehouse, staged.location, "new")
        lifecycle.staging.commit(staged)


def replace_table(lifecycle: TableLifecycle) -> None:
    staged = lifecycle.staging.stage(T, NEW, StagingMode.CREATE_OR_REPLACE)
    write_rows(lifecycle.warehouse, staged.location, "new")
    lifecycle.staging.commit(staged)


def succeed(lifecycle: TableLifecycle) -> None:
    """Replace a table by one that is said to have all of its rows."""
    table = lifecycle.load(T)
    if table.schema.column_names != NEW.schema(time_ms=0).column_names:
        staged = lifecycle.staging.stage(T, NEW, StagingMode.REPLACE)
        write_rows(lifecycle.warehouse, staged.location, "new")
        assert lifecycle.staging.succeed(table, staged, 0)


def abort(lifecycle: TableLifecycle) -> None:
    lifecycle.staging.abort(lifecycle.staging.stage(U, NEW, StagingMode.CREATE))


def drop(lifecycle: TableLifecycle) -> None:
    lifecycle.drop(T)


def drop_replaced(lifecycle: TableLifecycle) -> None:
    lifecycle.drop(OTHER)


def rename(lifecycle: TableLifecycle) -> None:
    if lifecycle.warehouse.find(T) is not None:
        lifecycle.rename(T, MOVED)


def alter(lifecycle: TableLifecycle) -> None:
    if "b" not in lifecycle.load(T).schema.column_names:
        added = Field(id=0, name="b", type=INTEGER)
        lifecycle.alter(T, [AddColumn(column=added), SetComment("altered")])


def define_view(lifecycle: TableLifecycle) -> None:
    view = Identifier("default", "v")
    lifecycle.warehouse.define(view, plain_view("SELECT 2"), DefineMode.CREATE_OR_REPLACE)


def rename_view(lifecycle: TableLifecycle) -> None:
    view = Identifier("default", "v")
    if lifecycle.warehouse.find(view) is not None:
        lifecycle.warehouse.rename(view, U, RelationKind.VIEW)


def create_namespace(lifecycle: TableLifecycle) -> None:
    if lifecycle.warehouse.find_namespace("new") is None:
        lifecycle.warehouse.create_namespace("new", {"comment": "c"})


def alter_namespace(lifecycle: TableLifecycle) -> None:
    lifecycle.warehouse.alter_namespace("n", changed={"comment": "altered"})


def forget_generations(lifecycle: TableLifecycle) -> None:
    lifecycle.forget_generations(lifecycle.load(OTHER), until_ms=2**60)


STATEMENTS: dict[str, Action] = {
    action.__name__: action
    for action in (
        create,
        replace_table,
        succeed,
        abort,
        drop,
        drop_replaced,
        rename,
        alter,
        define_view,
        rename_view,
        create_namespace,
        alter_namespace,
        forget_generations,
    )
}


def write_rows(warehouse: Warehouse, location: str, rows: str) -> None:
    """Stand in for data files: what the table must still hold afterwards."""
    warehouse.file_io.write_new(f"{location}/rows", rows.encode())


def lifecycle_at(path: Path, file_io: FileIO, *, is_leased: bool = False) -> TableLifecycle:
    root, clock = str(path), ManualClock()
    lock: CatalogLock = LocalCatalogLock(folder=f"{root}/_locks", clock=clock)
    if is_leased:
        lock = LeaseCatalogLock(file_io=file_io, folder=f"{root}/_leases", clock=clock)
    return TableLifecycle(Warehouse(file_io, root, clock, RandomIds(), lock=lock))


def fresh(path: Path, *, is_leased: bool = False) -> TableLifecycle:
    return lifecycle_at(path, LocalFileIO(str(path)), is_leased=is_leased)


def prepare(path: Path) -> None:
    lifecycle = fresh(path)
    warehouse = lifecycle.warehouse
    warehouse.create_namespace("n", {})
    for identifier in (T, OTHER):
        write_rows(warehouse, lifecycle.create(identifier, OLD).location, identifier.name)
    write_rows(warehouse, lifecycle.replace(OTHER, OLD, or_create=False).location, "other again")
    warehouse.define(Identifier("default", "v"), VIEW, DefineMode.CREATE)


def state(path: Path) -> State:
    """Return what a new process sees of every name: definition and rows."""
    warehouse = fresh(path).warehouse
    seen: dict[tuple[str, str], object] = {}
    for namespace in warehouse.namespaces():
        found = warehouse.find_namespace(namespace)
        assert found is not None
        seen[namespace, ""] = dict(found.properties).get("comment")
        for record in warehouse.records(namespace):
            content: object = record.target
            if isinstance(record.target, TableTarget):
                location = warehouse.location(record)
                schema = SchemaStore(warehouse.file_io, location).latest()
                rows = warehouse.file_io.read_bytes(f"{location}/rows")
                content = (schema.column_names, schema.comment, rows)
                for generation in record.target.previous:
                    past = warehouse.places.absolute(generation.location)
                    assert warehouse.file_io.exists(f"{past}/rows"), "history is gone"
            seen[namespace, record.identifier.name] = content
    return seen


def bury(path: Path) -> None:
    """Let everything that this process holds look as if the process had died."""
    dead = replace(identity_of(), start="ended").to_json()
    for note in path.rglob("_trash/*.json"):
        rewrite(note, owner=dead)
    for entry in path.rglob("_leases/*/*"):
        if json.loads(entry.read_bytes())["holder"] is not None:
            rewrite(entry, holder=dead)


def assert_nothing_left(path: Path) -> None:
    warehouse = fresh(path).warehouse
    warehouse.staging.remove_leftovers()
    wanted = {
        warehouse.places.absolute(location)
        for namespace in warehouse.namespaces()
        for record in warehouse.records(namespace, [RelationKind.TABLE])
        if isinstance(record.target, TableTarget)
        for location in record.target.locations
    }
    assert {str(claim.parent) for claim in path.rglob("_table.json")} == wanted
    assert list(path.glob("_trash/*")) == []


def assert_one_directory_is_writable(path: Path) -> None:
    """Check that a table takes rows, and that the directories which it had before take none."""
    lifecycle = fresh(path)
    warehouse = lifecycle.warehouse
    for namespace in warehouse.namespaces():
        for record in warehouse.records(namespace, [RelationKind.TABLE]):
            assert lifecycle.loaded(record).schema.successor is None
            (*previous, _) = table_target(
                warehouse.require(record.identifier, record.kind)
            ).locations
            for location in map(warehouse.places.absolute, previous):
                assert SchemaStore(warehouse.file_io, location).latest().successor is not None


def run(path: Path, action: Action, fail_at: int, fault: Fault, *, is_leased: bool) -> bool:
    """Run a statement with a fault; return whether the fault was reached."""
    file_io = FailingFileIO(LocalFileIO(str(path)), fail_at, fault)
    try:
        action(lifecycle_at(path, file_io, is_leased=is_leased))
    except Killed:
        assert file_io.reached
    except TableStoreError:
        assert fault not in (Fault.KILL_AFTER, Fault.KILL_BEFORE)
    return file_io.reached


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_any_fault_leaves_before_or_after(name: str, fault: Fault, tmp_path: Path) -> None:
    check(STATEMENTS[name], fault, tmp_path, is_leased=False)


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_any_fault_under_a_lock_of_files(fault: Fault, tmp_path: Path) -> None:
    check(rename, fault, tmp_path, is_leased=True)


def check(action: Action, fault: Fault, tmp_path: Path, *, is_leased: bool) -> None:
    template, finished, path = (tmp_path / name for name in ("template", "finished", "faulty"))
    prepare(template)
    before = state(template)
    shutil.copytree(template, finished)
    assert not run(finished, action, 0, fault, is_leased=is_leased)
    after = state(finished)
    assert_nothing_left(finished)
    fail_at = 0
    while True:
        fail_at += 1
        shutil.copytree(template, path)
        is_reached = run(path, action, fail_at, fault, is_leased=is_leased)
        assert state(path) in (before, after), f"operation {fail_at}"
        bury(path)
        assert_one_directory_is_writable(path)
        action(fresh(path, is_leased=is_leased))
        assert state(path) == after, f"repeated after operation {fail_at}"
        assert_nothing_left(path)
        shutil.rmtree(path)
        if not is_reached:
            break
    assert fail_at > 2, "the operations were counted"
