"""Goal: temporary tables belong to one session, end with it, and outlive no dead process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.listeners import TableContext
from table_store.catalog.tables.temporary_tables import (
    FOREIGN_SESSION_AGE_MAX_MS,
    TemporaryTables,
    remove_sessions_that_ended,
)
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.kernel.types import INTEGER
from tests.unit.catalog.conftest import SteppingClock

T = Identifier("default", "t")
PLAIN = TableDefinition(columns=(Field(id=0, name="a", type=INTEGER),))
DEAD = replace(identity_of(), start="ended")
ELSEWHERE = replace(identity_of(), host="elsewhere")


class Drops:
    """A listener that counts what goes, and may refuse."""

    def __init__(self, *, is_broken: bool = False) -> None:
        self.is_broken = is_broken
        self.dropped: list[str] = []

    def on_create_table(self, context: TableContext) -> None:
        pass

    def on_alter_table(self, context: TableContext, before: TableSchema) -> None:
        pass

    def on_drop_table(self, context: TableContext) -> None:
        if self.is_broken:
            raise RuntimeError("no broker")
        self.dropped.append(context.identifier.name)


def session(
    warehouse: Warehouse, name: str = "s-1", owner: ProcessIdentity | None = None
) -> TemporaryTables:
    owner = identity_of() if owner is None else owner
    return TemporaryTables(warehouse=warehouse, session_id=name, owner=owner)


def folders(warehouse: Warehouse) -> list[str]:
    return [status.name for status in warehouse.file_io.list(f"{warehouse.root}/_temporary")]


def test_each_session_has_its_own(warehouse: Warehouse) -> None:
    one, two = session(warehouse), session(warehouse, "s-2")
    made = one.begin().create(T, PLAIN)
    assert made.location.startswith(f"{warehouse.root}/_temporary/s-1-")
    assert one.lifecycle().load(T) == made
    with pytest.raises(NotFoundError):
        two.lifecycle().load(T)
    assert warehouse.find(T) is None
    assert warehouse.namespaces() == ("default",)


def test_looking_makes_nothing(warehouse: Warehouse) -> None:
    assert session(warehouse).lifecycle().warehouse.find(T) is None
    assert folders(warehouse) == []
    session(warehouse).end()
    assert not Path(warehouse.root).exists()


def test_a_planner_started_anew_finds_them(warehouse: Warehouse) -> None:
    made = session(warehouse).begin().create(T, PLAIN)
    assert session(warehouse).begin().load(T) == made


def test_the_option_file_path_does_not_move_them(warehouse: Warehouse) -> None:
    settings = {"table-storage.file.path": "/elsewhere"}
    made = session(warehouse).begin().create(T, PLAIN, settings=settings)
    assert made.location.startswith(warehouse.root)


def test_they_go_with_the_session(warehouse: Warehouse) -> None:
    drops = Drops()
    ending = replace(session(warehouse), listeners=[drops])
    ending.begin().create(T, PLAIN)
    session(warehouse, "s-2").begin().create(T, PLAIN)
    ending.end()
    assert drops.dropped == ["t"]
    assert len(folders(warehouse)) == 1


def test_what_a_dead_process_left_goes_at_the_next_start(warehouse: Warehouse) -> None:
    session(warehouse).begin().create(T, PLAIN)
    session(warehouse, "dead", DEAD).begin().create(T, PLAIN)
    session(warehouse, "elsewhere", ELSEWHERE).begin().create(T, PLAIN)
    drops = Drops()
    (removed,) = remove_sessions_that_ended(warehouse, [drops])
    assert "/dead-" in removed
    assert drops.dropped == ["t"]
    assert len(folders(warehouse)) == 2


def test_another_machine_has_a_week(warehouse: Warehouse, clock: SteppingClock) -> None:
    session(warehouse, "elsewhere", ELSEWHERE).begin().create(T, PLAIN)
    assert remove_sessions_that_ended(warehouse) == ()
    clock.time_ms += FOREIGN_SESSION_AGE_MAX_MS
    assert len(remove_sessions_that_ended(warehouse)) == 1
    assert folders(warehouse) == []


def test_a_damaged_note_of_a_session_is_judged_by_age(
    warehouse: Warehouse, clock: SteppingClock
) -> None:
    begun = session(warehouse)
    begun.begin().create(T, PLAIN)
    Path(begun.root, "_session.json").write_text("{")
    clock.time_ms = 2**41  # years after the folder was made
    assert remove_sessions_that_ended(warehouse) == (begun.root,)


def test_a_refusing_listener_keeps_the_table_for_the_next_time(warehouse: Warehouse) -> None:
    dead = session(warehouse, "dead", DEAD)
    dead.begin().create(T, PLAIN)
    assert remove_sessions_that_ended(warehouse, [Drops(is_broken=True)]) == ()
    assert dead.lifecycle().load(T).schema.column_names == ("a",)
    assert len(remove_sessions_that_ended(warehouse)) == 1


def test_any_session_id_is_one_folder(warehouse: Warehouse) -> None:
    odd = session(warehouse, "../é" * 80)
    odd.begin().create(T, PLAIN)
    assert len(folders(warehouse)) == 1
    odd.end()
    assert folders(warehouse) == []
