"""CALL sys.revise: a table is corrected, and what stands on it follows, all at one new barrier.

Nobody who reads barriers sees the middle: the barriers before stay as they are, and from the fence
on a table that was set back is valid only where its sources are what they were, too. Where a
revision dies, what waits for it waits until the same call is made again; that goes on with it, and
does not correct the table twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.jobs.ledger import Ledger
from table_store.catalog.jobs.revision_errors import RevisionIncompleteError
from table_store.catalog.meta_service.observed_job import SameRows
from table_store.catalog.meta_service.one_moment import roots_at_once
from table_store.catalog.meta_service.revision import (
    REVISER,
    Revision,
    RevisionClaim,
    RevisionMode,
    RevisionRequest,
)
from table_store.catalog.meta_service.revision_plan import (
    RevisionPlan,
    RevisionPlanner,
    RevisionStep,
    Treatment,
    tables_of,
)
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.planner.epochs.epoch_record import error_text
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference
from table_store.catalog.planner.revision.correcting_statement import CorrectingStatement
from table_store.catalog.planner.revision.revised_job import RevisedJobs
from table_store.catalog.planner.revision.set_back import set_back
from table_store.catalog.shown.procedure_context import RevisedTable
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.logged_table import open_logged


def revise(
    session: PlannerSession,
    catalog: CatalogReference,
    table: ManagedTable,
    request: RevisionRequest,
    *,
    is_dry: bool,
) -> Sequence[RevisedTable]:
    """Revise a table; return what has been done, or, if it is dry, what would be.

    Raises:
        RevisionError: it cannot be done; nothing has changed.
        RevisionOpenError: another revision is open.
        TransactionOpenError: the transaction of a producer is open.
        RevisionIncompleteError: the table was corrected, and a job has not followed.
    """
    jobs = RevisedJobs(session, catalog)
    access, name = jobs.access, jobs.access.qualified(table.identifier)
    opened = open_logged(table.location, access.warehouse.places.file_io_of(table.location))
    planner = RevisionPlanner(access.warehouse, opened, name, request, jobs.names.keys())
    plan = planner.plan()
    statement = None
    if request.statement is not None:
        statement = CorrectingStatement(session, access, opened, name, request.statement)
        statement.check()
    if is_dry:
        return _planned(jobs, table.location, plan)
    claim = RevisionClaim.of(access.warehouse)
    latest = opened.latest_snapshot()
    last = 0 if latest is None else latest.commit_identifiers.get(REVISER, 0)
    wanted = Revision(
        number=max(access.warehouse.clock.now_ms(), last + 1),
        table=table.location,
        name=name,
        request=request.text,
        tables=tables_of(table.location, plan.done),
        holder=identity_of(),
    )
    return _Run(jobs, planner, claim, opened, statement).run(claim.begin(wanted))


@dataclass(frozen=True, slots=True)
class _Run:
    """A revision that is open."""

    jobs: RevisedJobs
    planner: RevisionPlanner
    claim: RevisionClaim
    table: FileStoreTable
    statement: CorrectingStatement | None

    def run(self, revision: Revision) -> Sequence[RevisedTable]:
        with self._closed_unless_begun(revision):
            # What was registered before the claim was seen is among it, what comes later waits.
            plan = self.planner.plan()
            revision = self.claim.renew(revision, tables_of(self.table.path, plan.done))
        with self._closed_unless_begun(revision):
            roots_at_once(self.planner.warehouse, {self.table.path})
            self._correct(plan, revision.number)
        with self._left_open(revision):
            try:
                self._set_back(plan, revision)
                done, failed = self._follow(plan, revision)
            finally:
                self._recache(plan)
        self.claim.end(revision)
        if failed is not None:
            step, reason = failed
            raise RevisionIncompleteError(
                table=revision.name,
                job=step.one.job.name,
                reason=reason,
                again=self._again(revision),
            )
        return _rows(self.jobs, plan, done)

    @contextmanager
    def _closed_unless_begun(self, revision: Revision) -> Iterator[None]:
        """Close a revision that fails before it has changed anything."""
        try:
            yield
        except BaseException:
            has_begun = True
            with suppress(TableStoreError):
                has_begun = self.table.committer().has_committed(REVISER, revision.number)
            if has_begun:
                self.claim.leave(revision)
            else:
                self.claim.end(revision)
            raise

    @contextmanager
    def _left_open(self, revision: Revision) -> Iterator[None]:
        """Leave a revision that fails on the way to whoever makes the same call."""
        try:
            yield
        except BaseException:
            self.claim.leave(revision)
            raise

    def _correct(self, plan: RevisionPlan, number: int) -> None:
        """Correct the table, with a new snapshot in any case.

        So the fence finds no table as its job has followed it: what is valid there now would not
        be what is valid there after tables were set back or computed anew.
        """
        before = self.table.snapshot_store.latest_id() or 0
        committer = self.table.committer()
        if self.statement is not None:
            self.statement.run(number)
        if plan.rollback is not None:
            committer.rollback(plan.rollback, commit_user=REVISER, commit_identifier=number)
        now = self.table.snapshot_store.latest_id() or 0
        if SameRows()(self.table.path, before, now):
            committer.commit(
                (),
                kind=CommitKind.APPEND,
                commit_user=self.table.ids.unique(),
                operation="REVISE",
                allow_empty=True,
            )

    def _set_back(self, plan: RevisionPlan, revision: Revision) -> None:
        """Cut the fence, with the corrected table, then take tables back."""
        fence = self._cut(plan, {self.table.path})
        for step in plan.steps:
            if step.treatment is Treatment.SET_BACK and step.origin is not None:
                self.claim.renew(revision)
                set_back(step.one, step.origin, fence)

    def _follow(
        self, plan: RevisionPlan, revision: Revision
    ) -> tuple[Mapping[str, Refreshed], tuple[RevisionStep, str] | None]:
        """Bring all jobs to one barrier; the first that fails keeps those above it from that."""
        sinks = {step.one.job.sink for step in plan.done}
        sources = {path for step in plan.done for path in step.one.job.sources} | {self.table.path}
        snapshots: dict[str, int] = {}
        barrier = self._cut(plan, sources - sinks, snapshots)
        done: dict[str, Refreshed] = {}
        failed = None
        for step in plan.done:
            self.claim.renew(revision)
            job = step.one.job
            if (job.sources & sinks) - done.keys():
                continue
            is_full = step.treatment is Treatment.COMPUTE
            try:
                found = self.jobs.advance(step.one, barrier, snapshots, is_full=is_full)
            except (TableStoreError, CapturedException, Py4JJavaError) as error:
                failed = failed or (step, error_text(error))
                continue
            done[job.sink] = found
            snapshots[job.sink] = found.snapshot
        return done, failed

    def _recache(self, plan: RevisionPlan) -> None:
        """Let cached plans read what was corrected, set back and computed."""
        for path in {self.table.path, *(step.one.job.sink for step in plan.steps)}:
            found = self.jobs.names.get(path)
            if found is not None:
                parts = (self.jobs.access.name, found.namespace, found.name)
                self.jobs.session.recache(parts)

    def _cut(
        self,
        plan: RevisionPlan,
        paths: Set[str],
        seen: dict[str, int] | None = None,
    ) -> int:
        """Cut a barrier after all that the jobs have taken; `seen` gets the tables' snapshots.

        Raises:
            TransactionOpenError: the transaction of a producer is open.
        """
        warehouse = self.planner.warehouse
        reached = [self._reached(step) for step in plan.done]

        after = max(reached, default=0) + 1
        barrier = Ledger.of(warehouse).cut(
            max(warehouse.clock.now_ms(), after), lambda: roots_at_once(warehouse, paths)
        )
        if seen is not None:
            seen |= {
                path: barrier.roots[path].head.snapshot for path in paths & barrier.roots.keys()
            }
        return barrier.number

    def _reached(self, step: RevisionStep) -> int:
        return Standing.of(self.jobs.sink(step.one)).barrier

    def _again(self, revision: Revision) -> str:
        if self.planner.request.mode is RevisionMode.FULL or self.statement is not None:
            call = f"CALL sys.revise(table => '{revision.name}', mode => 'full')"
            return f"{call} then brings all of it anew, and the correction is not to be repeated"
        return "its own epochs then go on, or run the same call again"


def _planned(jobs: RevisedJobs, table: str, plan: RevisionPlan) -> list[RevisedTable]:
    """What a plan would do."""
    rows = []
    if all(step.one.job.sink != table for step in plan.steps):
        rows.append(_corrected(jobs, table, plan))
    for step in plan.steps:
        rows.append(_row(jobs, step, rows_read=step.rows))
    return rows


def _rows(
    jobs: RevisedJobs, plan: RevisionPlan, done: Mapping[str, Refreshed]
) -> list[RevisedTable]:
    """What has been done."""
    rows = []
    for step in plan.steps:
        found = done.get(step.one.job.sink)
        if found is None:
            rows.append(_row(jobs, step, rows_read=0))
            continue
        rows.append(
            _row(
                jobs,
                step,
                rows_read=found.rows_read,
                barrier=found.barrier,
                snapshot=found.snapshot,
                rows_changed=found.rows_changed,
            )
        )
    return rows


def _corrected(jobs: RevisedJobs, table: str, plan: RevisionPlan) -> RevisedTable:
    return RevisedTable(
        table=jobs.name(table), job=None, treatment="correct", from_snapshot=plan.rollback
    )


def _row(
    jobs: RevisedJobs,
    step: RevisionStep,
    *,
    rows_read: int,
    barrier: int | None = None,
    snapshot: int | None = None,
    rows_changed: int | None = None,
) -> RevisedTable:
    origin = step.origin
    return RevisedTable(
        table=jobs.name(step.one.job.sink),
        job=step.one.job.name,
        state=step.one.state().value,
        treatment=step.treatment.value,
        from_barrier=None if origin is None else origin.barrier,
        from_snapshot=None if origin is None else origin.snapshot,
        rows_read=rows_read,
        barrier=barrier,
        snapshot=snapshot,
        rows_changed=rows_changed,
    )
