"""What a revision does with each table that stands on the corrected one, and what it costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from table_store.catalog.jobs.ledger import Barrier, Ledger
from table_store.catalog.jobs.progress import Taken
from table_store.catalog.jobs.revision_errors import RevisionError
from table_store.catalog.jobs.sink_commit import is_alone
from table_store.catalog.jobs.sink_options import is_emitted_on_watermark
from table_store.catalog.meta_service.observed_job import (
    ObservedJob,
    SameRows,
    observed_jobs,
    topology_of,
)
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.meta_service.revision import RevisionMode, RevisionRequest
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged

_RUN_A_STATEMENT = "Correct it with statement => '…', which takes no barrier"
_FULL = "With mode => 'full' what stands on it is computed anew, and needs no history"


class Treatment(Enum):
    """What becomes of a table.

    SET_BACK: it becomes what it was at the barrier, and its job goes on from there. FOLLOW: its job
    goes on from where it is. COMPUTE: the whole result is compared with its rows. LEAVE: it is a
    suspended view, or stands on one alone.
    """

    SET_BACK = "set back"
    FOLLOW = "follow"
    COMPUTE = "compute"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStep:
    """A job whose table a revision brings anew.

    Attributes:
        one: the job.
        treatment: of its table.
        origin: the barrier from which the job goes on, with the snapshots there; None if it has
            taken none, or the whole result is computed.
        rows: about how many rows its epoch reads.
    """

    one: ObservedJob
    treatment: Treatment
    origin: Taken | None
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionPlan:
    """What a revision does.

    Attributes:
        rollback: the snapshot that the corrected table gets back; None if a statement corrects it,
            if it is right already, or if it is that of a job, which goes back with it.
        steps: the jobs, each behind those whose tables it reads.
    """

    rollback: int | None
    steps: tuple[RevisionStep, ...]

    @property
    def done(self) -> tuple[RevisionStep, ...]:
        """The steps of the jobs that are not left alone."""
        return tuple(step for step in self.steps if step.treatment is not Treatment.LEAVE)


@dataclass(frozen=True, slots=True)
class RevisionPlanner:
    """Plans the revision of one table.

    Attributes:
        warehouse: of the table.
        table: that is corrected.
        name: how messages call it.
        request: what is asked for.
        named: the directories of all tables that have a name; those of replaced ones have none.
    """

    warehouse: Warehouse
    table: FileStoreTable
    name: str
    request: RevisionRequest
    named: Collection[str]

    def plan(self) -> RevisionPlan:
        """Look at the warehouse; costs a few reads for each job, and writes nothing.

        Raises:
            RevisionError: it cannot be done.
            CorruptFileError: the registry or the ledger is damaged.
        """
        observed = observed_jobs(JobRegistry.of(self.warehouse))
        jobs = {one.job.sink: one for one in observed if one.job.sink in self.named}
        going = {path: one for path, one in jobs.items() if not _is_suspended_view(one)}
        all_above = topology_of(jobs.values()).above(self.table.path)
        above = topology_of(going.values()).above(self.table.path)
        if not above:
            raise self._error("no job that goes on stands on it", self._alone(jobs))
        barrier = self._barrier()
        own = jobs.get(self.table.path)
        if own is not None:
            self._check_own(own)
        steps = [
            self._step(going[path], barrier)
            if path in above
            else RevisionStep(one=jobs[path], treatment=Treatment.LEAVE, origin=None, rows=0)
            for path in all_above
        ]
        rollback = None
        if own is not None and barrier is not None:
            steps.insert(0, self._own_step(own, barrier))
        elif barrier is not None:
            rollback = self._snapshot_at(barrier)
        elif own is not None and self.request.statement is not None:
            steps.insert(0, _following(own))
        for step in steps:
            self._check_statement(step)
        return RevisionPlan(rollback=rollback, steps=tuple(steps))

    def _barrier(self) -> Barrier | None:
        number = self.request.to_barrier
        if number is None:
            return None
        found = Ledger.of(self.warehouse).get(number)
        if found is None:
            raise self._error(
                f"there is no barrier {number}, or it is no longer kept",
                "sys.barriers and sys.sink_snapshot_lineage list those that are",
            )
        return found

    def _snapshot_at(self, barrier: Barrier) -> int:
        """That of a root."""
        root = barrier.roots.get(self.table.path)
        if root is None or root.head.created_ms != self.table.created_ms:
            raise self._error(
                f"nobody looked at it up to barrier {barrier.number}", "Take another barrier"
            )
        if root.head.snapshot == 0:
            raise self._error(f"it was empty at barrier {barrier.number}", _RUN_A_STATEMENT)
        return self._kept(self.table, root.head.snapshot, _RUN_A_STATEMENT)

    def _own_step(self, own: ObservedJob, barrier: Barrier) -> RevisionStep:
        """The table is that of a job, which goes on from the barrier."""
        if _is_final(own):
            raise self._error(
                "what its job brings out when windows are closed is final",
                "CALL sys.rollback takes rows back that the job does not bring again",
            )
        taken = own.track.last_until(barrier.number)
        if taken is None or taken.snapshot == 0:
            raise self._error(
                f"its job has no rows of barrier {barrier.number}", "Take another barrier"
            )
        self._kept(self.table, taken.snapshot, _RUN_A_STATEMENT)
        rows = _changed_rows(taken.sources)
        return RevisionStep(one=own, treatment=Treatment.SET_BACK, origin=taken, rows=rows)

    def _step(self, one: ObservedJob, barrier: Barrier | None) -> RevisionStep:
        if _is_final(one):
            return _following(one)
        if self.request.mode is RevisionMode.FULL:
            if one.job.starts_late:
                raise self._error(
                    f"job {one.job.name} leaves out rows that were there when it began, so its "
                    "table is not the result of its query",
                    "STOP it first",
                )
            rows = sum(_rows_of(path) for path in one.job.sources)
            return RevisionStep(one=one, treatment=Treatment.COMPUTE, origin=None, rows=rows)
        taken = None if barrier is None else one.track.last_until(barrier.number)
        if taken is None or taken.snapshot == 0 or not _can_go_back(one, taken):
            return _following(one)
        self._kept(one.table, taken.snapshot, _FULL)
        rows = _changed_rows(taken.sources)
        return RevisionStep(one=one, treatment=Treatment.SET_BACK, origin=taken, rows=rows)

    def _kept(self, table: FileStoreTable, snapshot: int, remedy: str) -> int:
        try:
            table.snapshot_store.get(snapshot)
        except (MissingFileError, SnapshotNotFoundError):
            reason = f"snapshot {snapshot} of {table.path} has expired"
            raise self._error(reason, remedy) from None
        return snapshot

    def _check_own(self, own: ObservedJob) -> None:
        if own.is_view and self.request.statement is not None:
            raise self._error(
                "it is a materialized view, whose rows are those of its query",
                "Revise a table that the query reads, or give to_barrier",
            )
        if _is_suspended_view(own) and self.request.to_barrier is not None:
            raise self._error("it is suspended", "ALTER MATERIALIZED VIEW … RESUME it first")

    def _check_statement(self, step: RevisionStep) -> None:
        """The program of a job need not be this one, so its statement must be known."""
        is_known = step.one.is_view or step.one.job.insert is not None
        if step.treatment is not Treatment.LEAVE and not is_known:
            raise self._error(
                f"the statement of job {step.one.job.name} holds a secret, or an older version "
                "registered it, so only its own program can have its epochs",
                "STOP JOB first; the same INSERT then resumes it, and follows",
            )

    def _alone(self, jobs: Mapping[str, ObservedJob]) -> str:
        if self.table.path in jobs:
            return "REFRESH it FULL, or CALL sys.rollback"
        return "Run the statement itself, or CALL sys.rollback"

    def _error(self, reason: str, remedy: str) -> RevisionError:
        return RevisionError(table=self.name, reason=reason, remedy=remedy)


def _is_suspended_view(one: ObservedJob) -> bool:
    return one.is_view and one.table.schema.upkeep.is_suspended


def _is_final(one: ObservedJob) -> bool:
    """Whether no correction changes the rows that the job has brought out."""
    return not one.is_view and is_emitted_on_watermark(one.job.options)


def _can_go_back(one: ObservedJob, taken: Taken) -> bool:
    """Whether nobody loses rows, and there is anything to take back."""
    latest = one.table.latest_snapshot()
    if latest is None or SameRows()(one.job.sink, taken.snapshot, latest.id):
        return False
    snapshots = one.table.snapshot_store
    is_own = one.is_view or is_alone(snapshots, latest, one.job.commit_user)
    return is_own and not one.job.starts_late


def _following(one: ObservedJob) -> RevisionStep:
    origin = one.track.taken[-1] if one.track.taken else None
    rows = 0 if origin is None else _changed_rows(origin.sources)
    return RevisionStep(one=one, treatment=Treatment.FOLLOW, origin=origin, rows=rows)


def _changed_rows(sources: Mapping[str, int]) -> int:
    """About how many rows have been written to tables since their snapshots, but for all at most.

    What a revision has yet to change is not among them.
    """
    return sum(min(_rows_of(path), _rows_since(path, at)) for path, at in sources.items())


def _rows_of(path: str) -> int:
    snapshot = _table(path)
    return 0 if snapshot is None else snapshot[0]


def _rows_since(path: str, at: int) -> int:
    now = _table(path)
    if now is None or not at:
        return 0 if now is None else now[0]
    try:
        return now[1] - open_logged(path).snapshot_store.get(at).next_sequence
    except (MissingFileError, SnapshotNotFoundError):
        return now[0]


def _table(path: str) -> tuple[int, int] | None:
    """Rows of a table, and its next sequence number; None if it is gone or empty."""
    try:
        latest = open_logged(path).latest_snapshot()
    except (MissingFileError, NotFoundError):
        return None
    return None if latest is None else (latest.total_record_count, latest.next_sequence)


def tables_of(table: str, steps: Sequence[RevisionStep]) -> frozenset[str]:
    """Return the directories of the tables that wait until a revision has ended."""
    return frozenset({table, *(step.one.job.sink for step in steps)})
