"""The registry of a warehouse: which table each job writes, and which tables it reads.

Each table that a job writes has one file, `_jobs/<hash of the table's directory>`, so no table has
two jobs. It is written when a job begins, when it reads other tables than before and when failures
suspend it, and deleted when the job is stopped or its table dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.names.found_name import FoundName
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap

REGISTRY_FOLDER: Final = "_jobs"
REGISTRY_VERSION: Final = 4
_VERSION_OF_INSERT: Final = 3
_VERSION_WITHOUT_INSERT: Final = 2

_REMEDY: Final = (
    "Restore it from a copy, or delete it: REFRESH MATERIALIZED VIEW or the same INSERT registers "
    "the job again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredJob:
    """A job, and the tables that it connects.

    Attributes:
        id: of a streaming INSERT's run, or of a materialized view.
        name: of the job, or of the view.
        commit_user: of its commits.
        sink: the directory of the table that it writes.
        sources: the directories of the tables that it reads.
        names: by which it found them, by directory; without those that it found otherwise.
        state: RUNNING or SUSPENDED.
        insert: the statement of a streaming INSERT; None of a view, whose query its schema has, and
            of an INSERT that holds a secret or that an older version registered.
        options: of the writes of a streaming INSERT.
        starts_late: whether it leaves out rows that a source had when it began.
    """

    id: str
    name: str
    commit_user: str
    sink: str
    sources: frozenset[str]
    names: Mapping[str, FoundName] = FrozenMap()
    state: JobState = JobState.RUNNING
    insert: StoredQuery | None = None
    options: Mapping[str, str] = FrozenMap()
    starts_late: bool = False

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        item: dict[str, object] = {
            "id": self.id,
            "name": self.name,
            "commitUser": self.commit_user,
            "sink": self.sink,
            "sources": sorted(self.sources),
            "state": self.state.value,
        }
        if self.names:  # an older release does without it
            item["names"] = {
                path: [name.warehouse, name.namespace, name.name]
                for path, name in sorted(self.names.items())
            }
        if self.insert is None:  # an older release reads it, too
            return to_checked_json(item, version=_VERSION_WITHOUT_INSERT)
        item["insert"] = self.insert.to_json()
        if not self.options and not self.starts_late:
            return to_checked_json(item, version=_VERSION_OF_INSERT)
        item |= {"options": dict(self.options), "startsLate": self.starts_late}
        return to_checked_json(item, version=REGISTRY_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> RegisteredJob:
        """Return what `to_bytes` wrote.

        Raises:
            CorruptFileError: it is no job, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data,
            _from_json,
            path=path,
            version=REGISTRY_VERSION,
            noun="registered job",
            remedy=_REMEDY,
        )


@dataclass(frozen=True, slots=True)
class JobRegistry:
    """The jobs of the warehouse whose root is `warehouse`, for any number of processes."""

    file_io: FileIO
    warehouse: str

    @classmethod
    def of(cls, warehouse: Warehouse) -> JobRegistry:
        """Return the registry of a warehouse."""
        return cls(warehouse.file_io, warehouse.root)

    def all(self) -> tuple[RegisteredJob, ...]:
        """Return all jobs; costs a list, and a read for each.

        Raises:
            CorruptFileError: a file is damaged.
            FormatVersionError: a newer version of the table store wrote one.
        """
        folder = join_path(self.warehouse, REGISTRY_FOLDER)
        found = [self._read(join_path(folder, name)) for name in self.file_io.names(folder)]
        return tuple(job for job in found if job is not None)

    def find(self, sink: str) -> RegisteredJob | None:
        """Return the job that writes the table in a directory; fails as `all`."""
        return self._read(self._path(sink))

    def register(self, job: RegisteredJob) -> None:
        """Write a job's file if it is not there as it would be written; fails as `all`."""
        if self.find(job.sink) != job:
            self.file_io.write_bytes(self._path(job.sink), job.to_bytes())

    def remove(self, sink: str, *, job: str | None = None) -> None:
        """Forget the job of the table in a directory; with `job` only if it has this id."""
        if job is not None:
            known = self.find(sink)
            if known is None or known.id != job:
                return
        self.file_io.delete(self._path(sink))

    def _read(self, path: str) -> RegisteredJob | None:
        try:
            return RegisteredJob.from_bytes(self.file_io.read_bytes(path), path=path)
        except MissingFileError:
            return None

    def _path(self, sink: str) -> str:
        return join_path(self.warehouse, REGISTRY_FOLDER, sink_digest(sink))


def sink_digest(sink: str) -> str:
    """Return what names a job by the directory of its table; also the id of a view's job."""
    return hashlib.sha256(sink.encode()).hexdigest()[:16]


def _from_json(item: Mapping[str, Any]) -> RegisteredJob:
    insert = item.get("insert")
    return RegisteredJob(
        id=str(item["id"]),
        name=str(item["name"]),
        commit_user=str(item["commitUser"]),
        sink=str(item["sink"]),
        sources=frozenset(str(path) for path in item["sources"]),
        names=FrozenMap({path: _name(*parts) for path, parts in item.get("names", {}).items()}),
        state=JobState(item["state"]),
        insert=None if insert is None else StoredQuery.from_json(insert),
        options=FrozenMap({str(k): str(v) for k, v in item.get("options", {}).items()}),
        starts_late=bool(item.get("startsLate", False)),
    )


def _name(warehouse: str, namespace: str, name: str) -> FoundName:
    return FoundName(warehouse=str(warehouse), namespace=str(namespace), name=str(name))
