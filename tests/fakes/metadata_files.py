"""One real file of every kind that is not table data, and how the program reads it.

for kind, file in metadata_files(folder).items():
outcome = file.survey(flipped_bits(file.content))
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Final

import pyarrow as pa

from table_store.catalog.connectors.filesystem.file_register import (
    FILES_FOLDER,
    FileRegister,
    files_of_page,
)
from table_store.catalog.connectors.filesystem.taken_file import TakenFile
from table_store.catalog.connectors.positions.position import (
    FileList,
    Position,
    PositionStore,
    Stretch,
)
from table_store.catalog.jobs.history import EpochRecord, add_to_history, read_histories
from table_store.catalog.jobs.ledger import Head, Ledger
from table_store.catalog.jobs.progress import (
    JOB_OF_VIEW,
    Followed,
    Progress,
    SinkState,
    Taken,
    Track,
    read_progress,
    write_progress,
)
from table_store.catalog.meta_service.producer_transactions import ProducerTransactions
from table_store.catalog.meta_service.registry import JobRegistry, RegisteredJob
from table_store.catalog.meta_service.revision import Revision, RevisionClaim
from table_store.catalog.meta_service.runner_lease import RunnerLease, Sight
from table_store.catalog.meta_service.submitted_jobs import (
    HostedJob,
    Order,
    Submission,
    SubmittedJobs,
)
from table_store.catalog.names.directory_journal import DirectoryJournal, claimed_by
from table_store.catalog.names.function_store import (
    FunctionDefinition,
    FunctionResource,
    FunctionStore,
)
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.lock import LeaseCatalogLock
from table_store.catalog.names.name_record import ForeignDefinition, RelationKind
from table_store.catalog.names.name_registry import NameRegistry
from table_store.catalog.names.namespace_store import NamespaceStore
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.catalog.names.warehouse import DefineMode, Warehouse
from table_store.catalog.planner.write.export_manifest import (
    EXPORT_MANIFEST,
    ExportedFile,
    ExportManifest,
)
from table_store.catalog.tables.stream_writer_claim import StreamWriter, StreamWriterClaim
from table_store.catalog.tables.temporary_tables import TemporaryTables, _owner_of
from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.changes.change_archive import LOG_FOLDER
from table_store.storage.file_store.metadata.columnar_file import ContentKind
from table_store.storage.file_store.metadata.consumer import ConsumerStore
from table_store.storage.file_store.metadata.live_files import manifests_of
from table_store.storage.file_store.metadata.manifest_file import ManifestCache, MetadataReader
from table_store.storage.file_store.metadata.pin import Pins
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.metadata.snapshot_files import SnapshotFiles
from table_store.storage.file_store.metadata.snapshot_store import SnapshotStore
from table_store.storage.file_store.metadata.tag import Tags
from table_store.storage.file_store.model.errors import CommitStateUnknownError
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.types import (
    LONG,
    STRING,
    ArrayType,
    DecimalType,
    StructField,
    StructType,
)
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_position import LogPosition, PositionFile
from tests.fakes.bit_flips import Damage, DamagedFile, Outcome, survey
from tests.fakes.checked_file import rewrite
from tests.fakes.counting_ids import CountingIds
from tests.fakes.manual_clock import ManualClock
from tests.fakes.view_definitions import FULL_VIEW

DAY_MS: Final = 24 * 3600 * 1000
ELSEWHERE: Final = ProcessIdentity(host="elsewhere", pid=7, start="x")

TABLE: Final = Identifier("sales", "orders")
VIEW: Final = Identifier("sales", "recent")
FOREIGN: Final = Identifier("sales", "old")
FUNCTION: Final = Identifier("sales", "doubled")
QUERY: Final = StoredQuery(
    text="SELECT 'é' AS id",
    current_catalog="c",
    current_namespace=("sales",),
    settings={"spark.sql.ansi.enabled": "true"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFile:
    """A file, and what the program makes of it.

    Attributes:
        path: full.
        read: returns what the file says, through the program's own code.
        is_versioned: whether it named its version before it had a checksum; None where there
            was no such time.
        nothing: what a damaged one may be read as, since the program does without it.
    """

    path: str
    read: Callable[[FileIO], object]
    is_versioned: bool | None = False
    nothing: object = None

    @property
    def content(self) -> bytes:
        """What the file holds."""
        return Path(self.path).read_bytes()

    def read_with(self, content: bytes) -> object:
        """Return what the program makes of other content under the file's name."""
        return self.read(DamagedFile(path=self.path, content=content))

    def survey(self, damages: Iterable[Damage]) -> Outcome:
        """Return how the program takes damages of the file; see `bit_flips.survey`."""
        name = Path(self.path).name
        return survey(self.content, damages, self.read_with, name=name, nothing=self.nothing)


def metadata_files(root: Path) -> dict[str, MetadataFile]:
    """Make a warehouse below `root`; return one file of every kind in it, by kind."""
    clock = ManualClock()
    warehouse = Warehouse(LocalFileIO(str(root)), str(root), clock, CountingIds())
    table = _new_table(warehouse)
    return {
        **_files_of_table(table),
        **_files_of_names(warehouse, table),
        **_files_of_processes(warehouse, table),
        "manifest of an export": _manifest_of_export(f"{root}-export"),
    }


def _manifest_of_export(folder: str) -> MetadataFile:
    path = f"{folder}/{EXPORT_MANIFEST}"
    manifest = ExportManifest(
        table="`sales`.`é`",
        snapshot_id=3,
        format="parquet",
        rows=2,
        columns='{"type": "struct", "fields": []}',
        time_zone="UTC",
        primary_key=("id",),
        partition_keys=("day",),
        files=(ExportedFile(path="day=é/a.parquet", size_bytes=7),),
    )
    LocalFileIO(folder).write_new(path, manifest.to_bytes())
    return MetadataFile(
        path=path, read=lambda file_io: ExportManifest.from_bytes(file_io.read_bytes(path), path)
    )


def _schema() -> TableSchema:
    point = StructType(
        (
            StructField(name="x", type=DecimalType(10, 2)),
            StructField(name="y", type=ArrayType(STRING)),
        )
    )
    return new_schema(
        fields=[
            Field(id=0, name="id", type=LONG, comment="the key, é"),
            Field(id=0, name="at", type=point, metadata=(("note", '"checksum"'),)),
            Field(
                id=0,
                name="amount",
                type=LONG,
                default=StoredExpression("1 + 1"),
                initial_default="2",
            ),
        ],
        primary_key=["id"],
        options={"log.retention": "1 d"},
        comment="orders",
        time_ms=5,
        watermark=("amount", StoredExpression("amount - 1")),
    )


def _new_table(warehouse: Warehouse) -> FileStoreTable:
    """Make a table that took the place of another one, got another name, and lost a snapshot."""
    warehouse.create_namespace("sales", {"owner": "é", "comment": "all of them"})
    first = Identifier("sales", "first")
    record = warehouse.staging.publish(first, warehouse.staging.stage(first))
    record = warehouse.staging.publish_replacement(record, warehouse.staging.stage(first))
    record = warehouse.rename(first, TABLE, RelationKind.TABLE)
    table = FileStoreTable.create(warehouse.location(record), _schema())
    table = replace(table, clock=warehouse.clock, ids=warehouse.ids)
    table = replace(table, listener=LogListener(table))
    for key in range(3):
        rows = {"id": [key], "at": [{"x": Decimal("1.5"), "y": ["a"]}], "amount": [key]}
        table.upsert(pa.table(rows, schema=table.scan().arrow_schema))
    table.expire_snapshots(ExpireOptions(older_than_ms=1 << 50, retain_min=2, retain_max=2))
    return table


def _files_of_table(table: FileStoreTable) -> dict[str, MetadataFile]:
    def manifest(name: str, kind: ContentKind) -> MetadataFile:
        def read(file_io: FileIO) -> object:
            reader = MetadataReader(file_io=file_io, table_path=table.path, cache=ManifestCache())
            return reader.read(name, kind=kind)

        return MetadataFile(path=f"{table.path}/manifest/{name}", read=read, is_versioned=None)

    def snapshot_in(folder: str, snapshot_id: int) -> MetadataFile:
        def read(file_io: FileIO) -> object:
            return SnapshotFiles(file_io, f"{table.path}/{folder}").get(snapshot_id)

        path = f"{table.path}/{folder}/snapshot-{snapshot_id}"
        return MetadataFile(path=path, read=read, is_versioned=True)

    def consumers(file_io: FileIO) -> object:
        return ConsumerStore(
            file_io=file_io, path=table.path, clock=table.clock, expiration_ms=DAY_MS
        ).all()

    snapshot = table.snapshot_store.get(3)
    table.consumers.note("bills", 3)
    positions = PositionFile(table.file_io, table.path)
    positions.write(LogPosition(snapshot_id=3, foreign_records=1, offsets={0: 17, 1: 4}))
    with suppress(CommitStateUnknownError), Pins(table.file_io, table.path).pinned(snapshot, "x"):
        raise CommitStateUnknownError(table="", commit_user="", commit_identifier=0, reason="")
    table.tags.create("é", 3, "y")
    _, (written,) = manifests_of(table.metadata, snapshot)
    view = replace(table.schema, id=1, query=QUERY)
    table.file_io.write_new(table.schema_store.path(1), view.to_bytes())
    sources = {"/w/sales.db/é": 7, "/w/sales.db/b": 0}
    progress = Progress(
        barrier=9,
        followed=Followed(
            sources=sources, created={"/w/sales.db/é": 3, "/w/sales.db/b": 5}, plan="p"
        ),
        sink=SinkState(commit=8, rollback=2),
        track=Track((Taken(barrier=7, snapshot=2, sources=sources),)),
    )
    write_progress(table.file_io, table.path, progress)
    epoch = EpochRecord(ended_ms=9, job="", barrier=9, milliseconds=5, error="é")
    add_to_history(table.file_io, table.path, JOB_OF_VIEW, epoch)

    def schema(number: int) -> MetadataFile:
        return MetadataFile(
            path=table.schema_store.path(number),
            read=lambda file_io: SchemaStore(file_io, table.path).get(number),
            is_versioned=True,
        )

    position = Position(rows=7, at_ms=5, stretches=(Stretch(0, 3), Stretch(4, 5)))
    PositionStore(table.file_io, table.path).advanced(
        lambda last: position if last is None else None
    )
    taken = [TakenFile(path="a/é.json", size_bytes=5, modified_ms=7)]
    register = FileRegister(table.file_io, table.path, CountingIds())
    page_path = f"{table.path}/{FILES_FOLDER}/{register.extended(FileList(), taken).pages[0].name}"
    return {
        "files of a source": MetadataFile(
            path=page_path, read=lambda file_io: files_of_page(file_io, page_path)
        ),
        "position of a source": MetadataFile(
            path=f"{table.path}/position/000000000001",
            read=lambda file_io: PositionStore(file_io, table.path).last(),
        ),
        "schema": schema(0),
        "schema of a view": schema(1),
        "progress of a view": MetadataFile(
            path=f"{table.path}/job/PROGRESS",
            read=lambda file_io: read_progress(file_io, table.path) or "unknown",
            is_versioned=True,
            nothing="unknown",
        ),
        "history of a view": MetadataFile(
            path=f"{table.path}/job/HISTORY",
            read=lambda file_io: read_histories(file_io, table.path) or "unknown",
            is_versioned=True,
            nothing="unknown",
        ),
        "snapshot": snapshot_in("snapshot", 3),
        "kept snapshot": snapshot_in(LOG_FOLDER, 2),
        "LATEST": MetadataFile(
            path=f"{table.path}/snapshot/LATEST",
            read=lambda file_io: SnapshotStore(file_io, table.path).hint() or 0,
            is_versioned=None,
            nothing=0,
        ),
        "pin": MetadataFile(
            path=f"{table.path}/pin/pin-x",
            read=lambda file_io: Pins(file_io, table.path).all(),
            is_versioned=True,
        ),
        "tag": MetadataFile(
            path=f"{table.path}/tag/tag-%C3%A9",
            read=lambda file_io: Tags(file_io, table.path).all(),
            is_versioned=True,
        ),
        "manifest list": manifest(snapshot.delta_manifest_list, ContentKind.MANIFEST_LIST),
        "manifest": manifest(written.name, ContentKind.MANIFEST),
        "consumer": MetadataFile(path=f"{table.path}/consumer/consumer-bills", read=consumers),
        "log position": MetadataFile(
            path=f"{table.path}/log/POSITION",
            read=lambda file_io: PositionFile(file_io, table.path).read(),
            nothing=LogPosition(),
        ),
    }


def _files_of_names(warehouse: Warehouse, table: FileStoreTable) -> dict[str, MetadataFile]:
    foreign = ForeignDefinition(provider="delta", location="/data/x", properties={"k": "v"})
    warehouse.define(VIEW, FULL_VIEW, DefineMode.CREATE)
    warehouse.define(FOREIGN, foreign, DefineMode.CREATE)
    root = warehouse.root

    def name(identifier: Identifier) -> MetadataFile:
        return MetadataFile(
            path=f"{root}/sales.db/_names/{identifier.name}.json",
            read=lambda file_io: NameRegistry(file_io, root).find(identifier),
            is_versioned=True,
        )

    resource = FunctionResource(kind="file", uri="sql: x * 2, 'é'")
    definition = FunctionDefinition(class_name="sqlFunction", resources=(resource,))
    FunctionStore(warehouse).define(FUNCTION, definition, is_new=True)

    def function(file_io: FileIO) -> object:
        return FunctionStore(Warehouse(file_io, root, warehouse.clock, warehouse.ids)).find(
            FUNCTION
        )

    def namespace(file_io: FileIO) -> object:
        return NamespaceStore(AllowedPlaces(root=root, file_io=file_io)).find("sales")

    return {
        "name of a table": name(TABLE),
        "name of a view": name(VIEW),
        "name of a foreign table": name(FOREIGN),
        "function": MetadataFile(
            path=f"{root}/sales.db/_functions/{FUNCTION.name}.json", read=function
        ),
        "namespace": MetadataFile(
            path=f"{root}/sales.db/_namespace.json", read=namespace, is_versioned=True
        ),
        "claim of a directory": MetadataFile(
            path=f"{table.path}/_table.json", read=lambda file_io: claimed_by(file_io, table.path)
        ),
    }


def _files_of_processes(warehouse: Warehouse, table: FileStoreTable) -> dict[str, MetadataFile]:
    """Files that say what a process does: those of this process, one that ended, another host."""
    root, file_io, clock = warehouse.root, warehouse.file_io, warehouse.clock
    warehouse.staging.stage(Identifier("sales", "staged"))
    (note,) = Path(root, "_trash").glob("*.json")
    rewrite(note, owner=replace(identity_of(), start="ended").to_json())

    def notes(file_io: FileIO) -> object:
        return DirectoryJournal(file_io, root, clock, CountingIds()).abandoned()

    session = TemporaryTables(warehouse=warehouse, session_id="s", owner=identity_of())
    session.begin()
    (folder,) = file_io.list(f"{root}/_temporary")

    def owner(file_io: FileIO) -> object:
        return _owner_of(Warehouse(file_io, root, clock, CountingIds()), folder)

    def claim(file_io: FileIO) -> StreamWriterClaim:
        return StreamWriterClaim(file_io=file_io, path=table.path, name="t", clock=clock)

    claim(file_io).take(StreamWriter(query="q", run="r", holder=ELSEWHERE), [])

    def writer(file_io: FileIO) -> object:
        return claim(file_io)._latest()

    Ledger(file_io, root, CountingIds()).cut(
        7, lambda: {"/w/sales.db/é": Head(snapshot=3, created_ms=5)}
    )

    def barrier(file_io: FileIO) -> object:
        return Ledger(file_io, root, CountingIds()).latest()

    def registered(file_io: FileIO) -> object:
        return JobRegistry(file_io, root).all()

    job = RegisteredJob(
        id="i",
        name="é",
        commit_user="u",
        sink=table.path,
        sources=frozenset({"/w/sales.db/é"}),
        insert=QUERY,
        options={"change-tracking": "false"},
    )
    JobRegistry(file_io, root).register(job)
    (job_file,) = file_io.list(f"{root}/_jobs")
    return {
        **_runner_files(file_io, root, clock),
        "registered job": MetadataFile(path=job_file.path, read=registered, is_versioned=True),
        "barrier": MetadataFile(path=f"{root}/_barriers/{1:012d}", read=barrier, is_versioned=True),
        "note of a directory": MetadataFile(path=str(note), read=notes, nothing=()),
        "session": MetadataFile(
            path=f"{session.root}/_session.json", read=owner, nothing=(None, folder.modified_ms)
        ),
        "streaming writer": MetadataFile(path=f"{table.path}/stream-writer/{1:012d}", read=writer),
        **_lock_entries(f"{root}/_leases", clock),
    }


def _runner_files(file_io: FileIO, root: str, clock: Clock) -> dict[str, MetadataFile]:
    """What a job runner and those who submit jobs to it write."""

    def lease(file_io: FileIO) -> RunnerLease:
        return RunnerLease(Claim(file_io, f"{root}/_runner/lease"), clock)

    def holder(file_io: FileIO) -> object:
        return lease(file_io)._latest()

    def submitted(file_io: FileIO) -> object:
        return SubmittedJobs(file_io, root).all()

    def status(file_io: FileIO) -> object:
        return SubmittedJobs(file_io, root).status()

    lease(file_io).take(ELSEWHERE, Sight(), 0)
    jobs = SubmittedJobs(file_io, root)
    revisions = RevisionClaim(Claim(file_io, f"{root}/_revision"), clock)

    def revision(file_io: FileIO) -> object:
        return RevisionClaim(Claim(file_io, f"{root}/_revision"), clock).current()

    revisions.begin(
        Revision(
            number=7,
            table="/w/é",
            name="é",
            request="[]",
            tables=frozenset({"/w/é"}),
            holder=ELSEWHERE,
        )
    )
    notes = ProducerTransactions(file_io, root, clock)
    notes.begin("é", ["/w/é"])
    (note,) = (one for one in Path(root, "_transactions").iterdir() if len(one.name) == 32)

    def transactions(file_io: FileIO) -> object:
        return ProducerTransactions(file_io, root, clock).look().transactions

    job = jobs.submit(Submission(sink="/w/é", listed="{}", order=Order.SUSPEND, reason="ä"))
    jobs.tell({job.digest: HostedJob(listed="{}", number=1)})
    return {
        "lease of a job runner": MetadataFile(
            path=f"{root}/_runner/lease/{1:012d}", read=holder, is_versioned=True
        ),
        "revision": MetadataFile(
            path=f"{root}/_revision/{1:012d}", read=revision, is_versioned=True
        ),
        "transaction of a producer": MetadataFile(
            path=str(note), read=transactions, is_versioned=True
        ),
        "submitted job": MetadataFile(
            path=f"{root}/_runner/jobs/{job.digest}-{1:012d}", read=submitted, is_versioned=True
        ),
        "status of a job runner": MetadataFile(
            path=f"{root}/_runner/status", read=status, is_versioned=True
        ),
    }


def _lock_entries(folder: str, clock: Clock) -> dict[str, MetadataFile]:
    """The entry of a lock that is held, and of one that was given back."""

    def lock(file_io: FileIO) -> LeaseCatalogLock:
        return LeaseCatalogLock(file_io=file_io, folder=folder, clock=clock, timeout_ms=0)

    lock(LocalFileIO()).run_with_lock(
        "db", "given", lambda: shutil.copytree(f"{folder}/db@given", f"{folder}/db@held")
    )

    def entry(table: str, number: int) -> MetadataFile:
        path = f"{folder}/db@{table}"

        def read(file_io: FileIO) -> object:
            latest = Claim(file_io, path).latest()
            return None if latest is None else lock(file_io)._holder(latest)

        return MetadataFile(path=f"{path}/{number:012d}", read=read)

    return {"lock held": entry("held", 1), "lock given back": entry("given", 2)}
