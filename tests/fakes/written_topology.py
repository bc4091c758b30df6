"""A warehouse whose jobs, barriers and epochs are written as jobs write them, without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from table_store import TableDescriptor, connect
from table_store.catalog.jobs.history import EpochRecord, add_to_history
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.jobs.ledger import Head, Ledger
from table_store.catalog.jobs.progress import (
    Followed,
    Progress,
    SinkState,
    read_progress,
    write_progress,
)
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.stream_writer_claim import StreamWriter, StreamWriterClaim
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.table import FileStoreTable

ROW = pa.table({"n": pa.array([1], pa.int32())})


@dataclass
class WrittenTopology:
    """Tables of one column, each snapshot with one row more; a job is named as its table."""

    warehouse: Warehouse
    tables: dict[str, FileStoreTable] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.ledger, self.registry = Ledger.of(self.warehouse), JobRegistry.of(self.warehouse)

    def table(self, name: str) -> FileStoreTable:
        """The table of a name, made by the first call."""
        if name not in self.tables:
            definition = TableDescriptor.for_managed().column("n", "INT")
            self.tables[name] = connect(self.warehouse.root).create(name, definition).storage
        return self.tables[name]

    def name(self, name: str) -> FoundName:
        """The name of a table as a job has found it."""
        return FoundName(warehouse=self.warehouse.root, namespace="default", name=name)

    def replace(self, name: str) -> FileStoreTable:
        """Put an empty table in the place of another one, of which jobs know the directory."""
        record = self.warehouse.require(Identifier("default", name), RelationKind.TABLE)
        staged = self.warehouse.staging.stage(record.identifier, table_id=record.id)
        old = self.table(name).schema
        self.tables[name] = FileStoreTable.create(staged.location, replace(old, id=0))
        self.warehouse.staging.publish_replacement(record, staged)
        return self.tables[name]

    def write(self, name: str) -> int:
        """Add a snapshot to a table, and return its number."""
        self.table(name).append(ROW)
        return self.head(name)

    def head(self, name: str) -> int:
        """The number of a table's last snapshot."""
        latest = self.table(name).latest_snapshot()
        return 0 if latest is None else latest.id

    def cut(self, number: int, *roots: str) -> int:
        """Cut a barrier."""
        heads = {
            self.table(name).path: Head(snapshot=self.head(name), created_ms=1) for name in roots
        }
        return self.ledger.cut(number, lambda: heads).number

    def register(
        self, sink: str, *sources: str, state: JobState = JobState.RUNNING
    ) -> RegisteredJob:
        """Register the job of a table."""
        job = RegisteredJob(
            id=sink,
            name=sink,
            commit_user=sink,
            sink=self.table(sink).path,
            sources=frozenset(self.table(name).path for name in sources),
            names={self.table(name).path: self.name(name) for name in sources},
            state=state,
        )
        self.registry.register(job)
        return job

    def epoch(self, sink: str, barrier: int, **sources: int) -> None:
        """Let the job of a table take a barrier, at which its sources have certain snapshots."""
        table = self.table(sink)
        table.append(ROW)
        followed = Followed(
            sources={self.table(name).path: at for name, at in sources.items()},
            created={self.table(name).path: 1 for name in sources},
            plan="p",
        )
        done = Progress(barrier=barrier, followed=followed, sink=SinkState())
        if table.path not in self.claimed:
            self.claim(sink, identity_of())
        before = read_progress(table.file_io, table.path, sink)
        write_progress(
            table.file_io, table.path, done.after(before, snapshot=self.head(sink)), sink
        )
        self.register(sink, *sources)

    def state(self, sink: str, statement: str) -> None:
        """Let the job of a table, which is registered already, be that of a statement."""
        job = self.registry.find(self.table(sink).path)
        assert job is not None
        insert = StoredQuery(
            text=statement, current_catalog="c", current_namespace=("default",), settings={}
        )
        self.registry.register(replace(job, insert=insert))

    def claim(self, sink: str, holder: ProcessIdentity) -> None:
        """Let a process run the job of a table."""
        table = self.table(sink)
        self.claimed.add(table.path)
        claim = StreamWriterClaim(
            file_io=table.file_io, path=table.path, name=sink, clock=self.warehouse.clock
        )
        claim.take(StreamWriter(query=sink, run=sink, holder=holder), [sink])

    def told(
        self, sink: str, barrier: int, ended_ms: int, took_ms: int, error: str | None = None
    ) -> None:
        """Add an epoch to the history of a table's job."""
        epoch = EpochRecord(
            ended_ms=ended_ms,
            job=sink,
            barrier=barrier,
            rule=None if error else "incremental",
            reason=None if error else "few changes",
            rows_read=0 if error else 10,
            rows_changed=0 if error else 2,
            milliseconds=took_ms,
            error=error,
        )
        table = self.table(sink)
        add_to_history(table.file_io, table.path, sink, epoch)
