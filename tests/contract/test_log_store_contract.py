"""Goal: the log of a table does the same, in Kafka and on files, for who commits and who reads."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from servers.kafka_broker import KafkaBroker
from servers.topic_reader import committed_messages, replayed
from table_store import TableDescriptor, connect
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.model.errors import ChangesNotAvailableError
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.log_store import LogStore, is_logged
from table_store.storage.log_store.log_stores import log_store
from tests.fakes.manual_clock import ManualClock

HOUR_MS = 3_600_000
NEVER_YOUNG = 1 << 50
_names = count()
Rows = Counter[str]


@dataclass(frozen=True)
class LogUnderTest:
    """A table with a log, and what its log alone tells."""

    table: FileStoreTable
    clock: ManualClock
    replayed_at: Callable[[FileStoreTable, int], Rows]

    @property
    def log(self) -> LogStore:
        return log_store(self.table.schema)

    @property
    def latest(self) -> int:
        return self.table.snapshot_store.latest_id() or 0

    def write(self, *pairs: tuple[int, str]) -> None:
        self.clock.time_ms += HOUR_MS
        self.table.append(rows(*pairs))

    def expire(self) -> None:
        options = ExpireOptions(older_than_ms=NEVER_YOUNG, retain_min=1, retain_max=1)
        self.table.expire_snapshots(options)

    def alter(self, **options: str) -> None:
        old = self.table.schema
        named = {key.replace("_", "."): value for key, value in options.items()}
        new = replace(old, id=old.id + 1, options={**old.options, **named})
        assert self.table.schema_store.publish(new)
        log_store(new).set_retention()


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"id": pa.array([p[0] for p in pairs], pa.int64()), "v": [p[1] for p in pairs]})


def heard(table: FileStoreTable) -> FileStoreTable:
    return replace(table, listener=LogListener(table))


def state(table: FileStoreTable, version: int) -> Rows:
    return Counter(map(json.dumps, table.scan(version=version).to_arrow().to_pylist()))


def by_topic(table: FileStoreTable, snapshot_id: int) -> Rows:
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    return replayed(committed_messages(settings.brokers, settings.topic), snapshot_id)


def by_kept_files(table: FileStoreTable, snapshot_id: int) -> Rows:
    """What is left to tell of a copy of the table whose snapshots have all expired."""
    copy = Path(f"{table.path}-{next(_names)}")
    shutil.copytree(table.path, copy)
    expired = heard(replace(FileStoreTable.open(str(copy)), clock=table.clock))
    expired.expire_snapshots(ExpireOptions(older_than_ms=NEVER_YOUNG, retain_min=1, retain_max=1))
    changes = expired.changes(1, snapshot_id, skips_untracked=True).to_arrow().to_pylist()
    found: Rows = Counter()
    for change in sorted(changes, key=lambda c: c["_commit_version"]):
        gone = change["_change_type"] in ("delete", "update_preimage")
        found[json.dumps({"id": change["id"], "v": change["v"]})] += -1 if gone else 1
    return +found


@pytest.fixture(params=["kafka", "file"])
def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> LogUnderTest:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("v", "STRING")
    descriptor = descriptor.primary_key("id").option("log.retention", "1 d").option("bucket", "2")
    if request.param == "kafka":
        broker: KafkaBroker = request.getfixturevalue("kafka_broker")
        descriptor = descriptor.option("log.kafka.bootstrap.servers", broker.bootstrap)
        descriptor = descriptor.option("log.changelog-mode", "all")
    table = connect(str(tmp_path)).create(f"contract{next(_names)}", descriptor).storage
    clock = ManualClock()
    table = heard(replace(table, clock=clock))
    return LogUnderTest(table, clock, by_topic if request.param == "kafka" else by_kept_files)


def test_a_replay_of_the_log_is_the_table_at_every_snapshot(under_test: LogUnderTest) -> None:
    table = under_test.table
    under_test.write((1, "a"), (2, "a"), (3, "a"))
    under_test.write((1, "b"), (4, "b"))
    table.compact()
    table.delete(rows((2, ""), (4, "")))
    table.overwrite(rows((3, "c"), (5, "c")))
    under_test.write((3, "d"))
    for snapshot in table.snapshot_store.newest_first():
        assert under_test.replayed_at(table, snapshot.id) == state(table, snapshot.id), snapshot.id


def test_it_has_what_was_committed_when_it_did_not_hear(under_test: LogUnderTest) -> None:
    table = under_test.table
    replace(table, listener=NO_LISTENER).append(rows((1, "a"), (2, "a")))
    replace(table, listener=NO_LISTENER).append(rows((1, "b")))
    assert under_test.log.follow(table, under_test.latest).snapshot_id == 2
    assert under_test.replayed_at(table, 2) == state(table, 2)
    under_test.write((2, "c"))
    for _ in range(2):
        assert under_test.log.follow(table, 3).snapshot_id == 3  # nothing twice
    assert under_test.replayed_at(table, 3) == state(table, 3)


def test_it_may_follow_no_further_than_asked(under_test: LogUnderTest) -> None:
    quiet = replace(under_test.table, listener=NO_LISTENER)
    for value in "abc":
        quiet.append(rows((1, value)))
    assert under_test.log.follow(quiet, 2).snapshot_id == 2
    assert under_test.replayed_at(quiet, 2) == state(quiet, 2)
    assert under_test.log.follow(quiet, 3).snapshot_id == 3
    assert under_test.replayed_at(quiet, 3) == state(quiet, 3)


def test_what_was_not_to_be_tracked_is_not_told(under_test: LogUnderTest) -> None:
    table = under_test.table
    under_test.write((1, "a"))
    with table.writer() as writer:
        writer.write(rows((2, "hidden")))
        messages = writer.prepare_commit()
    table.commit(messages, track_changes=False)
    table.compact()
    under_test.write((3, "c"))
    told = [is_logged(s) for s in table.snapshot_store.newest_first()]
    assert told == [True, False, False, True]
    seen = {json.dumps({"id": 1, "v": "a"}), json.dumps({"id": 3, "v": "c"})}
    assert set(under_test.replayed_at(table, under_test.latest)) == seen


def test_several_may_follow_at_once(under_test: LogUnderTest) -> None:
    quiet = replace(under_test.table, listener=NO_LISTENER)
    for value in "abcdef":
        quiet.append(rows((1, value), (2, value)))
    followers = [Thread(target=under_test.log.follow, args=(quiet, 6)) for _ in range(3)]
    for follower in followers:
        follower.start()
    for follower in followers:
        follower.join()
    assert under_test.replayed_at(quiet, 6) == state(quiet, 6)


def test_changes_outlive_their_snapshots_for_as_long_as_it_says(under_test: LogUnderTest) -> None:
    table = under_test.table
    for number in range(5):
        under_test.write((1, f"{number}"), (number, "x"))
    before = sorted(map(str, table.changes(1).to_arrow().to_pylist()))
    under_test.expire()
    assert table.snapshot_store.ids() == (5,)
    assert sorted(map(str, table.changes(1).to_arrow().to_pylist())) == before
    under_test.alter(log_retention="3 h")
    under_test.write((9, "y"))
    under_test.expire()
    assert set(table.changes(4).to_arrow()["_commit_version"].to_pylist()) == {4, 5, 6}
    with pytest.raises(ChangesNotAvailableError, match="available are the versions"):
        table.changes(1)


def test_a_log_that_is_made_again_is_empty(under_test: LogUnderTest) -> None:
    under_test.write((1, "a"))
    under_test.log.drop()
    under_test.log.drop()  # gone already: fine
    under_test.log.create()
    settings = KafkaSettings.of(under_test.table.schema)
    if settings is not None:
        assert committed_messages(settings.brokers, settings.topic) == []
    under_test.log.check_ready()
    under_test.write((2, "b"))
    assert under_test.log.follow(under_test.table, 2).snapshot_id == 2
