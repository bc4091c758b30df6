"""The claim that lets one streaming query at a time write a table.

It is a `Claim` beside the table, whose latest entry says which query has the table, or that none
has. Unlike a lock it is held for as long as a query runs; the claim of a dead query is free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.errors import StreamWriterExistsError
from table_store.catalog.names.process_identity import Liveness, ProcessIdentity, liveness
from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock

CLAIM_FOLDER: Final = "stream-writer"
LEASE_MS: Final = 300_000
"""A query on another machine counts as dead if it has not renewed its claim for so long."""

RENEWAL_MS: Final = LEASE_MS // 10
_ATTEMPTS_MAX: Final = 20

_ENTRY_VERSION: Final = 2
_REMEDY: Final = "Delete it when no streaming query writes the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWriter:
    """One run of a query, and the process in which it runs."""

    query: str
    run: str
    holder: ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    number: int
    writer: StreamWriter | None
    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWriterClaim:
    """The claim on the table at `path`; `name` is how errors call it."""

    file_io: FileIO
    path: str
    name: str
    clock: Clock

    @classmethod
    def of(cls, table: FileStoreTable, name: str) -> StreamWriterClaim:
        """Return the claim on a table."""
        return cls(file_io=table.file_io, path=table.path, name=name, clock=table.clock)

    def check(self, writer: StreamWriter, running: Collection[str]) -> None:
        """Check that `writer` could take the table now; `running` is as in `take`.

        Raises:
            StreamWriterExistsError: another query writes it.
        """
        self._check(self._latest(), writer, running)

    def take(self, writer: StreamWriter, running: Collection[str]) -> None:
        """Make `writer` the table's streaming writer, or renew its claim.

        Args:
            writer: the query that writes from now on.
            running: queries that run in the process of `writer`; all others of it have ended.

        Raises:
            StreamWriterExistsError: another query writes it.
            CommitConflictError: other queries were faster again and again; a retry is safe.
        """
        for _ in range(_ATTEMPTS_MAX):
            latest = self._latest()
            is_own = latest.writer == writer
            if is_own and latest.time_ms + RENEWAL_MS > self.clock.now_ms():
                return
            self._check(latest, writer, running)
            if self._add(latest.number + 1, writer):
                return
        raise CommitConflictError(
            table=self.name,
            snapshot_id=None,
            commit_user=writer.query,
            operation=None,
            reason="other streams took and left it all the while",
        )

    def check_free(self) -> None:
        """Check that no query has the table, as far as is known of those on other machines.

        Raises:
            StreamWriterExistsError: one has.
        """
        latest = self._latest()
        if latest.writer is not None and self._lives(latest.writer, latest.time_ms):
            raise _exists(self.name, latest.writer)

    def give_back(self, writer: StreamWriter) -> None:
        """Let other queries take the table, if `writer` still has it."""
        latest = self._latest()
        if latest.writer == writer:
            self._add(latest.number + 1, None)

    def holds(self, query: str) -> bool | None:
        """Whether a query has the table and lives, as far as is known; None if it was given back.

        Raises:
            CorruptFileError: the last entry is damaged.
        """
        latest = self._latest()
        if latest.writer is None:
            return None
        return latest.writer.query == query and self._lives(latest.writer, latest.time_ms)

    def take_over(self, writer: StreamWriter, deposed: ProcessIdentity) -> None:
        """Take the table for `writer` if a query of the process `deposed` has it.

        That process need not have ended: it may stand still.
        """
        latest = self._latest()
        if latest.writer is not None and latest.writer.holder == deposed:
            self._add(latest.number + 1, writer)

    def _lives(self, writer: StreamWriter, time_ms: int) -> bool:
        """Whether who took the table at a time is there, or nobody can say so and it is recent."""
        match liveness(writer.holder):
            case Liveness.RUNNING:
                return True
            case Liveness.DEAD:
                return False
            case Liveness.UNKNOWN:
                return time_ms + LEASE_MS >= self.clock.now_ms()

    def _check(self, latest: _Latest, writer: StreamWriter, running: Collection[str]) -> None:
        other = latest.writer
        if other is None or (other.query, other.holder) == (writer.query, writer.holder):
            return
        match liveness(other.holder):
            case Liveness.DEAD:
                return
            case Liveness.RUNNING if other.holder == writer.holder and other.query not in running:
                return
            case Liveness.UNKNOWN:
                # If the same query starts elsewhere, its former machine is gone.
                is_silent = latest.time_ms + LEASE_MS < self.clock.now_ms()
                if is_silent or other.query == writer.query:
                    return
        raise _exists(self.name, other)

    def _latest(self) -> _Latest:
        entry = self._claim.latest()
        if entry is None:
            return _Latest(number=0, writer=None, time_ms=0)
        writer, time_ms = from_checked_json(
            entry.content,
            _writer_in,
            path=entry.path,
            version=_ENTRY_VERSION,
            noun="claim",
            remedy=_REMEDY,
        )
        return _Latest(number=entry.number, writer=writer, time_ms=time_ms)

    def _add(self, number: int, writer: StreamWriter | None) -> bool:
        entry = {
            "query": None if writer is None else writer.query,
            "run": None if writer is None else writer.run,
            "holder": None if writer is None else writer.holder.to_json(),
            "timeMs": self.clock.now_ms(),
        }
        return self._claim.add(number, to_checked_json(entry, version=_ENTRY_VERSION))

    @property
    def _claim(self) -> Claim:
        return Claim(self.file_io, join_path(self.path, CLAIM_FOLDER))


def _exists(table: str, writer: StreamWriter) -> StreamWriterExistsError:
    holder = writer.holder
    return StreamWriterExistsError(
        table=table, query=writer.query, pid=holder.pid, host=holder.host
    )


def _writer_in(item: Mapping[str, Any]) -> tuple[StreamWriter | None, int]:
    """Return who has the table, and since when (ms since 1970)."""
    holder, time_ms = ProcessIdentity.from_json(item["holder"]), int(item["timeMs"])
    if holder is None:
        return None, time_ms
    return StreamWriter(query=str(item["query"]), run=str(item["run"]), holder=holder), time_ms
