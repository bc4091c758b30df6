"""Goal: a stream under a name keeps what it needs from expiring, as long as it is heard of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.storage.file_store.metadata.consumer import READER, READER_MS
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import CorruptFileError, PathNotAllowedError
from table_store.storage.kernel.types import INTEGER
from tests.fakes.manual_clock import ManualClock

DAY_MS = 24 * 3600 * 1000
ALL_BUT_ONE = ExpireOptions(older_than_ms=2**62, retain_min=1, expire_max=1000)


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    fields = (Field(id=0, name="a", type=INTEGER),)
    schema = TableSchema(id=0, fields=fields, highest_field_id=0, time_ms=0)
    made = FileStoreTable.create(str(tmp_path / "t"), schema)
    return replace(made, clock=ManualClock())


def commit(table: FileStoreTable, count: int) -> None:
    for number in range(count):
        table.append(pa.table({"a": pa.array([number], pa.int32())}))


def test_needed_snapshots_stay(table: FileStoreTable) -> None:
    """With the one before the next, from which its changes are told."""
    commit(table, 6)
    table.consumers.note("late", 4)
    table.consumers.note("later/.. ü", 5)
    table.expire_snapshots(ALL_BUT_ONE)
    assert table.snapshot_store.earliest_id() == 3
    assert table.changes(4).to_arrow().num_rows == 3
    table.consumers.note("late", 6)
    table.expire_snapshots(ALL_BUT_ONE)
    assert table.snapshot_store.earliest_id() == 4
    assert table.consumers.remove("later/.. ü")
    assert not table.consumers.remove("later/.. ü")
    table.expire_snapshots(ALL_BUT_ONE)
    assert table.snapshot_store.earliest_id() == 5


def test_silent_consumer(table: FileStoreTable) -> None:
    """Saying the same again counts, though it is rarely written."""
    commit(table, 4)
    clock = table.clock
    assert isinstance(clock, ManualClock)
    table.consumers.note("a", 2)
    first = table.consumers.all()[0].time_ms
    table.consumers.note("a", 2)
    assert table.consumers.all()[0].time_ms == first
    clock.sleep_ms(6 * DAY_MS)
    table.consumers.note("a", 2)
    clock.sleep_ms(6 * DAY_MS)
    table.expire_snapshots(ALL_BUT_ONE)
    assert table.snapshot_store.earliest_id() == 1
    clock.sleep_ms(2 * DAY_MS)
    assert table.consumers.all() == ()
    table.expire_snapshots(ALL_BUT_ONE)
    assert table.snapshot_store.earliest_id() == 4


def test_bad_names_and_files(table: FileStoreTable) -> None:
    with pytest.raises(PathNotAllowedError):
        table.consumers.note("x" * 300, 1)
    table.consumers.note("a", 1)
    next(Path(table.path).glob("consumer/consumer-a")).write_text("{}")
    with pytest.raises(CorruptFileError, match="not a consumer"):
        table.expire_snapshots(ALL_BUT_ONE)
    assert table.consumers.remove("a")
    assert table.consumers.needed_from_id() is None


def test_a_file_of_another_consumer(table: FileStoreTable) -> None:
    for name in "ab":
        table.consumers.note(name, 1)
    one, other = (Path(table.path, "consumer", f"consumer-{name}") for name in "ab")
    one.write_bytes(other.read_bytes())
    for use in (table.consumers.all, lambda: table.consumers.note("a", 2)):
        with pytest.raises(CorruptFileError, match=r"consumer-a.*it holds consumer 'b'"):
            use()


def test_a_reader_lapses_sooner(table: FileStoreTable) -> None:
    """A query whose program has died must not keep what streams may need for days."""
    clock = table.clock
    assert isinstance(clock, ManualClock)
    for name in ("reader:host:1:2:3", "stream"):
        table.consumers.note(name, 4)
    clock.time_ms += READER_MS // 2
    table.consumers.note("reader:host:9:2:3", 4)
    clock.time_ms += READER_MS // 2
    assert [one.id for one in table.consumers.all()] == ["reader:host:9:2:3", "stream"]
    table.consumers.remove_lapsed_readers()
    assert [one.id for one in table.consumers.known()] == ["reader:host:9:2:3", "stream"]
    (renewed,) = [one for one in table.consumers.known() if one.id.startswith(READER)]
    table.consumers.note(renewed.id, 4)
    (later,) = [one for one in table.consumers.known() if one.id.startswith(READER)]
    assert later.time_ms == clock.time_ms
