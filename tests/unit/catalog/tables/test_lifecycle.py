"""Goal: CREATE, REPLACE, DROP, RENAME and ALTER do all they say or nothing, listeners included."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_store.catalog.definition.table_change import (
    AddColumn,
    DropColumn,
    RenameColumn,
    SetComment,
    SetOption,
    UnsetOption,
)
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.errors import (
    ListenerFailedError,
    NamespaceNotEmptyError,
    ProtectedNamespaceError,
    WrongRelationKindError,
)
from table_store.catalog.names.directory_journal import DirectoryJournal, DirectoryNote
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord
from table_store.catalog.names.name_registry import NameRegistry
from table_store.catalog.names.staging_area import StagingArea
from table_store.catalog.names.table_directories import StagedDirectory
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.listeners import TableContext
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.catalog.tables.staged_table import StagedTable, StagingMode
from table_store.catalog.tables.succession import announce_successor, settle_succession
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.model.errors import TableMovedError
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.successor import Successor
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    FileAccessError,
    InvalidOptionError,
    InvalidSchemaError,
    NotFoundError,
    PathNotAllowedError,
    TableStoreError,
    UnknownOptionError,
)
from table_store.storage.kernel.types import INTEGER, STRING
from table_store.storage.log_store.logged_table import known_table
from tests.fakes.view_definitions import plain_view

T = Identifier("default", "t")
U = Identifier("default", "u")
VIEW = plain_view()


def column(name: str, **more: object) -> Field:
    return Field(id=0, name=name, type=INTEGER, **more)  # type: ignore[arg-type]


KEYED = TableDefinition(
    columns=(column("a"), column("b")), primary_key=("a",), options={"bucket": "3"}, comment="c"
)
OTHER = TableDefinition(columns=(Field(id=0, name="z", type=STRING),))


@dataclass
class Recorder:
    """A listener that notes what it hears and refuses when told to."""

    name: str
    heard: list[str]
    refuse: set[str] = field(default_factory=set)

    def on_create_table(self, context: TableContext) -> None:
        self._hear("create", context)

    def on_alter_table(self, context: TableContext, before: TableSchema) -> None:
        self._hear("alter", context)

    def on_drop_table(self, context: TableContext) -> None:
        self._hear("drop", context)

    def _hear(self, event: str, context: TableContext) -> None:
        self.heard.append(f"{self.name} {event} {context.identifier.name}")
        if event in self.refuse:
            raise RuntimeError("no broker")


@pytest.fixture
def lifecycle(warehouse: Warehouse) -> TableLifecycle:
    return TableLifecycle(warehouse)


def folders(lifecycle: TableLifecycle) -> list[str]:
    root = Path(lifecycle.warehouse.root, "default.db")
    return sorted(p.name for p in root.iterdir() if p.name != "_names") if root.exists() else []


def notes(lifecycle: TableLifecycle) -> list[str]:
    root = Path(lifecycle.warehouse.root, "_trash")
    return [path.name for path in root.iterdir()] if root.exists() else []


# -- create ----------------------------------------------------------------------------------------


def test_create_makes_directory_and_schema(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED, settings={"table-storage.file.format": "orc", "other": "x"})
    assert made == lifecycle.load(T)
    assert made.schema.primary_key == ("a",)
    assert not made.schema.field_named("a").nullable
    assert made.schema.options == {"file.format": "orc", "bucket": "3"}
    assert made.schema.comment == "c"
    assert Path(made.location, "schema", "schema-0").exists()
    assert notes(lifecycle) == []


def test_the_statement_wins_over_the_session(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED, settings={"table-storage.bucket": "7"})
    assert made.schema.options["bucket"] == "3"


def test_create_of_a_name_in_use(lifecycle: TableLifecycle) -> None:
    first = lifecycle.create(T, KEYED)
    with pytest.raises(AlreadyExistsError):
        lifecycle.create(Identifier("default", "T"), OTHER)
    assert lifecycle.load(T) == first
    assert folders(lifecycle) == ["t"]


@pytest.mark.parametrize(
    ("options", "settings", "error", "text"),
    [
        ({"buckets": "3"}, {}, UnknownOptionError, "'bucket'"),
        ({"bucket": "many"}, {}, InvalidOptionError, "whole number"),
        ({}, {"table-storage.bukcet": "1"}, UnknownOptionError, "bucket"),
        ({}, {"table-storage.file.format": "csv"}, InvalidOptionError, "parquet"),
        ({"file.path": "/etc"}, {}, PathNotAllowedError, "/etc"),
    ],
)
def test_bad_options_are_refused_and_leave_nothing(
    lifecycle: TableLifecycle,
    options: dict[str, str],
    settings: dict[str, str],
    error: type[TableStoreError],
    text: str,
) -> None:
    with pytest.raises(error, match=text):
        lifecycle.create(T, KEYED.with_options(options), settings=settings)
    assert folders(lifecycle) == []
    with pytest.raises(NotFoundError):
        lifecycle.load(T)


def test_file_path_moves_the_directory(lifecycle: TableLifecycle) -> None:
    root = lifecycle.warehouse.root
    made = lifecycle.create(T, KEYED, settings={"table-storage.file.path": f"{root}/fast"})
    assert made.location == f"{root}/fast/default.db/t"
    assert made.schema.options["file.path"] == f"{root}/fast"


@pytest.mark.parametrize(
    "definition",
    [
        TableDefinition(columns=(column("a"),), primary_key=("absent",)),
        TableDefinition(columns=(column("a"), column("A"))),
        TableDefinition(
            columns=(column("a"), column("p")), primary_key=("a",), partition_keys=("p",)
        ),
        TableDefinition(columns=()),
    ],
    ids=["key column absent", "twice", "key without partition", "none"],
)
def test_bad_definitions_leave_nothing(
    lifecycle: TableLifecycle, definition: TableDefinition
) -> None:
    with pytest.raises(InvalidSchemaError):
        lifecycle.create(T, definition)
    assert folders(lifecycle) == []


def test_a_view_is_no_table(lifecycle: TableLifecycle) -> None:
    lifecycle.warehouse.define(T, VIEW, DefineMode.CREATE)
    with pytest.raises(WrongRelationKindError):
        lifecycle.load(T)
    with pytest.raises(WrongRelationKindError):
        lifecycle.drop(T)
    with pytest.raises(WrongRelationKindError):
        lifecycle.replace(T, KEYED, or_create=True)
    with pytest.raises(AlreadyExistsError):
        lifecycle.create(T, KEYED)


# -- staging and replacement -----------------------------------------------------------------------


def test_a_staged_table_survives_its_process_as_text(lifecycle: TableLifecycle) -> None:
    staged = lifecycle.staging.stage(T, KEYED, StagingMode.CREATE)
    again = StagedTable.from_json(staged.to_json())
    assert again == staged
    made = lifecycle.staging.commit(again)
    assert made.location == staged.location
    with pytest.raises(TableStoreError, match="staged"):
        StagedTable.from_json("{}")


def test_an_aborted_table_leaves_nothing(lifecycle: TableLifecycle) -> None:
    lifecycle.staging.abort(lifecycle.staging.stage(T, KEYED, StagingMode.CREATE))
    assert folders(lifecycle) == []
    assert notes(lifecycle) == []


@pytest.mark.parametrize("mode", [StagingMode.CREATE, StagingMode.CREATE_OR_REPLACE])
def test_an_abort_behind_a_commit_changes_nothing(
    lifecycle: TableLifecycle, mode: StagingMode
) -> None:
    """Spark aborts where the process that had committed died before it answered."""
    if mode is not StagingMode.CREATE:
        lifecycle.create(T, OTHER)
    staged = lifecycle.staging.stage(T, KEYED, mode)
    text = staged.to_json()
    made = lifecycle.staging.commit(staged)
    lifecycle.staging.abort(StagedTable.from_json(text))
    assert lifecycle.load(T) == made
    assert SchemaStore(lifecycle.warehouse.file_io, made.location).latest() == made.schema


@pytest.mark.parametrize("then", ["nothing", "rename", "replace"])
def test_a_store_that_fails_behind_the_commit(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """The table exists, whatever others have made of its name meanwhile."""
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, (Recorder("r", heard),))
    others = TableLifecycle(warehouse)
    publish = StagingArea.publish

    def fail(area: StagingArea, identifier: Identifier, staged: StagedDirectory) -> NameRecord:
        publish(area, identifier, staged)
        if then == "rename":
            others.rename(T, U)
        elif then == "replace":
            monkeypatch.undo()
            others.staging.commit(others.staging.stage(T, OTHER, StagingMode.REPLACE))
        raise FileAccessError(path="lock", operation="delete", reason="EIO", may_have_happened=True)

    monkeypatch.setattr(StagingArea, "publish", fail)
    staged = lifecycle.staging.stage(T, KEYED, StagingMode.CREATE)
    with pytest.raises(FileAccessError):
        lifecycle.staging.commit(staged)
    monkeypatch.undo()
    assert [what for what in heard if "drop" in what] == []
    assert Path(staged.location, "schema").exists()
    found = others.load(U if then == "rename" else T)
    assert (found.location == staged.location) == (then != "replace")


def test_a_note_that_cannot_be_deleted_fails_no_statement(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: DirectoryJournal, note: DirectoryNote) -> None:
        raise FileAccessError(
            path=note.id, operation="delete", reason="EIO", may_have_happened=False
        )

    with monkeypatch.context() as patched:
        patched.setattr(DirectoryJournal, "forget", fail)
        made = lifecycle.create(T, KEYED)
    assert lifecycle.warehouse.staging.remove_leftovers() == ()
    assert lifecycle.load(T) == made


def test_replace_gives_a_new_directory_and_keeps_the_old_for_time_travel(
    lifecycle: TableLifecycle,
) -> None:
    old = lifecycle.create(T, KEYED)
    before_ms = lifecycle.warehouse.clock.now_ms()
    new = lifecycle.replace(T, OTHER, or_create=False)
    assert lifecycle.load(T) == new
    assert new.schema.column_names == ("z",)
    past = lifecycle.load(T, timestamp_ms=before_ms)
    assert (past.location, past.schema.fields) == (old.location, old.schema.fields)
    assert new.record.id == old.record.id
    lifecycle.drop(T)
    assert folders(lifecycle) == []


def test_replace_needs_a_table(lifecycle: TableLifecycle) -> None:
    with pytest.raises(NotFoundError):
        lifecycle.replace(T, KEYED, or_create=False)
    assert lifecycle.replace(T, KEYED, or_create=True) == lifecycle.load(T)


def test_a_failed_replace_changes_nothing(lifecycle: TableLifecycle) -> None:
    old = lifecycle.create(T, KEYED)
    with pytest.raises(InvalidSchemaError):
        lifecycle.replace(T, TableDefinition(columns=()), or_create=True)
    staged = lifecycle.staging.stage(T, OTHER, StagingMode.REPLACE)
    lifecycle.staging.abort(staged)
    assert lifecycle.load(T) == old
    assert folders(lifecycle) == ["t"]


def test_create_or_replace_meets_a_table_that_came_or_went(lifecycle: TableLifecycle) -> None:
    came = lifecycle.staging.stage(T, OTHER, StagingMode.CREATE_OR_REPLACE)
    lifecycle.create(T, KEYED)
    assert lifecycle.staging.commit(came) == lifecycle.load(T)
    went = lifecycle.staging.stage(T, KEYED, StagingMode.CREATE_OR_REPLACE)
    lifecycle.drop(T)
    assert lifecycle.staging.commit(went) == lifecycle.load(T)
    lifecycle.drop(T)
    assert folders(lifecycle) == []


def test_create_or_replace_meets_a_table_that_comes_just_then(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = lifecycle.staging.stage(T, OTHER, StagingMode.CREATE_OR_REPLACE)
    publish = StagingArea.publish

    def slow(area: StagingArea, *where: Any, **how: Any) -> NameRecord:
        monkeypatch.undo()
        lifecycle.create(T, KEYED)
        return publish(area, *where, **how)

    monkeypatch.setattr(StagingArea, "publish", slow)
    assert lifecycle.staging.commit(staged) == lifecycle.load(T)
    assert lifecycle.load(T).schema.column_names == ("z",)


def test_a_replacement_of_a_table_that_got_another_name_is_another_table(
    lifecycle: TableLifecycle,
) -> None:
    old = lifecycle.create(T, KEYED)
    staged = lifecycle.staging.stage(T, OTHER, StagingMode.CREATE_OR_REPLACE)
    lifecycle.rename(T, U)
    new = lifecycle.staging.commit(staged)
    assert new.record.id != old.record.id
    with pytest.raises(AlreadyExistsError):
        lifecycle.rename(U, T)
    assert (lifecycle.load(T), lifecycle.load(U).location) == (new, old.location)
    lifecycle.drop(T)
    assert lifecycle.load(U).schema == old.schema


def test_a_table_that_is_dropped_while_it_is_looked_up_is_not_empty(
    lifecycle: TableLifecycle,
) -> None:
    table = lifecycle.create(T, KEYED)
    opened = known_table(table.location)
    assert lifecycle.moment_of(table, opened) == (table.schema, None)
    lifecycle.rename(T, U)
    assert lifecycle.moment_of(table, opened) == (table.schema, None)
    lifecycle.rename(U, T)
    opened.append(pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([1], pa.int32())}))
    lifecycle.drop(T)
    with pytest.raises(NotFoundError):
        lifecycle.moment_of(table, opened)
    lifecycle.create(T, KEYED)
    with pytest.raises(NotFoundError):
        lifecycle.moment_of(table, opened)


def test_a_schema_that_came_behind_the_snapshot_does_not_go_with_it(
    lifecycle: TableLifecycle,
) -> None:
    before = lifecycle.create(T, KEYED)
    lifecycle.alter(T, [RenameColumn(path=("b",), name="c")])
    opened = known_table(before.location)
    assert lifecycle.moment_of(before, opened)[0].column_names == ("a", "b")
    opened.append(pa.table({"a": pa.array([1], pa.int32()), "c": pa.array([1], pa.int32())}))
    lifecycle.alter(T, [RenameColumn(path=("c",), name="d")])
    assert lifecycle.moment_of(before, opened)[0].column_names == ("a", "c")


def test_two_staged_creations_one_wins(lifecycle: TableLifecycle) -> None:
    first = lifecycle.staging.stage(T, KEYED, StagingMode.CREATE)
    second = lifecycle.staging.stage(T, OTHER, StagingMode.CREATE)
    assert first.location != second.location
    made = lifecycle.staging.commit(second)
    with pytest.raises(AlreadyExistsError):
        lifecycle.staging.commit(first)
    assert lifecycle.load(T) == made
    assert folders(lifecycle) == [Path(second.location).name]


def test_old_generations_can_be_forgotten(lifecycle: TableLifecycle) -> None:
    old = lifecycle.create(T, KEYED)
    new = lifecycle.replace(T, OTHER, or_create=False)
    removed = lifecycle.forget_generations(new, until_ms=2**60)
    assert removed == (old.location,)
    assert folders(lifecycle) == [Path(new.location).name]


# -- drop and rename -------------------------------------------------------------------------------


def test_drop(lifecycle: TableLifecycle) -> None:
    assert not lifecycle.drop(T)
    lifecycle.create(T, KEYED)
    assert lifecycle.drop(T)
    assert folders(lifecycle) == []


def test_a_table_with_a_damaged_schema_can_be_dropped(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED)
    Path(made.location, "schema", "schema-0").write_text("{")
    assert lifecycle.drop(T)
    assert folders(lifecycle) == []


def test_drop_namespace_cascade(lifecycle: TableLifecycle) -> None:
    warehouse = lifecycle.warehouse
    warehouse.create_namespace("n", {})
    lifecycle.create(Identifier("n", "t"), KEYED)
    warehouse.define(Identifier("n", "v"), VIEW, DefineMode.CREATE)
    with pytest.raises(NamespaceNotEmptyError):
        lifecycle.drop_namespace("n", cascade=False)
    lifecycle.drop_namespace("n", cascade=True)
    assert warehouse.namespaces() == ("default",)
    assert not Path(warehouse.root, "n.db").exists()


def test_the_default_namespace_stays_with_all_that_is_in_it(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED)
    with pytest.raises(ProtectedNamespaceError):
        lifecycle.drop_namespace("default", cascade=True)
    assert lifecycle.load(T) == made


def test_rename(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED)
    renamed = lifecycle.rename(T, Identifier("default", "u"))
    assert renamed.schema == made.schema
    assert lifecycle.load(Identifier("default", "u")) == renamed


# -- alter -----------------------------------------------------------------------------------------


def test_alter_makes_one_schema_of_all_changes(lifecycle: TableLifecycle) -> None:
    lifecycle.create(T, KEYED)
    altered = lifecycle.alter(
        T,
        [
            AddColumn(column=column("c", comment="new"), after="a"),
            RenameColumn(("b",), "B2"),
            SetOption("write-only", "true"),
            SetComment("changed"),
        ],
    )
    assert altered == lifecycle.load(T)
    assert altered.schema.id == 1
    assert altered.schema.column_names == ("a", "c", "B2")
    assert [f.id for f in altered.schema.fields] == [1, 3, 2]
    assert altered.schema.options == {"bucket": "3", "write-only": "true"}
    assert altered.schema.comment == "changed"
    unset = lifecycle.alter(T, [UnsetOption("write-only")])
    assert unset.schema.options == {"bucket": "3"}


def test_an_alter_that_changes_nothing_publishes_nothing(lifecycle: TableLifecycle) -> None:
    lifecycle.create(T, KEYED)
    assert lifecycle.alter(T, [SetComment("c"), SetOption("bucket", "3")]).schema.id == 0


def test_none_of_the_changes_is_made_when_one_is_refused(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED)
    with pytest.raises(InvalidSchemaError, match="a key"):
        lifecycle.alter(T, [SetComment("x"), DropColumn(("a",))])
    with pytest.raises(InvalidOptionError, match="bucket"):
        lifecycle.alter(T, [SetComment("x"), SetOption("bucket", "4")])
    with pytest.raises(InvalidOptionError, match="bucket"):
        lifecycle.alter(T, [UnsetOption("bucket")])
    with pytest.raises(UnknownOptionError, match="bucket"):
        lifecycle.alter(T, [SetOption("bukket", "4")])
    assert lifecycle.load(T) == made


def test_concurrent_alters_both_count(lifecycle: TableLifecycle) -> None:
    made = lifecycle.create(T, KEYED)
    schemas = SchemaStore(lifecycle.warehouse.file_io, made.location)
    stale = schemas.latest()
    lifecycle.alter(T, [AddColumn(column=column("c"))])
    assert stale.id == 0
    altered = lifecycle.alter(T, [AddColumn(column=column("d"))])
    assert altered.schema.column_names == ("a", "b", "c", "d")
    assert len({f.id for f in altered.schema.fields}) == 4


def test_an_alter_that_stands_still_does_not_reach_a_table_made_meanwhile(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifecycle.create(T, KEYED)
    publish = SchemaStore.publish

    def slow(schemas: SchemaStore, schema: TableSchema) -> bool:
        monkeypatch.undo()
        lifecycle.drop(T)
        lifecycle.create(T, OTHER)
        return publish(schemas, schema)

    monkeypatch.setattr(SchemaStore, "publish", slow)
    lifecycle.alter(T, [AddColumn(column=column("c"))])
    assert lifecycle.load(T).schema.column_names == ("z",)


def test_a_commit_that_stands_still_does_not_reach_a_table_made_meanwhile(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = known_table(lifecycle.create(T, OTHER).location)
    publish = SnapshotStore.publish

    def slow(*where: Any, **how: Any) -> Any:
        monkeypatch.undo()
        lifecycle.drop(T)
        lifecycle.create(T, OTHER)
        return publish(*where, **how)

    monkeypatch.setattr(SnapshotStore, "publish", slow)
    storage.append(pa.table({"z": ["of the old table"]}))
    made = lifecycle.load(T)
    assert known_table(made.location).scan().to_arrow().num_rows == 0


# -- listeners -------------------------------------------------------------------------------------


def test_listeners_hear_of_create_and_drop(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard), Recorder("2", heard)])
    lifecycle.create(T, KEYED)
    lifecycle.drop(T)
    assert heard == ["1 create t", "2 create t", "2 drop t", "1 drop t"]


def test_a_refused_create_leaves_nothing(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard), Recorder("2", heard, {"create"})])
    with pytest.raises(ListenerFailedError, match="no broker") as caught:
        lifecycle.create(T, KEYED)
    assert caught.value.listener == "Recorder"
    assert heard == ["1 create t", "2 create t", "1 drop t"]
    assert folders(lifecycle) == []
    assert notes(lifecycle) == []
    with pytest.raises(NotFoundError):
        lifecycle.load(T)


def test_a_refused_drop_changes_nothing(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard, {"drop"}), Recorder("2", heard)])
    made = lifecycle.create(T, KEYED)
    heard.clear()
    with pytest.raises(ListenerFailedError):
        lifecycle.drop(T)
    assert heard == ["2 drop t", "1 drop t", "2 create t"]
    assert lifecycle.load(T) == made


def test_a_name_taken_meanwhile_is_taken_back_from_listeners(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard)])
    staged = lifecycle.staging.stage(T, KEYED, StagingMode.CREATE)
    lifecycle.create(T, OTHER)
    heard.clear()
    with pytest.raises(AlreadyExistsError):
        lifecycle.staging.commit(staged)
    assert heard == ["1 create t", "1 drop t"]


def test_every_generation_is_heard_of_once(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard)])
    lifecycle.create(T, KEYED)
    lifecycle.replace(T, OTHER, or_create=False)
    lifecycle.drop(T)
    assert heard == ["1 create t", "1 create t", "1 drop t", "1 drop t"]


def test_a_listener_that_refuses_leaves_the_table_unaltered(warehouse: Warehouse) -> None:
    heard: list[str] = []
    lifecycle = TableLifecycle(warehouse, [Recorder("1", heard), Recorder("2", heard, {"alter"})])
    made = lifecycle.create(T, KEYED)
    heard.clear()
    with pytest.raises(ListenerFailedError):
        lifecycle.alter(T, [SetOption("log.retention", "1 d")])
    assert heard == ["1 alter t", "2 alter t", "1 alter t"]
    assert lifecycle.load(T) == made


def placed(location: str) -> TableDefinition:
    return replace(KEYED, location=location)


def test_a_location_is_the_directory_itself(lifecycle: TableLifecycle) -> None:
    root = lifecycle.warehouse.root
    made = lifecycle.create(T, placed(f"file:{root}/own/place"))
    assert made.location == f"{root}/own/place"
    assert lifecycle.load(T).location == made.location
    again = lifecycle.replace(T, KEYED, or_create=False)
    assert again.location.startswith(f"{root}/default.db/")
    beside = lifecycle.staging.stage(T, KEYED, StagingMode.REPLACE, beside=made.location)
    assert Path(beside.location).parent == Path(root, "own")
    lifecycle.staging.abort(beside)
    lifecycle.drop(T)
    assert not Path(made.location).exists()


def test_a_location_that_is_no_table_s_own_is_refused(lifecycle: TableLifecycle) -> None:
    """Else a table would have the files of another one, which removes what it does not know."""
    root = lifecycle.warehouse.root
    lifecycle.create(T, placed(f"{root}/own/place"))
    Path(root, "full").mkdir()
    Path(root, "full", "file").touch()
    other = Identifier("default", "other")
    for location, reason in {
        f"{root}/own/place": "within",
        f"{root}/own/place/inside/more": "within",
        f"{root}/own": "something is in it",
        f"{root}/full": "something is in it",
        f"{root}/default.db/x": "looks like",
        root: "none itself",
        "/etc/x": "tables may lie below",
        "own/relative": "not absolute",
    }.items():
        with pytest.raises(PathNotAllowedError, match=reason):
            lifecycle.create(other, placed(location))
    with pytest.raises(PathNotAllowedError, match="within"):
        lifecycle.create(other, KEYED.with_options({"file.path": f"{root}/own/place/inside"}))
    assert lifecycle.warehouse.find(other) is None
    lifecycle.create(other, placed(f"{root}/own/other"))


# -- a table that takes the place of another one ---------------------------------------------------


@pytest.mark.parametrize("then", ["rename", "replace", "drop"])
def test_others_settle_a_succession_and_go_on(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """Somebody loads the table before its owner goes on, and changes its name: nothing is lost."""
    lifecycle.create(T, KEYED)
    table = lifecycle.load(T)
    staged = lifecycle.staging.stage(T, OTHER, StagingMode.REPLACE)
    settled = Identifier("default", "u" if then == "rename" else "t")

    def settle_and_go_on(*arguments: Any) -> None:
        settle_succession(*arguments)
        if then == "rename":
            lifecycle.rename(T, settled)
        elif then == "replace":
            lifecycle.replace(T, KEYED, or_create=False)
        else:
            lifecycle.drop(T)

    monkeypatch.setattr(
        "table_store.catalog.tables.table_staging.settle_succession", settle_and_go_on
    )
    has_happened = lifecycle.staging.succeed(table, staged, 0)
    monkeypatch.undo()
    assert has_happened == (then != "drop")
    assert Path(staged.location).exists() == (then != "drop")
    if then != "drop":
        columns = ("z",) if then == "rename" else KEYED.schema(time_ms=0).column_names
        assert lifecycle.load(settled).schema.column_names == columns
    assert notes(lifecycle) == []


def test_the_directory_of_a_replaced_table_takes_no_rows(lifecycle: TableLifecycle) -> None:
    old = known_table(lifecycle.create(T, OTHER).location)
    rows = pa.table({"z": ["a"]})
    old.append(rows)
    lifecycle.staging.abort(lifecycle.staging.stage(T, OTHER, StagingMode.REPLACE))
    old.append(rows)
    writer = old.writer()
    writer.write(rows)
    new = lifecycle.replace(T, OTHER, or_create=True)
    assert old.schema.successor == Successor(location=new.location)
    with pytest.raises(TableMovedError, match="by its name again"):
        old.append(rows)
    old.commit(writer.prepare_commit())  # it began before
    assert old.scan().count() == 3
    assert lifecycle.load(T) == new
    known_table(new.location).append(rows)


def test_a_replacement_that_dies_before_it_is_visible_leaves_a_table_to_write(
    lifecycle: TableLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who finds its mark while it lives can read, and once it is dead, write."""
    old, others = lifecycle.create(T, OTHER), TableLifecycle(lifecycle.warehouse)
    staged = lifecycle.staging.stage(T, KEYED, StagingMode.REPLACE)
    seen: list[ManagedTable] = []

    def die(names: NameRegistry, record: NameRecord) -> None:
        seen.append(others.load(T))
        raise FileAccessError(path="name", operation="write", reason="EIO")

    monkeypatch.setattr(NameRegistry, "replace", die)
    with pytest.raises(FileAccessError):
        lifecycle.staging.commit(staged)
    monkeypatch.undo()
    assert seen[0].schema.successor == Successor(location=staged.location)
    table = lifecycle.load(T)
    assert table.location == old.location
    assert table.schema.successor is None
    known_table(old.location).append(pa.table({"z": ["a"]}))


def test_a_table_whose_schema_is_damaged_can_be_replaced(lifecycle: TableLifecycle) -> None:
    old = lifecycle.create(T, KEYED)
    Path(old.location, "schema", "schema-0").write_text("{")
    new = lifecycle.replace(T, OTHER, or_create=False)
    assert lifecycle.load(T) == new


def test_a_replacement_overtakes_a_succession(lifecycle: TableLifecycle) -> None:
    """The copy for another key was announced, and no one has settled it: it does not come back."""
    table = lifecycle.create(T, OTHER)
    staged = lifecycle.staging.stage(T, OTHER, StagingMode.REPLACE)
    assert announce_successor(lifecycle.warehouse, table.location, table.schema, staged, 0)
    new = lifecycle.replace(T, KEYED, or_create=False)
    settle_succession(lifecycle.warehouse, table.record, table.location)
    assert lifecycle.load(T) == new
    assert known_table(table.location).schema.successor == Successor(location=new.location)


def test_a_namespace_in_the_folder_of_a_table(lifecycle: TableLifecycle) -> None:
    """Its tables would go with that one, so none is made there."""
    folder = f"{lifecycle.warehouse.root}/own"
    lifecycle.warehouse.create_namespace("n", {"location": folder})
    lifecycle.create(T, replace(OTHER, location=folder))
    with pytest.raises(PathNotAllowedError, match="the folder of a table"):
        lifecycle.create(Identifier("n", "u"), OTHER)
    lifecycle.drop(T)
    lifecycle.create(Identifier("n", "u"), OTHER)
