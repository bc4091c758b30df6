"""The revision that is under way in a warehouse: which tables it brings anew, and who does it.

A revision corrects a table and lets all that stands on it follow. It is a `Claim`, so there is one
at a time. While it is open, no job whose table it brings anew, or that reads one, takes a barrier:

- A revision opens its claim, corrects the table, and then cuts a barrier, the *fence*. Only then it
  sets back tables, by commits with the number of the fence.
- A job looks for an open revision after it has read the end of the ledger, and before it cuts or
  takes a barrier. If it sees none, its barrier is before the fence: a cut after the fence fails,
  for the ledger has gone on. So its commit has a lower number, and is refused once the table was
  set back.

tests/property/test_revision_protocol.py is the proof. Whoever dies leaves it open, and the same
call goes on with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from table_store.catalog.jobs.revision_errors import RevisionOpenError
from table_store.catalog.names.process_identity import Liveness, ProcessIdentity, liveness
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.claim import Claim, ClaimEntry
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import InvalidOptionError

REVISION_FOLDER: Final = "_revision"
REVISER: Final = "revision"
"""The commit user of corrections; their identifiers are the numbers of revisions."""

_VERSION: Final = 2
_SILENCE_MS: Final = 300_000
"""One on another machine that has been silent for so long is no longer counted on."""

_REMEDY: Final = "Delete it when no revision runs, then run the last revision again"


class RevisionMode(Enum):
    """How what stands on a corrected table gets there."""

    INCREMENTAL = "incremental"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRequest:
    """What is asked for: one of the first two, and with FULL also neither.

    Attributes:
        to_barrier: the table becomes what it was there.
        statement: corrects the table.
        mode: how the others follow.
    """

    to_barrier: int | None
    statement: str | None
    mode: RevisionMode

    @classmethod
    def of(cls, to_barrier: int | None, statement: str | None, mode: str | None) -> RevisionRequest:
        """Return the request of a call's arguments.

        Raises:
            InvalidOptionError: there is no such mode, or the arguments say too much or too little.
        """
        try:
            wanted = RevisionMode((mode or RevisionMode.INCREMENTAL.value).strip().lower())
        except ValueError:
            reason = "use 'incremental' or 'full'"
            raise InvalidOptionError(key="mode", value=str(mode), reason=reason) from None
        if to_barrier is not None and statement is not None:
            reason = "say either to_barrier or statement"
            raise InvalidOptionError(key="statement", value=statement, reason=reason)
        if to_barrier is None and statement is None and wanted is RevisionMode.INCREMENTAL:
            reason = (
                "say to_barrier or statement; with mode => 'full' the table may be right already"
            )
            raise InvalidOptionError(key="mode", value=wanted.value, reason=reason)
        return cls(to_barrier=to_barrier, statement=statement, mode=wanted)

    @property
    def text(self) -> str:
        """The same for the same request."""
        return json.dumps([self.to_barrier, self.statement, self.mode.value])


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A revision that is open.

    Attributes:
        number: names its correction; rises from one to the next.
        table: the directory of the table that is corrected.
        name: of this table.
        request: the text of the request.
        tables: the directories of all tables that it brings anew.
        holder: the process that does it; None if it has failed on the way.
    """

    number: int
    table: str
    name: str
    request: str
    tables: frozenset[str]
    holder: ProcessIdentity | None

    def holds(self, sink: str, sources: Iterable[str]) -> bool:
        """Whether a job waits for it, by the directories of its tables."""
        return sink in self.tables or not self.tables.isdisjoint(sources)

    def error(self) -> RevisionOpenError:
        """Why something that touches its tables cannot be done now."""
        return RevisionOpenError(table=self.name, is_alive=self._is_alive)

    @property
    def _is_alive(self) -> bool:
        return self.holder is not None and liveness(self.holder) is not Liveness.DEAD


@dataclass(frozen=True, slots=True)
class RevisionClaim:
    """The open revision of the warehouse to which the claim belongs."""

    claim: Claim
    clock: Clock

    @classmethod
    def of(cls, warehouse: Warehouse) -> RevisionClaim:
        """Return that of a warehouse."""
        folder = join_path(warehouse.root, REVISION_FOLDER)
        return cls(Claim(warehouse.file_io, folder), warehouse.clock)

    def current(self) -> Revision | None:
        """Return the open revision; None if there is none. Costs a list, and a read after one.

        Raises:
            CorruptFileError: the last entry is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        return self._latest()[1]

    def begin(self, wanted: Revision) -> Revision:
        """Open a revision, or go on with one of the same request that was left; return it.

        The number is that of the one that was left, else that of `wanted` or more.

        Raises:
            RevisionOpenError: another one is open.
        """
        entry, known, time_ms = self._read()
        number = 0 if entry is None else entry.number
        if known is None:
            revision = replace(wanted, number=max(wanted.number, number + 1))
        else:
            is_same = (known.table, known.request) == (wanted.table, wanted.request)
            if not is_same or self._counts(known, time_ms):
                raise known.error()
            revision = replace(known, tables=known.tables | wanted.tables, holder=wanted.holder)
        if not self._add(number + 1, revision):
            raise RevisionOpenError(table=wanted.name, is_alive=True)
        return revision

    def renew(self, revision: Revision, tables: frozenset[str] = frozenset()) -> Revision:
        """Say that it goes on, with more tables; return it.

        Raises:
            RevisionOpenError: another process has gone on with it.
        """
        number, known = self._latest()
        wider = replace(revision, tables=revision.tables | tables)
        if known != revision or not self._add(number + 1, wider):
            raise RevisionOpenError(table=revision.name, is_alive=True)
        return wider

    def leave(self, revision: Revision) -> None:
        """Let the same request go on with it."""
        self._replace(revision, replace(revision, holder=None))

    def end(self, revision: Revision) -> None:
        """Close it."""
        self._replace(revision, None)

    def _replace(self, revision: Revision, by: Revision | None) -> None:
        number, known = self._latest()
        if known == revision:
            self._add(number + 1, by)

    def _counts(self, known: Revision, time_ms: int) -> bool:
        """Whether the process of a revision is to be counted on."""
        match None if known.holder is None else liveness(known.holder):
            case Liveness.RUNNING:
                return True
            case Liveness.UNKNOWN:
                return abs(self.clock.now_ms() - time_ms) <= _SILENCE_MS
        return False

    def _latest(self) -> tuple[int, Revision | None]:
        entry, known, _ = self._read()
        return 0 if entry is None else entry.number, known

    def _read(self) -> tuple[ClaimEntry | None, Revision | None, int]:
        entry = self.claim.latest()
        if entry is None:
            return None, None, 0
        revision, time_ms = from_checked_json(
            entry.content,
            _revision_in,
            path=entry.path,
            version=_VERSION,
            noun="revision",
            remedy=_REMEDY,
        )
        return entry, revision, time_ms

    def _add(self, number: int, revision: Revision | None) -> bool:
        item: dict[str, Any] = {"timeMs": self.clock.now_ms(), "revision": None}
        if revision is not None:
            item["revision"] = {
                "number": revision.number,
                "table": revision.table,
                "name": revision.name,
                "request": revision.request,
                "tables": sorted(revision.tables),
                "holder": None if revision.holder is None else revision.holder.to_json(),
            }
        return self.claim.add(number, to_checked_json(item, version=_VERSION))


def _revision_in(item: Mapping[str, Any]) -> tuple[Revision | None, int]:
    """Return the revision of an entry, and when it was written (ms since 1970)."""
    found, time_ms = item["revision"], int(item["timeMs"])
    if found is None:
        return None, time_ms
    revision = Revision(
        number=int(found["number"]),
        table=str(found["table"]),
        name=str(found["name"]),
        request=str(found["request"]),
        tables=frozenset(str(path) for path in found["tables"]),
        holder=ProcessIdentity.from_json(found["holder"]),
    )
    return revision, time_ms
