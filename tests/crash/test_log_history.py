"""Goal: whatever is done to a table, and dies, its log leads to what it was at every snapshot.

Random writes, deletions, overwrites, rollbacks, compactions, batches of a stream and expiries, of
which some die at a random call of the file system or of the brokers, are done to a table of each
kind that there can be. At every snapshot the table, the replayed log and the replayed `CHANGES` are
what a dictionary says. TABLE_STORE_LOG_HISTORIES says how many histories of each kind there are.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from servers.kafka_broker import KafkaBroker
from servers.topic_reader import Message, committed_messages, replayed
from table_store import TableDescriptor, connect
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER, CommitKind
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import KafkaSettings
from tests.fakes.dying_cluster import Death, Steps, counted
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed
from tests.fakes.manual_clock import ManualClock

pytestmark = [
    pytest.mark.crash,
    # What is dead cannot close its files and sockets.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HISTORIES = int(os.environ.get("TABLE_STORE_LOG_HISTORIES", "1"))
STEPS_OF_A_HISTORY = 10
ACTIONS = (
    "write",
    "write",
    "write",
    "delete",
    "overwrite",
    "rollback",
    "compact",
    "batch",
    "expire",
)
NEVER_YOUNG = 1 << 50
_names = count()

Row = tuple[str, int, str | None]
Rows = Counter[str]


@dataclass(frozen=True)
class Kind:
    """What kind of table it is, and where its log is."""

    system: str
    consistency: str
    changelog: str
    has_key: bool
    is_partitioned: bool

    def __str__(self) -> str:
        key = "key" if self.has_key else "bag"
        place = "partitions" if self.is_partitioned else "whole"
        return f"{self.system}-{self.consistency}-{self.changelog}-{key}-{place}"

    def create(self, folder: Path, brokers: str) -> FileStoreTable:
        descriptor = TableDescriptor.for_managed().column("p", "STRING").column("id", "BIGINT")
        descriptor = descriptor.column("v", "STRING").option("bucket", "2")
        if self.has_key:
            descriptor = descriptor.primary_key("p", "id")
        if self.is_partitioned:
            descriptor = descriptor.partitioned_by("p")
        if self.system == "kafka":
            descriptor = descriptor.option("log.kafka.bootstrap.servers", brokers)
        descriptor = descriptor.option("log.consistency", self.consistency)
        descriptor = descriptor.option("log.changelog-mode", self.changelog)
        descriptor = descriptor.option("log.retention", "7 d")
        return connect(str(folder)).create(f"h{os.getpid()}_{next(_names)}", descriptor).storage


KINDS = [
    Kind(system, consistency, changelog, has_key, is_partitioned)
    for system in ("file", "kafka")
    for consistency, changelog, has_key in (
        ("transactional", "upsert", True),
        ("transactional", "all", True),
        ("eventual", "upsert", True),
        ("transactional", "all", False),
    )
    for is_partitioned in (False, True)
]


@dataclass
class History:
    """A table, and what a dictionary says that it was at each snapshot."""

    kind: Kind
    path: str
    rng: random.Random
    clock: ManualClock = field(default_factory=ManualClock)
    states: dict[int, Rows] = field(default_factory=lambda: {0: Counter()})
    batch: int = 0
    deaths: int = 0

    def table(self, io: FailingFileIO | None = None) -> FileStoreTable:
        """The table, as a new process opens it."""
        table = FileStoreTable.open(self.path, io or LocalFileIO(self.path))
        table = replace(table, clock=self.clock)
        return replace(table, listener=LogListener(table))

    @property
    def latest(self) -> int:
        return self.table().snapshot_store.latest_id() or 0

    def step(self) -> None:
        """Do something; it may die, and then the next one finds what is left."""
        self.clock.time_ms += 60_000
        action, after = self._action(self.rng.choice(ACTIONS))
        before = self.latest
        survives = self._survives(action)
        self._note(before, after)
        if not survives and self.rng.random() < 0.5:
            # A client that does not know what became of it repeats it, under its name.
            before = self.latest
            action(self.table())
            self._note(before, after)

    def _note(self, before: int, after: Rows) -> None:
        assert self.latest - before in (0, 1)
        if self.latest == before:
            return
        assert self.latest not in self.states
        self.states[self.latest] = after
        found = self.table().scan().to_arrow().to_pylist()
        assert Counter(map(json.dumps, found)) == after

    def _survives(self, action: Callable[[FileStoreTable], object]) -> bool:
        chance = self.rng.random()
        io = FailingFileIO(LocalFileIO(self.path))
        steps = Steps()
        if chance < 0.25:
            fault = self.rng.choice((Fault.KILL_BEFORE, Fault.KILL_AFTER))
            io = FailingFileIO(LocalFileIO(self.path), self.rng.randint(1, 60), fault)
        elif chance < 0.6:
            steps = Steps(self.rng.randrange(24))
        try:
            with counted(steps):
                action(self.table(io))
        except (Death, Killed):
            self.deaths += 1
            return False
        return not io.is_dead

    def _action(self, name: str) -> tuple[Callable[[FileStoreTable], object], Rows]:
        """What to do, such that a repetition does no harm, and what the table is then."""
        now, user = self.states[self.latest], f"user{next(_names)}"
        if name == "expire":
            options = ExpireOptions(older_than_ms=NEVER_YOUNG, retain_min=2, retain_max=2)
            return lambda table: table.expire_snapshots(options), now
        if name == "compact":
            return lambda table: table.compact(), now
        if name == "rollback" and self.latest:
            to = self.rng.choice(self.table().snapshot_store.ids())
            return (
                lambda table: table.committer().rollback(to, commit_user=user),
                self.states[to],
            )
        if name == "delete":
            gone = self._chosen(now) if not self.kind.has_key else self._rows(4)
            return lambda table: self._once(table, user, gone, kind=1), self._without(now, gone)
        rows = self._rows(self.rng.randint(1, 8))
        if name == "overwrite":
            return lambda table: self._once(table, user, rows, whole=True), self._with(
                Counter(), rows
            )
        if name == "batch":
            self.batch += 1
            number = self.batch
            return (
                lambda table: self._once(table, "stream", rows, number=number),
                self._with(now, rows),
            )
        return lambda table: self._once(table, user, rows), self._with(now, rows)

    def _once(
        self,
        table: FileStoreTable,
        user: str,
        rows: list[Row],
        *,
        kind: int = 0,
        whole: bool = False,
        number: int = BATCH_IDENTIFIER,
    ) -> None:
        with table.writer() as writer:
            writer.write(arrow(rows), kinds=np.full(len(rows), kind, np.int8))
            messages = writer.prepare_commit()
        table.committer().commit(
            messages,
            kind=CommitKind.OVERWRITE if whole else CommitKind.APPEND,
            commit_user=user,
            commit_identifier=number,
            overwrite=WHOLE_TABLE if whole else None,
        )

    # -- the dictionary ----------------------------------------------------------------------------

    def _rows(self, size: int) -> list[Row]:
        rng = self.rng
        return [
            (rng.choice("xy"), rng.randrange(6), rng.choice(["a", "b", None])) for _ in range(size)
        ]

    def _chosen(self, rows: Rows) -> list[Row]:
        """Some of the rows that are there."""
        found = [tuple(json.loads(text).values()) for text in rows.elements()]
        return self.rng.sample(found, min(len(found), 3))

    def _with(self, rows: Rows, added: list[Row]) -> Rows:
        if not self.kind.has_key:
            return rows + Counter(map(text_of, added))
        by_key = self._by_key(rows)
        by_key.update({row[:2]: text_of(row) for row in added})
        return Counter(by_key.values())

    def _without(self, rows: Rows, gone: list[Row]) -> Rows:
        if not self.kind.has_key:
            return rows - Counter(map(text_of, gone))
        keys = {row[:2] for row in gone}
        return Counter(text for key, text in self._by_key(rows).items() if key not in keys)

    def _by_key(self, rows: Rows) -> dict[tuple[str, int], str]:
        return {tuple(list(json.loads(text).values())[:2]): text for text in rows}

    # -- what must hold ----------------------------------------------------------------------------

    def check(self) -> None:
        """At every snapshot the table, its log and its changes say the same."""
        table = self.table()
        LogListener(table).catch_up()
        for snapshot in table.snapshot_store.newest_first():
            found = table.scan(version=snapshot.id).to_arrow().to_pylist()
            assert Counter(map(json.dumps, found)) == self.states[snapshot.id], snapshot.id
        self._check_changes(table)
        settings = KafkaSettings.of(table.schema)
        if settings is not None:
            messages = self._each_once(committed_messages(settings.brokers, settings.topic))
            for snapshot_id, state in self.states.items():
                assert replayed(messages, snapshot_id) == state, snapshot_id

    def _check_changes(self, table: FileStoreTable) -> None:
        if not self.latest:
            return
        rows: Rows = Counter()
        changes = table.changes(1).to_arrow().to_pylist()
        of_snapshot: dict[int, list[dict[str, object]]] = {}
        for change in changes:
            of_snapshot.setdefault(change["_commit_version"], []).append(change)
        for snapshot_id in range(1, self.latest + 1):
            for change in of_snapshot.get(snapshot_id, ()):
                text = json.dumps({name: change[name] for name in ("p", "id", "v")})
                rows[text] += 1 if change["_change_type"] == "insert" else -1
            assert +rows == self.states[snapshot_id], snapshot_id
            assert not -rows

    def _each_once(self, messages: list[Message]) -> list[Message]:
        found = {(m.snapshot_id, m.partition, m.sequence): m for m in messages}
        if self.kind.consistency == "eventual":  # at least once
            return sorted(found.values(), key=lambda m: m.snapshot_id)
        assert len(found) == len(messages), "a change is there twice"
        return messages


def text_of(row: Row) -> str:
    return json.dumps(dict(zip(("p", "id", "v"), row, strict=True)))


def arrow(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.string(), pa.int64(), pa.string())
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["p", "id", "v"])


@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_table_log_and_changes_say_the_same(
    tmp_path: Path, kafka_broker: KafkaBroker, kind: Kind, seed: int
) -> None:
    table = kind.create(tmp_path, kafka_broker.bootstrap)
    history = History(kind, table.path, random.Random(f"{kind} {seed}"))
    for _ in range(STEPS_OF_A_HISTORY):
        history.step()
    history.check()
