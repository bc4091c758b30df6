"""An epoch that a revision has in place of a job's own program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.catalog.jobs.sink_commit import is_alone
from table_store.catalog.jobs.sink_options import is_emitted_on_watermark, write_options
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.planner.epochs.consumers import note_consumer
from table_store.catalog.planner.epochs.epoch import advance, planned_step
from table_store.catalog.planner.epochs.epoch_record import recording
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.lasting_queries import Target
from table_store.catalog.planner.epochs.refreshed import Refreshed
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.jobs.refresh import analysed_query
from table_store.catalog.planner.jobs.streaming_insert import insert_query
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.catalog.planner.revision.fence import fence
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.kernel.errors import NotFoundError

_ATTEMPTS_MAX = 10


@dataclass(frozen=True)
class RevisedJobs:
    """Has epochs of any job of a warehouse, in the session of a statement."""

    session: PlannerSession
    catalog: CatalogReference

    @cached_property
    def access(self) -> CatalogAccess:
        """The catalog of the statement."""
        return CatalogAccess.of(self.session, self.catalog)

    @cached_property
    def names(self) -> Mapping[str, Identifier]:
        """The names of all tables, by directory."""
        warehouse = self.access.warehouse
        return {
            warehouse.location(record): record.identifier
            for namespace in warehouse.namespaces()
            for record in warehouse.records(namespace, (RelationKind.TABLE,))
        }

    def name(self, path: str) -> str:
        """Return the name of a table by its directory, as messages show it."""
        found = self.names.get(path)
        return path if found is None else self.access.qualified(found)

    def advance(
        self, one: ObservedJob, barrier: int, snapshots: Mapping[str, int], *, is_full: bool
    ) -> Refreshed:
        """Bring the table of a job to a barrier, at which its sources have these snapshots.

        Changes that an increment would leave out make it a full one, where nobody else has written
        the table. An epoch of the job itself that is under way is overtaken.

        Raises:
            NotFoundError: the table was dropped meanwhile.
            TableStoreError, CapturedException: see `epoch.advance`.
        """
        for _ in range(_ATTEMPTS_MAX - 1):
            try:
                return self._advanced(one, barrier, snapshots, is_full=is_full)
            except CommitConflictError:
                continue
        return self._advanced(one, barrier, snapshots, is_full=is_full)

    def _advanced(
        self, one: ObservedJob, barrier: int, snapshots: Mapping[str, int], *, is_full: bool
    ) -> Refreshed:
        sink = self.sink(one)
        name = "" if one.is_view else one.job.name
        with recording(self.session, sink, barrier, name=name) as record:
            query = self._query(one, sink, snapshots)
            if not is_full and not sink.is_shared and not sink.is_view:
                is_full = planned_step(sink, query, is_full=False).is_partial
            if is_full:
                sink = replace(sink, is_shared=False)
            done = advance(self.session, sink, query, is_full=is_full, barrier=barrier)
            done = replace(done, snapshot=fence(sink, query.sources, barrier))
            record(done)
        note_consumer(sink, query.sources)
        return done

    def sink(self, one: ObservedJob) -> Sink:
        """Return the table of a job.

        Raises:
            NotFoundError: it was dropped meanwhile.
        """
        identifier = self.names.get(one.job.sink)
        if identifier is None:
            raise NotFoundError(kind="table", name=one.job.sink)
        table, job = one.table, one.job
        is_shared = False
        if not one.is_view:
            latest = table.latest_snapshot()
            is_shared = job.starts_late or not is_alone(
                table.snapshot_store, latest, job.commit_user
            )
        return Sink(
            relation=RelationReference(
                catalog=self.catalog, namespace=(identifier.namespace,), name=identifier.name
            ),
            access=self.access,
            table=table,
            schema=table.schema,
            job=JOB_OF_VIEW if one.is_view else job.commit_user,
            is_shared=is_shared,
            options=write_options(job.options),
            is_emitted_on_watermark=is_emitted_on_watermark(job.options),
        )

    def _query(self, one: ObservedJob, sink: Sink, snapshots: Mapping[str, int]) -> JobQuery:
        if one.is_view:
            return analysed_query(self.session, sink.schema, snapshots)
        assert one.job.insert is not None, "the plan has seen to that"
        target = Target.of(sink.table, sink.schema)
        return insert_query(self.session, one.job.insert, target, snapshots)
