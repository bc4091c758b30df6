"""Goal: each procedure takes Paimon's arguments, refuses bad ones, and does what it says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.errors import InvalidIdentifierError
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.shown.file_procedures import ORPHAN_AGE_MIN_MS
from table_store.catalog.shown.procedure import MissingArgumentError
from table_store.catalog.shown.procedure_context import ProcedureContext, Transferred
from table_store.catalog.shown.procedures import PROCEDURES
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    CorruptFileError,
    InvalidOptionError,
    NotFoundError,
    TableStoreError,
    UnknownOptionError,
)
from table_store.storage.kernel.types import INTEGER

T = Identifier("default", "t")
PLAIN = TableDefinition(columns=(Field(id=0, name="a", type=INTEGER),))


class Session:
    """A context, with the compactions that were asked for and the tables cached anew."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.compactions: list[tuple[str, Mapping[str, str]]] = []
        self.recached: list[str] = []
        self.lifecycle = TableLifecycle(warehouse)
        self.context = ProcedureContext(
            lifecycle=self.lifecycle,
            catalog_name="table_store",
            namespace="default",
            time_zone="UTC",
            compact=self._compact,
            await_jobs=lambda: 0,
            flush=lambda _: [],
            import_table=lambda _: Transferred(snapshot_id=1, rows=2, files=0),
            export_table=lambda *_: Transferred(snapshot_id=1, rows=2, files=3),
            pin=lambda _: 0,
            recache=lambda table: self.recached.append(table.identifier.name),
            revise=lambda _table, _request, is_dry: [],
            sync_database=lambda _: [],
        )

    def _compact(self, table: ManagedTable, partition: Mapping[str, str]) -> Mapping[str, int]:
        self.compactions.append((table.identifier.name, partition))
        return {"files_before": 3, "files_after": 1, "bytes_before": 30, "bytes_after": 10}

    def call(self, name: str, **arguments: str | None) -> list[dict[str, object]]:
        procedure = PROCEDURES[name]
        result = procedure.call(self.context, arguments)
        assert result.schema == procedure.result
        listed: list[dict[str, object]] = result.to_pylist()
        return listed


@pytest.fixture
def session(warehouse: Warehouse) -> Session:
    return Session(warehouse)


def table_with_commits(session: Session, count: int) -> FileStoreTable:
    made = session.lifecycle.create(T, PLAIN)
    warehouse = session.lifecycle.warehouse
    table = FileStoreTable(
        warehouse.file_io, made.location, clock=warehouse.clock, ids=warehouse.ids
    )
    for number in range(count):
        table.append(pa.table({"a": pa.array([number], pa.int32())}))
    return table


def test_compact(session: Session) -> None:
    table_with_commits(session, 1)
    one = {"files_before": 3, "files_after": 1, "bytes_before": 30, "bytes_after": 10}
    assert session.call("compact", table="t") == [one]
    (two,) = session.call("compact", table="default.T", partitions="p=0,q='x';p=1")
    assert two["bytes_before"] == 60
    assert session.compactions == [("t", {}), ("t", {"p": "0", "q": "x"}), ("t", {"p": "1"})]
    with pytest.raises(InvalidOptionError):
        session.call("compact", table="t", partitions="p")


def test_rollback(session: Session) -> None:
    table = table_with_commits(session, 3)
    (result,) = session.call("rollback", table="t", version="1")
    assert result == {"previous_snapshot_id": 3, "current_snapshot_id": 4}
    assert table.scan().to_arrow().to_pydict() == {"a": [0]}
    (result,) = session.call("rollback", table="t", snapshot="3")
    assert sorted(table.scan().to_arrow().to_pydict()["a"]) == [0, 1, 2]
    assert session.recached == ["t", "t"]


def test_rollback_goes_to_what_a_tag_keeps(session: Session) -> None:
    table = table_with_commits(session, 3)
    session.call("create_tag", table="t", tag="one", snapshot="1")
    session.call("expire_snapshots", table="t", retain_max="1")
    for target in ({"version": " one"}, {"version": "1"}, {"snapshot": "1"}):
        session.call("rollback", table="t", **target)
        assert table.scan().to_arrow().to_pydict() == {"a": [0]}
        table.append(pa.table({"a": pa.array([7], pa.int32())}))


@pytest.mark.parametrize(
    ("target", "error", "known"),
    [
        ({"version": "77"}, SnapshotNotFoundError, "1 to 3"),
        ({"snapshot": "-1"}, SnapshotNotFoundError, "1 to 3"),
        ({"version": "main"}, NotFoundError, "tag 'main' does not exist. Known: one"),
    ],
)
def test_rollback_names_the_versions_there_are(
    session: Session, target: dict[str, str], error: type[TableStoreError], known: str
) -> None:
    table_with_commits(session, 3)
    session.call("create_tag", table="t", tag="one", snapshot="1")
    with pytest.raises(error, match=known):
        session.call("rollback", table="t", **target)


def test_rollback_needs_one_target(session: Session) -> None:
    table_with_commits(session, 1)
    for arguments in ({}, {"version": "1", "snapshot": "1"}):
        with pytest.raises(InvalidOptionError, match="either"):
            session.call("rollback", table="t", **arguments)


def test_expire_snapshots(session: Session) -> None:
    table = table_with_commits(session, 5)
    assert session.call("expire_snapshots", table="t")[0]["deleted_snapshots_count"] == 0
    (result,) = session.call("expire_snapshots", table="t", retain_max="2")
    assert result["deleted_snapshots_count"] == 3
    assert table.snapshot_store.ids() == (4, 5)
    (result,) = session.call(
        "expire_snapshots", table="t", retain_min="1", older_than="2100-01-01 00:00:00"
    )
    assert table.snapshot_store.ids() == (5,)
    assert sorted(table.scan().to_arrow().to_pydict()["a"]) == [0, 1, 2, 3, 4]


def test_expire_snapshots_removes_what_replace_left(session: Session) -> None:
    old = table_with_commits(session, 1)
    session.lifecycle.replace(T, PLAIN, or_create=False)
    session.call("expire_snapshots", table="t")
    assert Path(old.path).exists()
    session.call("expire_snapshots", table="t", older_than="2100-01-01")
    assert not Path(old.path).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"retain_max": "0"},
        {"retain_min": "0"},
        {"retain_max": "2", "retain_min": "3"},
        {"retain_max": "two"},
        {"older_than": "yesterday"},
    ],
)
def test_expire_snapshots_refuses(session: Session, arguments: dict[str, str]) -> None:
    table_with_commits(session, 1)
    with pytest.raises(InvalidOptionError):
        session.call("expire_snapshots", table="t", **arguments)


def test_remove_orphan_files(session: Session) -> None:
    table = table_with_commits(session, 1)
    orphan = Path(table.path, "bucket-0", "data-left-0.parquet")
    orphan.write_bytes(b"12345")
    soon = {"older_than": "2100-01-01 00:00:00"}
    assert session.call("remove_orphan_files", table="t")[0]["deletedFileCount"] == 0
    (dry,) = session.call("remove_orphan_files", table="t", dry_run="TRUE", **soon)
    assert dry == {"deletedFileCount": 1, "deletedFileTotalLenInBytes": 5}
    assert orphan.exists()
    with pytest.raises(InvalidOptionError, match="force => true"):
        session.call("remove_orphan_files", table="default.*", **soon)
    assert orphan.exists()
    (done,) = session.call("remove_orphan_files", table="default.*", force="true", **soon)
    assert done == dry
    assert not orphan.exists()
    orphan.write_bytes(b"12345")
    assert session.call("remove_orphan_files", table="t", dry_run="true", force="true") == [dry]
    assert session.call("remove_orphan_files", table="t", force="true") == [dry]
    assert not orphan.exists()
    assert table.scan().to_arrow().to_pydict() == {"a": [0]}


@pytest.mark.parametrize("damaged", ["snapshot/snapshot-1", "schema/schema-0"])
def test_a_damaged_table_keeps_its_orphans_alone(session: Session, damaged: str) -> None:
    """Whatever the order of the tables; the error names the file."""
    table = table_with_commits(session, 1)
    orphan = Path(table.path, "bucket-0", "data-left-0.parquet")
    orphan.write_bytes(b"12345")
    arguments = {"table": "default.*", "force": "true", "older_than": "2100-01-01 00:00:00"}
    for name in ("a", "z"):
        other = session.lifecycle.create(Identifier("default", name), PLAIN)
        FileStoreTable.open(other.location).append(pa.table({"a": pa.array([1], pa.int32())}))
        Path(other.location, damaged).write_bytes(b"!")
    with pytest.raises(CorruptFileError, match=damaged):
        session.call("remove_orphan_files", **arguments)
    assert not orphan.exists()


def test_orphans_of_a_day_go_without_force(session: Session) -> None:
    """The latest moment that may be named is a day ago."""
    table_with_commits(session, 1)
    now_ms = session.lifecycle.warehouse.clock.now_ms()
    for age_ms, is_refused in ((ORPHAN_AGE_MIN_MS - 60_000, True), (ORPHAN_AGE_MIN_MS, False)):
        moment = dt.datetime.fromtimestamp((now_ms - age_ms) / 1000, dt.UTC).isoformat()
        refusal = pytest.raises(InvalidOptionError, match="a day") if is_refused else nullcontext()
        with refusal:
            session.call("remove_orphan_files", table="t", older_than=moment)


def test_only_a_log_in_kafka_is_relayed(session: Session) -> None:
    session.lifecycle.create(T, PLAIN)
    with pytest.raises(InvalidOptionError, match=r"'log\.system' = 'file' is not valid: only"):
        session.call("relay_log", table="t")


def test_arguments_are_checked(session: Session) -> None:
    with pytest.raises(MissingArgumentError, match="'table'"):
        session.call("compact")
    with pytest.raises(UnknownOptionError):
        session.call("compact", table="t", tables="t")
    with pytest.raises(NotFoundError):
        session.call("compact", table="absent")
    table_with_commits(session, 1)
    with pytest.raises(InvalidOptionError, match="BOOLEAN"):
        session.call("remove_orphan_files", table="t", dry_run="maybe")


def test_declarations() -> None:
    for procedure in PROCEDURES.values():
        for first in procedure.parameters[:1]:
            is_of_all = procedure.name in ("flush", "pin", "refresh_history")
            found = (first.name, first.is_required, first.default)
            others = {"forget_job": "job", "import": "format", "sync_database": "source"}
            others |= dict.fromkeys(("begin_transaction", "end_transaction"), "transaction")
            name = others.get(procedure.name, "table")
            assert found == (name, not is_of_all, "NULL" if is_of_all else None)
        for parameter in procedure.parameters:
            assert parameter.description.endswith(".")
            assert (parameter.default == "NULL") is not parameter.is_required


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t", Identifier("here", "t")),
        ("db.t", Identifier("db", "t")),
        (" db . t ", Identifier("db", "t")),
        ("CAT.db.t", Identifier("db", "t")),
        ("`a.b`.`c``d`", Identifier("a.b", "c`d")),
        ("t-1", Identifier("here", "t-1")),
    ],
)
def test_table_names(text: str, expected: Identifier) -> None:
    assert parse_table_name(text, catalog="cat", namespace="here") == expected


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "a.b.c.d", "other.db.t", "`a", "a b c"]
)
def test_bad_table_names(text: str) -> None:
    with pytest.raises(InvalidIdentifierError):
        parse_table_name(text, catalog="cat", namespace="here")


def test_reset_consumer(session: Session) -> None:
    table = table_with_commits(session, 2)
    for following, was_known in (("1", False), ("3", True), (None, True), (None, False)):
        mine = {"consumer_id": "mine", "next_snapshot_id": following}
        assert session.call("reset_consumer", table="t", **mine) == [{"was_known": was_known}]
        kept = [] if following is None else [("mine", int(following))]
        assert [(c.id, c.next_snapshot_id) for c in table.consumers.all()] == kept
    for arguments in (
        {"consumer_id": "mine", "next_snapshot_id": "-1"},
        {"consumer_id": "mine", "next_snapshot_id": "0"},
        {"consumer_id": "mine", "next_snapshot_id": "4"},
        {"consumer_id": "", "next_snapshot_id": "1"},
    ):
        with pytest.raises(InvalidOptionError):
            session.call("reset_consumer", table="t", **arguments)
    assert table.consumers.all() == ()


def test_tags(session: Session) -> None:
    table = table_with_commits(session, 0)
    with pytest.raises(NotFoundError):
        session.call("create_tag", table="t", tag="a")
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    table.append(pa.table({"a": pa.array([2], pa.int32())}))
    assert session.call("create_tag", table="t", tag="a") == [{"tag": "a", "snapshot_id": 2}]
    assert session.call("create_tag", table="t", tag="b", snapshot="1") == [
        {"tag": "b", "snapshot_id": 1}
    ]
    assert session.call("delete_tag", table="t", tag="a") == [{"tag": "a", "snapshot_id": 2}]
    assert [tag.name for tag in table.tags.all()] == ["b"]
    Path(table.path, "tag", "tag-b").write_bytes(b"{}")
    assert session.call("delete_tag", table="t", tag="b") == [{"tag": "b", "snapshot_id": None}]
    assert table.tags.all() == ()


def test_what_a_transfer_is_told(session: Session) -> None:
    source = {"format": "Delta", "path": "/p", "table": "ns.n", "primary_key": "a, b"}
    assert session.call("import", **source) == [{"table": "`ns`.`n`", "snapshot_id": 1, "rows": 2}]
    with pytest.raises(InvalidOptionError, match="parquet, delta"):
        session.call("import", **{**source, "format": "orc"})
    table_with_commits(session, 0)
    assert session.call("export", table="t", format="parquet", path="/q") == [
        {"path": "/q", "snapshot_id": 1, "files": 3, "rows": 2}
    ]
