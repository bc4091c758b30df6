"""Goal: names appear and go in one step, whatever they stand for, and directories follow them."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.errors import (
    InvalidIdentifierError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    ProtectedNamespaceError,
    StagedTableGoneError,
    WrongRelationKindError,
)
from table_store.catalog.names.directory_journal import DirectoryJournal
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_looks import NameLooks
from table_store.catalog.names.name_record import (
    ForeignDefinition,
    NameRecord,
    RelationKind,
    TableTarget,
)
from table_store.catalog.names.name_registry import NameRegistry
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.retired_folders import RetiredFolders
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    CorruptFileError,
    FileAccessError,
    FormatVersionError,
    NotFoundError,
    PathNotAllowedError,
)
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.checked_file import rewrite
from tests.fakes.view_definitions import FULL_VIEW

T = Identifier("default", "t")

FOREIGN = ForeignDefinition(provider="delta", location="/data/x", properties={"k": "v"})


def create_table(warehouse: Warehouse, identifier: Identifier = T) -> NameRecord:
    staged = warehouse.staging.stage(identifier)
    warehouse.file_io.write_new(f"{staged.location}/schema/schema-0", b"{}")
    return warehouse.staging.publish(identifier, staged)


def names(warehouse: Warehouse, namespace: str = "default") -> list[str]:
    return [record.identifier.name for record in warehouse.records(namespace)]


def leftovers(warehouse: Warehouse) -> list[str]:
    return [status.name for status in warehouse.file_io.list(f"{warehouse.root}/_trash")]


def in_dead_hands(warehouse: Warehouse) -> None:
    """Let all notes look as if their processes had died."""
    dead = replace(identity_of(), start="ended")
    for path in Path(warehouse.root, "_trash").glob("*.json"):
        rewrite(path, owner=dead.to_json())


# -- namespaces ------------------------------------------------------------------------------------


def test_default_is_always_there(warehouse: Warehouse) -> None:
    assert warehouse.namespaces() == ("default",)
    found = warehouse.find_namespace("DEFAULT")
    assert found is not None
    assert found.properties["location"] == f"{warehouse.root}/default.db"
    with pytest.raises(NamespaceAlreadyExistsError):
        warehouse.create_namespace("Default", {})
    with pytest.raises(ProtectedNamespaceError):
        warehouse.drop_namespace("default")


def test_namespaces_keep_their_spelling_and_properties(warehouse: Warehouse) -> None:
    warehouse.create_namespace("Sales", {"comment": "all of it", "owner": "x"})
    assert warehouse.namespaces() == ("default", "Sales")
    with pytest.raises(NamespaceAlreadyExistsError):
        warehouse.create_namespace("sales", {})
    warehouse.alter_namespace("SALES", changed={"comment": "new"}, removed=["owner", "absent"])
    found = warehouse.find_namespace("sales")
    assert found is not None
    assert found.name == "Sales"
    assert dict(found.properties) == {"comment": "new", "location": f"{warehouse.root}/sales.db"}
    warehouse.drop_namespace("sales")
    assert warehouse.namespaces() == ("default",)
    with pytest.raises(NamespaceNotFoundError):
        warehouse.drop_namespace("sales")


def test_properties_of_default_can_be_set(warehouse: Warehouse) -> None:
    warehouse.alter_namespace("default", changed={"comment": "c"})
    found = warehouse.find_namespace("default")
    assert found is not None
    assert found.properties["comment"] == "c"


def test_a_namespace_in_use_stays(warehouse: Warehouse) -> None:
    warehouse.create_namespace("n", {})
    warehouse.define(Identifier("n", "v"), FULL_VIEW, DefineMode.CREATE)
    with pytest.raises(NamespaceNotEmptyError, match="v"):
        warehouse.drop_namespace("n")


def test_nothing_can_be_in_a_namespace_that_is_not_there(warehouse: Warehouse) -> None:
    with pytest.raises(NamespaceNotFoundError):
        warehouse.define(Identifier("n", "v"), FULL_VIEW, DefineMode.CREATE)
    with pytest.raises(NamespaceNotFoundError):
        warehouse.staging.stage(Identifier("n", "t"))
    with pytest.raises(NamespaceNotFoundError):
        warehouse.records("n")


# -- tables ----------------------------------------------------------------------------------------


def test_a_table_is_there_when_it_is_published_and_not_before(warehouse: Warehouse) -> None:
    staged = warehouse.staging.stage(T)
    assert staged.location == f"{warehouse.root}/default.db/t"
    assert warehouse.find(T) is None
    assert names(warehouse) == []
    record = warehouse.staging.publish(T, staged)
    assert warehouse.find(Identifier("DEFAULT", "T")) == record
    assert warehouse.location(record) == staged.location
    assert leftovers(warehouse) == []


def test_names_keep_their_spelling(warehouse: Warehouse) -> None:
    create_table(warehouse, Identifier("default", "Übersicht `a`/.."))
    assert names(warehouse) == ["Übersicht `a`/.."]
    with pytest.raises(AlreadyExistsError):
        create_table(warehouse, Identifier("default", "übersicht `A`/.."))


def test_table_view_and_foreign_table_share_the_names(warehouse: Warehouse) -> None:
    create_table(warehouse)
    warehouse.define(Identifier("default", "v"), FULL_VIEW, DefineMode.CREATE)
    warehouse.define(Identifier("default", "f"), FOREIGN, DefineMode.CREATE)
    for taken in ("t", "V", "f"):
        with pytest.raises(AlreadyExistsError):
            warehouse.define(Identifier("default", taken), FULL_VIEW, DefineMode.CREATE)
        with pytest.raises(AlreadyExistsError):
            create_table(warehouse, Identifier("default", taken))
    assert names(warehouse) == ["f", "t", "v"]
    only_views = warehouse.records("default", [RelationKind.VIEW])
    assert [record.target for record in only_views] == [FULL_VIEW]
    assert [r.target for r in warehouse.records("default", [RelationKind.FOREIGN])] == [FOREIGN]


def test_of_many_creators_one_wins(tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    won: list[str] = []

    def create(number: int) -> None:
        warehouse = Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds())
        staged = warehouse.staging.stage(T) if number % 2 else None
        try:
            if staged is None:
                warehouse.define(T, FULL_VIEW, DefineMode.CREATE)
            else:
                warehouse.staging.publish(T, staged)
        except AlreadyExistsError:
            if staged is not None:
                warehouse.staging.abandon(staged)
        else:
            won.append(str(number))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    warehouse = Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds())
    record = warehouse.find(T)
    assert record is not None
    folders = [s.name for s in warehouse.file_io.list(f"{root}/default.db") if s.is_dir]
    expected = 2 if record.kind is RelationKind.TABLE else 1
    assert len(folders) == expected
    assert leftovers(warehouse) == []


def test_a_taken_place_gets_a_suffix(warehouse: Warehouse) -> None:
    Path(warehouse.root, "default.db", "t").mkdir(parents=True)
    Path(warehouse.root, "default.db", "t", "mine").touch()
    record = create_table(warehouse)
    assert warehouse.location(record).startswith(f"{warehouse.root}/default.db/t~")
    warehouse.drop(record)
    assert Path(warehouse.root, "default.db", "t", "mine").exists()


def test_drop_removes_name_and_directory(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    warehouse.drop(record)
    assert warehouse.find(T) is None
    assert not Path(warehouse.location(record)).exists()
    assert leftovers(warehouse) == []
    with pytest.raises(NotFoundError):
        warehouse.drop(record)


def test_a_folder_is_taken_once(warehouse: Warehouse) -> None:
    """Also in a namespace that was dropped; of names made again and again one note is kept."""
    warehouse.create_namespace("n", {})
    table = Identifier("n", "t")
    seen = set()
    for _ in range(3):
        record = create_table(warehouse, table)
        seen.add(warehouse.location(record))
        warehouse.drop(record)
    warehouse.drop_namespace("n")
    assert not Path(warehouse.root, "n.db").exists()
    warehouse.create_namespace("n", {})
    seen.add(warehouse.location(create_table(warehouse, table)))
    assert len(seen) == 4
    assert [path.name for path in Path(warehouse.root, "_dropped").iterdir()] == ["n.db%2Ft"]
    assert leftovers(warehouse) == []


def test_a_folder_that_is_retired_while_it_is_claimed_is_given_back(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create_table(warehouse)
    holds = RetiredFolders.holds

    def late(folders: RetiredFolders, location: str) -> bool:
        monkeypatch.undo()
        found = holds(folders, location)
        warehouse.drop(first)
        return found

    monkeypatch.setattr(RetiredFolders, "holds", late)
    again = create_table(warehouse)
    assert warehouse.location(again).startswith(f"{warehouse.location(first)}~")
    assert not Path(warehouse.location(first)).exists()
    assert leftovers(warehouse) == []


def test_a_table_that_was_never_there_retires_no_folder(warehouse: Warehouse) -> None:
    warehouse.staging.abandon(warehouse.staging.stage(T))
    assert warehouse.staging.stage(T).location == f"{warehouse.root}/default.db/t"


def test_drop_does_not_take_a_newer_table_of_the_name(warehouse: Warehouse) -> None:
    old = create_table(warehouse)
    warehouse.drop(old)
    new = create_table(warehouse)
    with pytest.raises(NotFoundError):
        warehouse.drop(old)
    assert warehouse.find(T) == new


def test_a_directory_claimed_by_another_table_is_never_removed(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    rewrite(Path(warehouse.location(record), "_table.json"), tableId="another")
    warehouse.drop(record)
    assert Path(warehouse.location(record), "schema").exists()


def test_abandoned_staging_leaves_nothing(warehouse: Warehouse) -> None:
    warehouse.staging.abandon(warehouse.staging.stage(T))
    assert not Path(warehouse.root, "default.db", "t").exists()
    assert leftovers(warehouse) == []


def test_the_kind_is_checked(warehouse: Warehouse) -> None:
    record = warehouse.define(T, FULL_VIEW, DefineMode.CREATE)
    with pytest.raises(WrongRelationKindError, match="is a view"):
        warehouse.require(T, RelationKind.TABLE)
    with pytest.raises(WrongRelationKindError):
        warehouse.location(record)
    with pytest.raises(NotFoundError):
        warehouse.require(Identifier("default", "absent"), RelationKind.TABLE)


# -- views and foreign tables ----------------------------------------------------------------------


def test_views_are_replaced_in_place(warehouse: Warehouse) -> None:
    with pytest.raises(NotFoundError):
        warehouse.define(T, FULL_VIEW, DefineMode.REPLACE)
    first = warehouse.define(T, FULL_VIEW, DefineMode.CREATE_OR_REPLACE)
    changed = replace(FULL_VIEW, query_text="SELECT 2 AS a")
    second = warehouse.define(T, changed, DefineMode.CREATE_OR_REPLACE)
    assert second.id == first.id
    assert warehouse.find(T) == second
    assert second.target == changed
    with pytest.raises(NotFoundError, match="as it was"):
        warehouse.define(T, FULL_VIEW, DefineMode.REPLACE, known=FULL_VIEW)
    assert warehouse.define(T, changed, DefineMode.REPLACE, known=changed) == second
    with pytest.raises(WrongRelationKindError):
        warehouse.define(T, FOREIGN, DefineMode.CREATE_OR_REPLACE)
    warehouse.drop(second)
    assert names(warehouse) == []


# -- rename ----------------------------------------------------------------------------------------


def test_rename_keeps_the_directory(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    renamed = warehouse.rename(T, Identifier("default", "u"), RelationKind.TABLE)
    assert names(warehouse) == ["u"]
    assert renamed.id == record.id
    assert warehouse.location(renamed) == warehouse.location(record)
    again = create_table(warehouse)
    assert warehouse.location(again) != warehouse.location(renamed)


def test_rename_may_change_only_the_case(warehouse: Warehouse) -> None:
    create_table(warehouse)
    warehouse.rename(T, Identifier("default", "T"), RelationKind.TABLE)
    assert names(warehouse) == ["T"]


def test_rename_refuses_what_is_taken_or_wrong(warehouse: Warehouse) -> None:
    create_table(warehouse)
    create_table(warehouse, Identifier("default", "u"))
    with pytest.raises(AlreadyExistsError):
        warehouse.rename(T, Identifier("default", "U"), RelationKind.TABLE)
    with pytest.raises(NamespaceNotFoundError):
        warehouse.rename(T, Identifier("n", "u"), RelationKind.TABLE)
    with pytest.raises(InvalidIdentifierError):
        warehouse.rename(T, Identifier("default", "a$b"), RelationKind.TABLE)
    with pytest.raises(WrongRelationKindError):
        warehouse.rename(T, Identifier("default", "v"), RelationKind.VIEW)
    assert names(warehouse) == ["t", "u"]
    assert warehouse.require(T, RelationKind.TABLE).renaming_to is None


def test_a_table_renamed_into_another_namespace_survives_the_drop_of_the_first(
    warehouse: Warehouse,
) -> None:
    warehouse.create_namespace("a", {})
    warehouse.create_namespace("b", {})
    create_table(warehouse, Identifier("a", "t"))
    warehouse.rename(Identifier("a", "t"), Identifier("b", "t"), RelationKind.TABLE)
    warehouse.drop_namespace("a")
    record = warehouse.require(Identifier("b", "t"), RelationKind.TABLE)
    assert Path(warehouse.location(record), "schema", "schema-0").exists()
    assert warehouse.namespaces() == ("b", "default")


def test_an_interrupted_rename_leaves_one_name(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    registry = NameRegistry(warehouse.file_io, warehouse.root)
    u = Identifier("default", "u")
    registry.replace(replace(record, renaming_to=u))
    assert names(warehouse) == ["t"]  # before the decisive step
    registry.create(replace(record, identifier=u, renamed_from=T))
    assert names(warehouse) == ["u"]  # after it
    assert warehouse.find(T) is None
    new = create_table(warehouse)  # the old name is free
    assert new.id != record.id
    assert names(warehouse) == ["t", "u"]


def test_the_rest_of_an_interrupted_rename_does_not_come_back(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    registry = NameRegistry(warehouse.file_io, warehouse.root)
    u = Identifier("default", "u")
    registry.replace(replace(record, renaming_to=u))
    registry.create(replace(record, identifier=u, renamed_from=T))
    renamed = warehouse.rename(u, Identifier("default", "w"), RelationKind.TABLE)
    assert names(warehouse) == ["w"]
    warehouse.drop(renamed)
    assert names(warehouse) == []


# -- replacement -----------------------------------------------------------------------------------


def test_a_replacement_takes_the_name_in_one_step_and_keeps_the_past(warehouse: Warehouse) -> None:
    old = create_table(warehouse)
    staged = warehouse.staging.stage(T, table_id=old.id)
    assert warehouse.find(T) == old
    new = warehouse.staging.publish_replacement(old, staged)
    assert warehouse.find(T) == new
    assert new.id == old.id
    assert warehouse.location(new) == staged.location
    assert isinstance(new.target, TableTarget)
    (generation,) = new.target.previous
    assert warehouse.location(new, generation.until_ms - 1) == warehouse.location(old)
    assert warehouse.location(new, generation.until_ms) == staged.location
    assert warehouse.forget_generations(new, until_ms=generation.until_ms - 1) == ()
    removed = warehouse.forget_generations(new, until_ms=generation.until_ms)
    assert removed == (warehouse.location(old),)
    assert not Path(warehouse.location(old)).exists()
    assert Path(staged.location).exists()


def test_what_a_name_stands_for_since_it_was_found(warehouse: Warehouse) -> None:
    """A replaced table has another directory; one that is renamed or dropped has its own."""
    old = create_table(warehouse)
    location = warehouse.location(old)
    found = FoundName(warehouse=warehouse.root, namespace="default", name="T")
    assert found.location_since(location) == location
    staged = warehouse.staging.stage(T, table_id=old.id)
    warehouse.staging.publish_replacement(old, staged)
    assert NameLooks().location(location, found) == staged.location
    assert NameLooks().location(location, None) == location
    warehouse.rename(T, Identifier("default", "u"), RelationKind.TABLE)
    assert found.location_since(location) == location
    warehouse.define(T, FULL_VIEW, DefineMode.CREATE)
    assert found.location_since(location) is None


def test_drop_removes_the_past_too(warehouse: Warehouse) -> None:
    old = create_table(warehouse)
    new = warehouse.staging.publish_replacement(old, warehouse.staging.stage(T, table_id=old.id))
    warehouse.drop(old)
    assert not Path(warehouse.location(old)).exists()
    assert not Path(warehouse.location(new)).exists()


def test_a_replacement_of_a_dropped_table_is_refused(warehouse: Warehouse) -> None:
    old = create_table(warehouse)
    staged = warehouse.staging.stage(T, table_id=old.id)
    warehouse.drop(old)
    with pytest.raises(NotFoundError):
        warehouse.staging.publish_replacement(old, staged)


@pytest.mark.parametrize("is_dead", [False, True])
def test_a_replacement_that_does_not_get_the_name_is_removed(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, is_dead: bool
) -> None:
    """It was staged before its table was there, and has been handed over to it."""
    staged = warehouse.staging.stage(T)
    old = create_table(warehouse)

    def fail(_: NameRegistry, record: NameRecord) -> None:
        raise FileAccessError(
            path=str(record.identifier), operation="replace", reason="EIO", may_have_happened=False
        )

    with monkeypatch.context() as patched:
        patched.setattr(NameRegistry, "replace", fail)
        with pytest.raises(FileAccessError):
            warehouse.staging.publish_replacement(old, staged)
    if is_dead:
        in_dead_hands(warehouse)
        assert warehouse.staging.remove_leftovers() == (staged.location,)
    else:
        assert warehouse.staging.abandon(staged, may_have_name=True)
    assert not Path(staged.location).exists()
    assert leftovers(warehouse) == []
    assert Path(warehouse.location(old)).exists()


# -- leftovers -------------------------------------------------------------------------------------


def test_what_a_living_process_stages_is_left_alone(warehouse: Warehouse) -> None:
    staged = warehouse.staging.stage(T)
    assert warehouse.staging.remove_leftovers() == ()
    warehouse.staging.publish(T, staged)


def test_what_a_dead_process_staged_is_removed(warehouse: Warehouse) -> None:
    staged = warehouse.staging.stage(T)
    in_dead_hands(warehouse)
    assert warehouse.staging.remove_leftovers() == (staged.location,)
    assert not Path(staged.location).exists()
    assert leftovers(warehouse) == []
    with pytest.raises(StagedTableGoneError):
        warehouse.staging.publish(T, staged)


def test_a_note_left_after_publishing_does_no_harm(warehouse: Warehouse) -> None:
    record = create_table(warehouse)
    renamed = warehouse.rename(T, Identifier("default", "u"), RelationKind.TABLE)
    journal = DirectoryJournal(warehouse.file_io, warehouse.root, warehouse.clock, warehouse.ids)
    journal.announce(record.id, warehouse.location(record))
    in_dead_hands(warehouse)
    assert warehouse.staging.remove_leftovers() == ()
    assert Path(warehouse.location(renamed)).exists()
    assert leftovers(warehouse) == []


def test_a_note_whose_place_has_a_new_owner_does_no_harm(warehouse: Warehouse) -> None:
    journal = DirectoryJournal(warehouse.file_io, warehouse.root, warehouse.clock, warehouse.ids)
    journal.announce("dropped", f"{warehouse.root}/default.db/t")
    in_dead_hands(warehouse)
    staged = warehouse.staging.stage(T)
    warehouse.staging.remove_leftovers()
    warehouse.staging.publish(T, staged)
    assert Path(staged.location, "_table.json").exists()


def test_an_unreadable_note_is_ignored(warehouse: Warehouse) -> None:
    warehouse.file_io.write_new(f"{warehouse.root}/_trash/x.json", b"{")
    assert warehouse.staging.remove_leftovers() == ()


# -- damage and other places -----------------------------------------------------------------------


def test_a_damaged_record_is_named(warehouse: Warehouse) -> None:
    create_table(warehouse)
    path = Path(warehouse.root, "default.db", "_names", "t.json")
    content = path.read_text()
    path.write_text(content[:40])
    with pytest.raises(CorruptFileError, match=r"t\.json"):
        warehouse.find(T)
    path.write_text(content)
    rewrite(path, version=3)
    with pytest.raises(FormatVersionError, match="version 3"):
        warehouse.find(T)


def test_a_file_of_another_name_is_named(warehouse: Warehouse) -> None:
    """It has its checksum, and would show the other table's rows."""
    create_table(warehouse)
    folder = Path(warehouse.root, "default.db")
    shutil.copy(folder / "_names" / "t.json", folder / "_names" / "u.json")
    with pytest.raises(CorruptFileError, match=r"u\.json.*it holds the name `default`\.`t`"):
        warehouse.find(Identifier("default", "u"))
    assert warehouse.find(Identifier("DEFAULT", "T")) is not None
    warehouse.create_namespace("n", {})
    warehouse.create_namespace("m", {})
    names = "_namespace.json"
    shutil.copy(Path(warehouse.root, "n.db", names), Path(warehouse.root, "m.db", names))
    with pytest.raises(CorruptFileError, match=r"m\.db.*it holds the namespace n\."):
        warehouse.find_namespace("m")


def test_a_record_cannot_lead_out_of_the_warehouse(warehouse: Warehouse) -> None:
    create_table(warehouse)
    path = Path(warehouse.root, "default.db", "_names", "t.json")
    rewrite(path, location="../elsewhere")
    record = warehouse.require(T, RelationKind.TABLE)
    with pytest.raises(PathNotAllowedError):
        warehouse.location(record)


def test_tables_may_lie_below_another_allowed_root(tmp_path: Path) -> None:
    root, other = str(tmp_path / "w"), str(tmp_path / "other")
    warehouse = Warehouse(
        LocalFileIO(root), root, SystemClock(), RandomIds(), other_roots={other: LocalFileIO(other)}
    )
    staged = warehouse.staging.stage(T, base=f"file://{other}/fast//disk/")
    assert staged.location == f"{other}/fast/disk/default.db/t"
    record = warehouse.staging.publish(T, staged)
    assert warehouse.location(record) == staged.location
    warehouse.drop(record)
    assert [path.name for path in Path(other, "fast", "disk", "default.db").iterdir()] == []


@pytest.mark.parametrize(
    "base",
    [
        "/etc",
        "relative",
        "{root}/../x",
        "{root}/default.db/t",
        "{root}/_trash",
        "{root}/.x",
        "{root}/a/dt=1",
        "s3://bucket/x",
        "file://other-host/x",
        "{root}/a\nb",
        "{root}evil",
    ],
)
def test_other_places_are_refused(warehouse: Warehouse, base: str) -> None:
    with pytest.raises(PathNotAllowedError):
        warehouse.staging.stage(T, base=base.format(root=warehouse.root))
    with pytest.raises(PathNotAllowedError):
        warehouse.create_namespace("n", {"location": base.format(root=warehouse.root)})


def test_folders_apart_from_all_tables(warehouse: Warehouse, tmp_path: Path) -> None:
    other = f"{tmp_path}/other"
    warehouse = Warehouse(
        LocalFileIO(warehouse.root),
        warehouse.root,
        SystemClock(),
        RandomIds(),
        other_roots={other: LocalFileIO(other)},
    )
    table = warehouse.staging.stage(T, location=f"{other}/own").location
    for folder in (f"{tmp_path}/out", "s3://bucket/x", f"file:{other}/day=1", f"{warehouse.root}2"):
        warehouse.require_apart(folder)
    for folder in ("relative", "/a/../b", warehouse.root, f"{warehouse.root}//out", table):
        with pytest.raises(PathNotAllowedError):
            warehouse.require_apart(folder)
    with pytest.raises(PathNotAllowedError, match="the folder of a table"):
        warehouse.require_apart(f"{table}/p=1/out/")


def test_a_link_out_of_the_warehouse_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    Path(warehouse.root).mkdir()
    Path(warehouse.root, "link").symlink_to(tmp_path)
    with pytest.raises(PathNotAllowedError):
        warehouse.staging.stage(T, base=f"{warehouse.root}/link")


def test_the_warehouse_can_be_moved(warehouse: Warehouse, tmp_path: Path) -> None:
    create_table(warehouse)
    moved = str(tmp_path / "moved")
    Path(warehouse.root).rename(moved)
    again = Warehouse(LocalFileIO(moved), moved, SystemClock(), RandomIds())
    assert again.location(again.require(T, RelationKind.TABLE)) == f"{moved}/default.db/t"
