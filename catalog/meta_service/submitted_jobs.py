"""What the job runner of a warehouse is to do, and what it has made of it.

Whoever wants something of a job writes `_runner/jobs/<hash of its sink>-<number>`, whose number is
above those before it; the greatest counts. The runner alone writes `_runner/status`, with all jobs
that it hosts. So a program that submits a job needs no connection to the runner, which may also
come later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from table_store.catalog.meta_service.registry import sink_digest
from table_store.catalog.meta_service.runner_lease import RUNNER_FOLDER
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import FileAccessError, MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap

_JOBS: Final = "jobs"
_STATUS: Final = "status"
_SUBMISSION_VERSION: Final = 2
_STATUS_VERSION: Final = 2
_REMEDY: Final = "Delete it, and run the INSERT again"
_STATUS_REMEDY: Final = "Delete it; the job runner writes it again"


class Order(Enum):
    """What is wanted of a job.

    After STOP, DRAIN and SUSPEND it is no longer hosted. After PAUSE it is, and has no epochs until
    something else is wanted.
    """

    RUN = "run"
    FLUSH = "flush"
    REFRESH = "refresh"
    DRAIN = "drain"
    STOP = "stop"
    SUSPEND = "suspend"
    PAUSE = "pause"

    @property
    def is_end(self) -> bool:
        """Whether the job is to end."""
        return self in (Order.DRAIN, Order.STOP, Order.SUSPEND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job, and what is wanted of it.

    Attributes:
        sink: the directory of its table.
        listed: the job as it was when it was submitted, the planner's text.
        order: what is wanted.
        reason: why it is to be suspended.
        number: among those of the sink, from 1 on; 0 before it is submitted.
    """

    sink: str
    listed: str
    order: Order = Order.RUN
    reason: str | None = None
    number: int = 0

    @property
    def digest(self) -> str:
        """By which files name the sink."""
        return sink_digest(self.sink)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedJob:
    """A job as its runner last told.

    Attributes:
        listed: the planner's text.
        number: of the last submission that the runner has read.
    """

    listed: str
    number: int


@dataclass(frozen=True, slots=True)
class SubmittedJobs:
    """The submissions and the status of a warehouse's runner, for any number of processes."""

    file_io: FileIO
    warehouse: str

    @classmethod
    def of(cls, warehouse: Warehouse) -> SubmittedJobs:
        """Return those of a warehouse."""
        return cls(warehouse.file_io, warehouse.root)

    @staticmethod
    def digest_of(sink: str) -> str:
        """Return by which files name a sink, the directory of a job's table."""
        return sink_digest(sink)

    def numbers(self) -> dict[str, int]:
        """Return the number of the submission that counts, by the digests of sinks; one list."""
        found: dict[str, int] = {}
        for name in self.file_io.names(self._folder):
            digest, _, number = name.partition("-")
            if number.isdecimal():
                found[digest] = max(found.get(digest, 0), int(number))
        return found

    def get(self, digest: str, number: int) -> Submission | None:
        """Return a submission; None if it no longer counts.

        Raises:
            CorruptFileError: it is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        path = self._path(digest, number)
        try:
            data = self.file_io.read_bytes(path)
        except MissingFileError:
            return None
        found = from_checked_json(
            data,
            _submission,
            path=path,
            version=_SUBMISSION_VERSION,
            noun="submitted job",
            remedy=_REMEDY,
        )
        return replace(found, number=number)

    def all(self) -> list[Submission]:
        """Return the submissions that count; fails as `get`."""
        found = [self.get(digest, number) for digest, number in sorted(self.numbers().items())]
        return [one for one in found if one is not None]

    def submit(self, wanted: Submission) -> Submission:
        """Make a submission the one that counts for its sink, durable, and return it."""
        item = {
            "sink": wanted.sink,
            "listed": wanted.listed,
            "order": wanted.order.value,
            "reason": wanted.reason,
        }
        data = to_checked_json(item, version=_SUBMISSION_VERSION)
        while True:
            number = self.numbers().get(wanted.digest, 0) + 1
            path = self._path(wanted.digest, number)
            if not self.file_io.write_new(path, data):
                continue
            # Later ones may have come, and this number may have gone, since it was looked up.
            if self.numbers().get(wanted.digest) == number:
                self._remove(wanted.digest, number - 1)
                return replace(wanted, number=number)
            self.file_io.delete(path)

    def remove(self, done: Submission) -> None:
        """Remove a submission that has been carried out, unless there is a later one."""
        self._remove(done.digest, done.number)

    def status(self) -> Mapping[str, HostedJob]:
        """Return what the runner has told last, by the digests of sinks.

        Raises:
            CorruptFileError: it is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        path = self._status_path
        try:
            data = self.file_io.read_bytes(path)
        except MissingFileError:
            return FrozenMap()
        return from_checked_json(
            data,
            _status,
            path=path,
            version=_STATUS_VERSION,
            noun="status of a job runner",
            remedy=_STATUS_REMEDY,
        )

    def tell(self, jobs: Mapping[str, HostedJob]) -> None:
        """Replace the status; the runner's alone."""
        item = {
            "jobs": {
                digest: {"listed": job.listed, "number": job.number} for digest, job in jobs.items()
            }
        }
        self.file_io.write_bytes(self._status_path, to_checked_json(item, version=_STATUS_VERSION))

    def _remove(self, digest: str, last: int) -> None:
        old: Sequence[str] = [
            entry.path
            for entry in self.file_io.list(self._folder)
            if entry.name.startswith(f"{digest}-") and int(entry.name.partition("-")[2]) <= last
        ]
        with suppress(FileAccessError):  # what counts is the greatest number
            self.file_io.delete_files(old)

    @property
    def _folder(self) -> str:
        return join_path(self.warehouse, RUNNER_FOLDER, _JOBS)

    @property
    def _status_path(self) -> str:
        return join_path(self.warehouse, RUNNER_FOLDER, _STATUS)

    def _path(self, digest: str, number: int) -> str:
        return join_path(self._folder, f"{digest}-{number:012d}")


def _submission(item: Mapping[str, Any]) -> Submission:
    reason = item["reason"]
    return Submission(
        sink=str(item["sink"]),
        listed=str(item["listed"]),
        order=Order(item["order"]),
        reason=None if reason is None else str(reason),
    )


def _status(item: Mapping[str, Any]) -> Mapping[str, HostedJob]:
    return FrozenMap(
        {
            str(digest): HostedJob(listed=str(job["listed"]), number=int(job["number"]))
            for digest, job in item["jobs"].items()
        }
    )
