"""Goal: whatever dies while changes are relayed, the topic leads to the table at every snapshot.

TABLE_STORE_LOG_CRASHES widens the random part.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from servers.kafka_broker import KafkaBroker
from servers.topic_reader import committed_messages, replayed
from table_store import TableDescriptor, connect, open_table
from table_store.storage.file_store.commit.commit_listener import NO_LISTENER
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.encoding.debezium_json import LogMessages
from table_store.storage.log_store.kafka import kafka_log_store, kafka_log_writer
from table_store.storage.log_store.kafka.kafka_log_store import KafkaLogStore
from table_store.storage.log_store.kafka.kafka_transactions import checksum
from table_store.storage.log_store.kafka.record_batch import RecordOrigin, record_batches
from table_store.storage.log_store.log_errors import (
    LogFencedError,
    LogUnavailableError,
)
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.snapshot_messages import snapshot_messages
from tests.fakes.cutting_proxy import CuttingProxy
from tests.fakes.dying_cluster import Death, Steps, counted

pytestmark = [
    pytest.mark.crash,
    # Kafka's client leaves the sockets of failed attempts to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROUNDS = int(os.environ.get("TABLE_STORE_LOG_CRASHES", "2"))
_names = count()


def new_table(
    folder: Path, brokers: str, *, has_key: bool = True, mode: str = "all", **options: str
) -> FileStoreTable:
    descriptor = TableDescriptor.for_managed().column("id", "BIGINT").column("v", "STRING")
    if has_key:
        descriptor = descriptor.primary_key("id").option("log.changelog-mode", mode)
    descriptor = descriptor.option("log.kafka.bootstrap.servers", brokers).option("bucket", "2")
    for key, value in options.items():
        descriptor = descriptor.option(key.replace("_", "."), value)
    return connect(str(folder)).create(f"t{os.getpid()}_{next(_names)}", descriptor).storage


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"id": pa.array([p[0] for p in pairs], pa.int64()), "v": [p[1] for p in pairs]})


def check_replay(table: FileStoreTable, brokers: str | None = None) -> None:
    """The topic as a plain consumer sees it leads to the table as it was at every snapshot."""
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    messages = committed_messages(brokers or settings.brokers, settings.topic)
    once = {(m.snapshot_id, m.partition, m.sequence): m for m in messages}
    if settings.is_transactional:
        assert len(once) == len(messages), "a change is there twice"
    messages = list(once.values())
    for snapshot in table.snapshot_store.newest_first():
        state = table.scan(version=snapshot.id).to_arrow().to_pylist()
        assert replayed(messages, snapshot.id) == Counter(map(json.dumps, state)), snapshot.id


def change(table: FileStoreTable) -> None:
    table.append(rows((1, "b"), (2, "b"), (3, "b"), (4, "b")))


def steps_of_a_relay(folder: Path, brokers: str) -> list[str]:
    table = new_table(folder, brokers)
    table.append(rows((1, "a"), (2, "a")))
    steps = Steps()
    with counted(steps):
        change(table)
    return steps.names


@pytest.mark.parametrize("has_key", [True, False])
def test_the_driver_dies_at_any_step(
    tmp_path: Path, kafka_broker: KafkaBroker, has_key: bool
) -> None:
    names = steps_of_a_relay(tmp_path, kafka_broker.bootstrap)
    assert {"init_producer", "add_partitions", "send", "end"} <= set(names)
    steps, deaths = range(2 * len(names)), 0
    some = random.Random(3).sample(steps, min(len(steps), 2 * ROUNDS))
    for die_at in steps if has_key else some:
        table = new_table(tmp_path, kafka_broker.bootstrap, has_key=has_key)
        table.append(rows((1, "a"), (2, "a")))
        try:
            with counted(Steps(die_at)):
                change(table)
        except Death:
            deaths += 1
        survivor = open_table(table.path).storage
        survivor.delete(rows((1, "b"), (3, "b")))
        check_replay(survivor)
    assert deaths > 3  # how often it waits for the end of a transaction differs


@pytest.mark.parametrize("consistency", ["transactional", "eventual"])
def test_the_driver_dies_while_it_tells_new_rows_alone(
    tmp_path: Path, kafka_broker: KafkaBroker, consistency: str
) -> None:
    """In `upsert` mode, and one by one: what is told again leads to the same table."""
    rng = random.Random(17)
    for _ in range(2 * ROUNDS):
        table = new_table(
            tmp_path, kafka_broker.bootstrap, mode="upsert", log_consistency=consistency
        )
        for number in range(3):
            try:
                with counted(Steps(rng.randrange(20))):
                    table.append(rows((1, str(number)), (2, str(number)), (number, "x")))
            except Death:
                pass
        open_table(table.path).storage.delete(rows((1, ""), (5, "")))
        check_replay(table)


def test_the_driver_dies_again_and_again(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    rng = random.Random(5)
    for _ in range(ROUNDS):
        table = new_table(tmp_path, kafka_broker.bootstrap)
        for number in range(8):
            try:
                with counted(Steps(rng.randrange(30))):
                    table.append(rows((number % 3, str(number)), (number, "x")))
            except Death:
                pass
        LogListener(table).catch_up()
        check_replay(table)


def test_a_lost_position_file_is_found_in_the_topic(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    for number in range(4):
        table.append(rows((number, "a"), (number + 1, "a")))
        (Path(table.path) / "log" / "POSITION").unlink()
    check_replay(table)


def test_a_real_process_is_killed_while_it_commits(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    rng = random.Random(7)
    table = new_table(tmp_path, kafka_broker.bootstrap)
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", _COMMIT_FOREVER, table.path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.uniform(0.05, 0.6))
            process.send_signal(signal.SIGKILL)
    LogListener(table).catch_up()
    check_replay(table)


_COMMIT_FOREVER = """
import sys, pyarrow as pa
from table_store import open_table
table = open_table(sys.argv[1]).storage
for number in range(10**6):
    ids = pa.array([1, 2, number % 5], pa.int64())
    table.append(pa.table({"id": ids, "v": ["a", "b", str(number)]}))
    print(number, flush=True)
"""


def test_two_processes_commit_at_once(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap, log_kafka_timeout="60 s")
    command = [sys.executable, "-c", _COMMIT_FOREVER.replace("10**6", "8"), table.path]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(240) for process in both] == [0, 0]
    check_replay(table)


def test_who_was_fenced_leaves_the_next_writers_open_transaction_alone(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    """On a busy machine a transaction is open for long enough to look like one without end."""
    table = new_table(tmp_path, kafka_broker.bootstrap, log_kafka_timeout="8 s")
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    untold = replace(table, listener=NO_LISTENER)
    untold.append(rows((1, "a"), (2, "a")))
    untold.append(rows((1, "b"), (2, "b")))
    second, first = table.snapshot_store.newest_first()
    store = KafkaLogStore(settings)
    with closing(store.writer(LogPosition())) as fenced:
        fenced.append(1, first.time_ms, snapshot_messages(table, first, settings))
        with closing(store.writer(LogPosition())) as follower:
            assert follower.position.snapshot_id == 1

            def slowly() -> Iterator[tuple[int, LogMessages]]:
                messages = list(snapshot_messages(table, second, settings))
                assert len(messages) == 2
                yield messages[0]
                with pytest.raises(LogFencedError):
                    fenced.settle(1)
                yield messages[1]

            follower.append(2, second.time_ms, slowly())
            follower.settle(2)
    check_replay(table)


def test_who_writes_nothing_notes_no_position_that_another_has_moved(
    tmp_path: Path, kafka_broker: KafkaBroker
) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap)
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    table.append(rows((1, "a"), (2, "a")))
    (Path(table.path) / "log" / "POSITION").unlink()
    with closing(KafkaLogStore(settings).writer(LogPosition())) as fenced:
        table.append(rows((1, "b"), (2, "b")))
        with pytest.raises(LogFencedError):
            fenced.settle(1)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_seen", [True, False])
def test_a_transaction_whose_end_was_lost_is_ended_as_it_was_decided(
    tmp_path: Path, kafka_broker: KafkaBroker, is_seen: bool, is_first: bool
) -> None:
    """A coordinator that is killed may leave a transaction open in some of its partitions."""
    table = new_table(tmp_path, kafka_broker.bootstrap, log_kafka_timeout="5 s")
    settings = KafkaSettings.of(table.schema)
    assert settings is not None
    snapshots = [replace(table, listener=NO_LISTENER).append(rows((1, "a"), (2, "a")))]
    if not is_first:
        snapshots += [replace(table, listener=NO_LISTENER).append(rows((1, "b"), (2, "b")))]
    name = f"stray {settings.topic}"
    with closing(KafkaLogStore(settings).cluster()) as cluster:
        stray = cluster.transactions.init_producer(name, 60_000, is_transactional=True)
        for committed in snapshots:
            assert isinstance(committed, Committed)
            cluster.transactions.add_partitions(name, stray, settings.topic, [0, 1])
            for bucket, messages in snapshot_messages(table, committed.snapshot, settings):
                (batch,) = record_batches(
                    messages,
                    RecordOrigin(
                        snapshot_id=committed.snapshot.id, bucket=bucket, first_sequence=0
                    ),
                    stray,
                    base_sequence=committed.snapshot.id - 1,
                    time_ms=1,
                    checksum=checksum,
                )
                cluster.transactions.send(settings.topic, bucket, batch.data, name).wait()
            if committed is not snapshots[-1]:
                cluster.transactions.end(name, stray, settings.topic)
        first, _ = cluster.transactions.unended(settings.topic, 2)
        if is_seen:
            cluster.transactions.write_marker(settings.topic, first, is_commit=True)
    position = LogListener(table).catch_up()
    assert position.snapshot_id == len(snapshots)
    check_replay(table)


def test_the_connection_is_cut_at_any_request(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    proxy = CuttingProxy(kafka_broker.proxy_port, kafka_broker.behind_proxy)
    table = new_table(tmp_path, f"127.0.0.1:{kafka_broker.proxy_port}", log_kafka_timeout="4 s")
    table.append(rows((1, "a"), (2, "a")))
    proxy.arm(10**6, is_forwarded=False)
    change(table)
    total = proxy.requests
    rng = random.Random(11)
    for cut_at in rng.sample(range(total), min(total, 4 * ROUNDS)):
        proxy.arm(cut_at, is_forwarded=rng.random() < 0.5)
        table.append(rows((cut_at % 4, f"cut {cut_at}"), (cut_at, "x")))
    proxy.arm(10**6, is_forwarded=False)
    LogListener(table).catch_up()
    check_replay(table)
    proxy.close()


def test_the_network_is_slow(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    proxy = CuttingProxy(kafka_broker.proxy_port, kafka_broker.behind_proxy)
    table = new_table(tmp_path, f"127.0.0.1:{kafka_broker.proxy_port}")
    table.append(rows((1, "a"), (2, "a")))
    proxy.delay_s = 0.1
    change(table)
    proxy.delay_s = 0.0
    check_replay(table)
    proxy.close()


def test_a_transaction_takes_longer_than_brokers_allow(
    tmp_path: Path, kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They abort it and fence its writer, which begins once more."""
    table = new_table(tmp_path, kafka_broker.bootstrap)
    attempts = count()

    def slowly(*of_snapshot: Any) -> Iterator[tuple[int, LogMessages]]:
        is_first = next(attempts) == 0
        for messages in snapshot_messages(*of_snapshot):
            yield messages
            time.sleep(2.5 if is_first else 0)

    monkeypatch.setattr(kafka_log_store, "snapshot_messages", slowly)
    monkeypatch.setattr(kafka_log_writer, "TRANSACTION_MS", 1000)
    table.append(rows((1, "a"), (2, "a"), (3, "a"), (4, "a")))
    assert next(attempts) == 2
    assert PositionFile(table.file_io, table.path).read().snapshot_id == 1
    check_replay(table)


def test_the_broker_is_frozen(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    table = new_table(tmp_path, kafka_broker.bootstrap, log_kafka_timeout="2 s")
    table.append(rows((1, "a")))
    with kafka_broker.frozen():
        began = time.monotonic()
        with pytest.raises(LogUnavailableError):
            table.append(rows((1, "refused")))
        committed = replace(table, listener=NO_LISTENER).append(rows((1, "b")))
        assert isinstance(committed, Committed)
        LogListener(table).on_commit(
            committed.snapshot, table.schema
        )  # as if frozen since the commit
        assert time.monotonic() - began < 10
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # its lease has ended, it comes back as after a restart
        with suppress(LogUnavailableError):
            table.append(rows((1, "c")))
            if LogListener(table).catch_up().snapshot_id == table.snapshot_store.latest_id():
                break
    check_replay(table)


def test_the_broker_is_killed(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
    rng = random.Random(13)
    table = new_table(tmp_path, kafka_broker.bootstrap, log_kafka_timeout="3 s")
    table.append(rows((0, "a")))
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", _COMMIT_FOREVER, table.path]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.5))
            kafka_broker.kill()
            process.kill()
        kafka_broker.start()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            table.append(rows((0, "after"), (1, "kill")))
            position = PositionFile(table.file_io, table.path).read()
            if position.snapshot_id == table.snapshot_store.latest_id():
                break
        check_replay(table)
