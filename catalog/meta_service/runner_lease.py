"""The lease of a job runner: which program hosts the jobs of a warehouse.

It is a `Claim` whose holder adds an entry every `RENEWAL_MS`. Who finds the same entry for
`TERM_MS`, by a clock of its own that nobody sets, takes the lease over, and at once if the holder
has ended. So neither wrong clocks nor a holder that stands still can stop the jobs for longer. A
holder that wakes up finds a later entry. What it has begun does no harm: the claim of each table,
which passes to the new holder, refuses its next epoch, and commits are named by barriers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.names.process_identity import Liveness, ProcessIdentity, liveness
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock

RUNNER_FOLDER: Final = "_runner"
TERM_MS: Final = 6_000
RENEWAL_MS: Final = 2_000

_LEASE: Final = "lease"
_LEASE_VERSION: Final = 2
_SILENCE_MS: Final = 60_000
"""A holder on another machine that has been silent for so long is no longer counted on."""

_REMEDY: Final = "Delete it when no job runner works on the warehouse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The last entry that somebody has seen, and since when, in milliseconds of a steady clock."""

    number: int = 0
    since_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """Whether a program has the lease.

    Attributes:
        is_held: it has.
        sight: what it has to say next time.
        deposed: who had it before and has not given it back.
    """

    is_held: bool
    sight: Sight
    deposed: ProcessIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    number: int
    holder: ProcessIdentity | None
    time_ms: int


@dataclass(frozen=True, slots=True)
class RunnerLease:
    """The lease of the warehouse to which the claim belongs."""

    claim: Claim
    clock: Clock

    @classmethod
    def of(cls, warehouse: Warehouse) -> RunnerLease:
        """Return the lease of a warehouse."""
        folder = join_path(warehouse.root, RUNNER_FOLDER, _LEASE)
        return cls(Claim(warehouse.file_io, folder), warehouse.clock)

    def holder(self) -> ProcessIdentity | None:
        """Return the program that hosts the jobs; None if none is known to.

        Raises:
            CorruptFileError: the last entry is damaged.
        """
        last = self._latest()
        if last.holder is None:
            return None
        match liveness(last.holder):
            case Liveness.RUNNING:
                return last.holder
            case Liveness.DEAD:
                return None
            case Liveness.UNKNOWN:
                is_silent = abs(self.clock.now_ms() - last.time_ms) > _SILENCE_MS
                return None if is_silent else last.holder

    def take(self, me: ProcessIdentity, sight: Sight, steady_ms: int) -> Tenure:
        """Take the lease if it is free, or renew it; costs a list, a read, and at times a write.

        Args:
            me: who wants it.
            sight: of the last call's answer; a new one at first.
            steady_ms: the time by a clock that only goes forward.

        Raises:
            CorruptFileError: the last entry is damaged.
        """
        last = self._latest()
        seen = sight
        if last.number != sight.number:
            seen = Sight(number=last.number, since_ms=steady_ms)
        age_ms = steady_ms - seen.since_ms
        if last.holder == me and last.number == sight.number and age_ms < RENEWAL_MS:
            return Tenure(is_held=True, sight=seen)
        is_free = last.holder in (None, me) or age_ms >= TERM_MS
        if not is_free and last.holder is not None:
            is_free = liveness(last.holder) is Liveness.DEAD
        if not is_free or not self._add(last.number + 1, me):
            return Tenure(is_held=False, sight=seen)
        return Tenure(
            is_held=True,
            sight=Sight(number=last.number + 1, since_ms=steady_ms),
            deposed=None if last.holder == me else last.holder,
        )

    def give_back(self, me: ProcessIdentity) -> None:
        """Let another program host the jobs, if this one does."""
        last = self._latest()
        if last.holder == me:
            self._add(last.number + 1, None)

    def _latest(self) -> _Entry:
        entry = self.claim.latest()
        if entry is None:
            return _Entry(number=0, holder=None, time_ms=0)
        holder, time_ms = from_checked_json(
            entry.content,
            _holder_in,
            path=entry.path,
            version=_LEASE_VERSION,
            noun="lease",
            remedy=_REMEDY,
        )
        return _Entry(number=entry.number, holder=holder, time_ms=time_ms)

    def _add(self, number: int, holder: ProcessIdentity | None) -> bool:
        item = {
            "holder": None if holder is None else holder.to_json(),
            "timeMs": self.clock.now_ms(),
        }
        return self.claim.add(number, to_checked_json(item, version=_LEASE_VERSION))


def _holder_in(item: Mapping[str, Any]) -> tuple[ProcessIdentity | None, int]:
    return ProcessIdentity.from_json(item["holder"]), int(item["timeMs"])
