"""A table on this machine's disk, the steps that users take in it, and what is seen of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.changes.change_archive import ChangeArchive
from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.expiry.orphan_files import remove_orphan_files
from table_store.storage.file_store.metadata.live_files import manifests_of
from table_store.storage.file_store.model.errors import CommitStateUnknownError
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.model.schema_evolution import NewColumn, add_column
from table_store.storage.file_store.model.scope import WHOLE_TABLE
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.model.storage_settings import ExpireOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.file_store.write.table_writer import TableWriter
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import IdSource, RandomIds
from table_store.storage.kernel.types import LONG
from table_store.storage.log_store.log_listener import LogListener
from tests.campaign.history import History, Row, Rows, States, Step, WrongRowsError
from tests.campaign.known_rows import KnownRows, Marks
from tests.fakes.failing_file_io import Killed
from tests.fakes.manual_clock import ManualClock

FAR_FUTURE_MS: Final = 10**15
_HOUR_S: Final = 3600
_names = count()


@dataclass(frozen=True, slots=True)
class LocalTable:
    """The table at `path`, through whatever file system and clock a technique needs.

    With `known`, which needs files on this machine's disk, snapshots of unchanged files are read
    once.
    """

    path: Path
    file_io: FileIO = field(default_factory=LocalFileIO)
    clock: Clock = field(default_factory=ManualClock)
    ids: IdSource = field(default_factory=RandomIds)
    known: KnownRows | None = None

    @staticmethod
    def create(path: Path, *, has_key: bool, options: dict[str, str] | None = None) -> LocalTable:
        """Create an empty table with a key and a value; `log.retention` gives it a log."""
        schema = new_schema(
            fields=[Field(id=0, name=name, type=LONG) for name in ("k", "v")],
            primary_key=["k"] if has_key else [],
            partition_keys=[],
            options={"bucket": "1", **(options or {})},
            time_ms=0,
        )
        table = LocalTable(path)
        FileStoreTable.create(str(path), schema, table.file_io)
        return table

    def anew(self) -> LocalTable:
        """Return the table as another process sees it, which has none of its files in a cache."""
        alias = self.path.with_name(f"{self.path.name}-{next(_names)}")
        alias.symlink_to(self.path, target_is_directory=True)
        return LocalTable(alias, known=self.known)

    def opened(self) -> FileStoreTable:
        """Return the table of the library, with its log if it has one."""
        table = FileStoreTable.open(str(self.path), self.file_io)
        table = replace(table, clock=self.clock, ids=self.ids)
        return replace(table, listener=LogListener(table))

    def do(self, step: Step, *, orphans_before_ms: int = FAR_FUTURE_MS) -> int | None:
        """Take a step; return the snapshot that it is now, if it is one for sure."""
        table = self.opened()
        match step.kind:
            case "append" | "delete":
                return self._write(table, step)
            case "overwrite":
                return self._overwrite(table, step)
            case "rollback":
                outcome = table.committer().rollback(step.target, commit_user=step.user)
                return _published(outcome)
            case "compact":
                table.compact()
            case "expire":
                table.expire_snapshots(
                    ExpireOptions(older_than_ms=FAR_FUTURE_MS, retain_min=step.target)
                )
            case "clean":
                remove_orphan_files(
                    self.file_io, table.path, table.schema_store, older_than_ms=orphans_before_ms
                )
            case "alter":
                if step.user not in table.schema.column_names:
                    column = NewColumn(name=step.user, type=LONG, initial_default="5")
                    table.schema_store.evolve(lambda s: add_column(s, column, time_ms=1))
            case "consume":
                table.consumers.note(step.user, step.target)
            case _:
                raise ValueError(step.kind)
        return None

    def _write(self, table: FileStoreTable, step: Step) -> int | None:
        with TableWriter(table.writer_context()) as writer:
            kinds = np.full(len(step.rows), step.kind == "delete", np.int8)
            writer.write(_arrow(step.rows, table.schema.column_names), kinds=kinds)
            messages = writer.prepare_commit()
        return _published(
            table.committer().commit(messages, kind=CommitKind.APPEND, commit_user=step.user)
        )

    def _overwrite(self, table: FileStoreTable, step: Step) -> int | None:
        with table.writer() as writer:
            writer.write(_arrow(step.rows, table.schema.column_names))
            messages = writer.prepare_commit()
        outcome = table.committer().commit(
            messages,
            kind=CommitKind.OVERWRITE,
            commit_user=step.user,
            overwrite=WHOLE_TABLE,
            read_snapshot_id=step.target,
        )
        return _published(outcome)

    def tell(self, history: History, step: Step, *, orphans_before_ms: int = FAR_FUTURE_MS) -> bool:
        """Take a step and note its outcome; return whether it was acknowledged."""
        try:
            history.acknowledge(step, self.do(step, orphans_before_ms=orphans_before_ms))
        except (CommitStateUnknownError, Killed):
            history.doubt(step)
            return False
        except TableStoreError:
            return False
        return True

    def rows(self, version: int | None = None) -> Rows:
        """Return the rows of a snapshot, by default the latest."""
        found = self.opened().scan(["k", "v"], version=version).to_arrow()
        return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def replayed(self) -> Rows:
        """Return what all changes since the first commit lead to; expired ones must be kept."""
        rows: Rows = Counter()
        for batch in self.opened().changes(1, columns=["k", "v", CHANGE_TYPE]).to_batches():
            for key, value, change in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                rows[key, value] += -1 if change in ("delete", "update_preimage") else 1
        return rows

    def states(self) -> States:
        """Return the rows of every snapshot that is there; all of them must be readable."""
        table = self.opened()
        earliest = table.snapshot_store.earliest_id()
        latest = table.snapshot_store.latest_id()
        if earliest is None or latest is None:
            return {0: Counter()}
        present = set(table.snapshot_store.ids())
        wanted = set(range(earliest, latest + 1))
        if not wanted <= present:
            raise WrongRowsError(f"snapshots {sorted(wanted - present)} are lost")
        if self.known is None:
            return {i: self.rows(i) for i in sorted(wanted)}
        marks = Marks.of(self.path)
        return {i: self.known.get(marks, f"snapshot-{i}", partial(self._read, i)) for i in wanted}

    def _read(self, snapshot_id: int) -> tuple[Rows, set[str]]:
        table = self.opened()
        names = _names_of(table, table.snapshot_store.get(snapshot_id))
        return self.rows(snapshot_id), names

    def check(self, history: History) -> None:
        """Compare with a history what a new process sees."""
        history.check(self.anew().states())

    def check_clean(self) -> None:
        """Remove orphans; what is left then is exactly what the snapshots and the log need."""
        fresh = self.anew()
        fresh.do(Step(kind="clean", user="cleaner"))
        needed = fresh.needed_names()
        found = {
            file.name
            for folder in ("manifest", "pin", "bucket-0")
            for file in (self.path / folder).glob("*")
        } | {file.name for file in self.path.rglob(".tmp-*")}
        if found != needed:
            raise WrongRowsError(f"left over: {found - needed}, lost: {needed - found}")

    def needed_names(self) -> set[str]:
        """Return the names of all data files, manifests and lists that something refers to."""
        table = self.opened()
        names = ChangeArchive(table.metadata).file_names(table.schema)
        for snapshot in table.snapshot_store.newest_first():
            names |= _names_of(table, snapshot)
        return names


def _names_of(table: FileStoreTable, snapshot: Snapshot) -> set[str]:
    base, delta = manifests_of(table.metadata, snapshot)
    return {
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        *(manifest.name for manifest in (*base, *delta)),
        *table.live_files(snapshot, table.schema).names(),
    }


def make_old(path: Path, age_s: float = _HOUR_S) -> None:
    """Let all files of a table be of an hour ago, so that a cleaner may take its orphans."""
    for file in path.rglob("*"):
        stat = file.stat()
        os.utime(file, (stat.st_atime - age_s, stat.st_mtime - age_s))


def _published(outcome: Committed | NoChange) -> int | None:
    return outcome.snapshot.id if isinstance(outcome, Committed) else None


def _arrow(rows: Sequence[Row], names: Sequence[str]) -> pa.Table:
    columns = {"k": [k for k, _ in rows], "v": [v for _, v in rows]}
    return pa.table(
        {name: pa.array(columns.get(name, [5] * len(rows)), pa.int64()) for name in names}
    )
