"""A process that lets a chain of jobs go on until it is killed: barriers, epochs, real commits.

Money moves between accounts: `credits` and `debits` have a row for each row of `transactions`, and
`balance` one for each of theirs. No Spark is there: the queries are so plain that the change of a
result is the change of its sources. What an epoch reads, commits and notes, and how it is taken up
where a killed process left it, is what jobs do, by the same files.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store import TableDescriptor, connect, open_table
from table_store.catalog.jobs.ledger import Barrier, Head, Ledger
from table_store.catalog.jobs.progress import (
    Followed,
    Progress,
    SinkState,
    note_progress,
    read_progress,
)
from table_store.catalog.jobs.sink_commit import commit_properties, last_followed
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.commit.commit_outcome import Committed
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds

ROOT: Final = "transactions"
JOBS: Final[Mapping[str, Mapping[str, tuple[str, int]]]] = {
    "credits": {ROOT: ("to_account", 1)},
    "debits": {ROOT: ("from_account", 1)},
    "balance": {"credits": ("account", 1), "debits": ("account", -1)},
}
"""The jobs in their order: from which column of which source the account comes, and the sign."""

_ACCOUNTS: Final = 10
_ROWS_MAX: Final = 5
_EPOCHS_UNTIL_COMPACTED: Final = 2
_PAUSE_S_MAX: Final = 0.1
"""Tables are at different barriers for most of the time, and readers have the processor."""


@dataclass(frozen=True)
class Chain:
    """The chain in the warehouse at `root`."""

    root: str

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse."""
        return Warehouse(LocalFileIO(self.root), self.root, SystemClock(), RandomIds())

    def create(self) -> None:
        """Make the tables, and register the jobs."""
        two = TableDescriptor.for_managed().column("from_account", "INT")
        definition = two.column("to_account", "INT").column("amount", "BIGINT")
        connect(self.root).create(ROOT, definition)
        one = TableDescriptor.for_managed().column("account", "INT").column("amount", "BIGINT")
        for name in JOBS:
            connect(self.root).create(name, one)
        registry = JobRegistry.of(self.warehouse)
        for name, sources in JOBS.items():
            job = RegisteredJob(
                id=name,
                name=name,
                commit_user=name,
                sink=self.table(name).path,
                sources=frozenset(self.table(source).path for source in sources),
            )
            registry.register(job)

    def table(self, name: str) -> FileStoreTable:
        """A table, opened anew."""
        return open_table(f"{self.root}/default.db/{name}").storage

    def go_on(self, randomly: random.Random, tell: Callable[[int], None]) -> None:
        """Bring all jobs to the last barrier, tell it, move money and cut the next, for ever."""
        ledger = Ledger.of(self.warehouse)
        barrier = ledger.latest()
        while True:
            if barrier is not None:
                for name in JOBS:
                    time.sleep(randomly.uniform(0, _PAUSE_S_MAX))
                    self._epoch(name, barrier)
                if barrier.position % _EPOCHS_UNTIL_COMPACTED == 0:
                    for name in (ROOT, *JOBS):
                        self.table(name).compact()
                tell(barrier.number)
            for _ in range(randomly.randint(1, 3)):
                self._move(randomly)
            root = self.table(ROOT)
            now_ms = SystemClock().now_ms()
            barrier = ledger.cut(now_ms, lambda: {root.path: Head.of(root)})  # noqa: B023

    def _move(self, randomly: random.Random) -> None:
        rows = [
            {
                "from_account": randomly.randrange(_ACCOUNTS),
                "to_account": randomly.randrange(_ACCOUNTS),
                "amount": randomly.randint(1, 9),
            }
            for _ in range(randomly.randint(1, _ROWS_MAX))
        ]
        table = self.table(ROOT)
        table.append(pa.Table.from_pylist(rows, table.scan().arrow_schema))

    def _epoch(self, name: str, barrier: Barrier) -> None:
        """Let a job take a barrier, whatever a killed process had done of it."""
        sink, sources = self.table(name), {source: self.table(source) for source in JOBS[name]}
        latest = sink.latest_snapshot()
        before = None if latest is None else last_followed(sink.snapshot_store, latest, name)
        followed = Followed(
            sources={table.path: self._at(barrier, source) for source, table in sources.items()},
            created={table.path: table.created_ms for table in sources.values()},
            plan="sum",
        )
        if before is None or before.sources != followed.sources:
            parts = [
                self._changes(name, source, before, followed.sources[table.path])
                for source, table in sources.items()
            ]
            latest = self._commit(sink, name, pa.concat_tables(parts), barrier, followed)
        assert latest is not None
        done = Progress(barrier=barrier.number, followed=followed, sink=SinkState.of(latest, name))
        note_progress(sink.file_io, sink.path, done, name, snapshot=latest.id)

    def _at(self, barrier: Barrier, source: str) -> int:
        """The snapshot of a source at a barrier, at which a job's table must be already."""
        table = self.table(source)
        if source == ROOT:
            return barrier.roots[table.path].head.snapshot
        progress = read_progress(table.file_io, table.path, source)
        taken = None if progress is None else progress.track.last_until(barrier.number)
        assert taken is not None
        return taken.snapshot

    def _changes(self, name: str, source: str, before: Followed | None, until: int) -> pa.Table:
        """What a job makes of the rows that a source got; no row is ever taken away from it."""
        column, sign = JOBS[name][source]
        table = self.table(source)
        since = 0 if before is None else before.sources[table.path]
        if since == until:
            rows = table.scan([column, "amount"], version=until).to_arrow().slice(0, 0)
        else:
            rows = table.changes(since + 1, until, columns=[column, "amount"]).to_arrow()
        amounts = pc.multiply(rows["amount"], sign)
        return pa.table({"account": rows[column], "amount": amounts})

    def _commit(
        self, sink: FileStoreTable, name: str, rows: pa.Table, barrier: Barrier, followed: Followed
    ) -> Snapshot:
        with sink.writer() as writer:
            writer.write(rows)
            messages = writer.prepare_commit()
        outcome = sink.committer().commit(
            messages,
            kind=CommitKind.APPEND,
            commit_user=name,
            commit_identifier=barrier.number,
            properties=commit_properties(barrier.number, followed),
        )
        assert isinstance(outcome, Committed)
        return outcome.snapshot


def write(root: str, seed: float, told: Connection) -> None:
    """Let the chain of a warehouse go on until the process is killed; tell each barrier."""
    Chain(root).go_on(random.Random(seed), told.send)
