"""The table of a streaming INSERT's job: its claim, and what its sources keep for it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.jobs.sink_options import is_emitted_on_watermark, write_options
from table_store.catalog.names.process_identity import ProcessIdentity
from table_store.catalog.planner.epochs.consumers import note_consumer
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.jobs.job_registry import writing_queries
from table_store.catalog.planner.names.catalog_access import CatalogAccess, jvm_process
from table_store.catalog.planner.names.table_requests import managed_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import Job
from table_store.catalog.planner.write.background_compaction import COMPACTION
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.catalog.tables.stream_writer_claim import StreamWriter, StreamWriterClaim
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.logged_table import open_logged

_NOTE_MS: Final = 60_000

_log = logging.getLogger(__name__)


def opened_sink(session: PlannerSession, job: Job) -> Sink | None:
    """The table of a job; None if another table has its name by now.

    Raises:
        NotFoundError: there is none.
        WrongRelationKindError: the name is that of something else.
    """
    access, managed = managed_table(session, job.sink)
    return sink_of(job, access, managed) if managed.location == job.path else None


def sink_of(job: Job, access: CatalogAccess, managed: ManagedTable) -> Sink:
    """The table of a job, which has been found; whether it is shared is asked before an epoch."""
    return Sink(
        relation=job.sink,
        access=access,
        table=open_logged(job.path, access.warehouse.places.file_io_of(job.path)),
        schema=managed.schema,
        job=job.commit_user,
        is_shared=True,
        options=write_options(job.options),
        is_emitted_on_watermark=is_emitted_on_watermark(job.options),
    )


def claim(session: PlannerSession, job: Job, sink: Sink) -> None:
    """Take the table for the job, or renew its claim.

    Raises:
        StreamWriterExistsError: a streaming query or a job of another program writes it.
    """
    _claim(job, sink).take(_writer(job), writing_queries(session))


def take_over(job: Job, sink: Sink, deposed: ProcessIdentity) -> None:
    """Take the table for the job if a process has it that hosts jobs no longer."""
    _claim(job, sink).take_over(_writer(job), deposed)


def give_back(session: PlannerSession, job: Job) -> None:
    """Let others write the table, when no compaction of it runs any more."""
    try:
        sink = opened_sink(session, job)
        if sink is not None:
            COMPACTION.settle(sink.table.path)
            _claim(job, sink).give_back(_writer(job))
    except TableStoreError as error:
        _log.warning("job %s does not give back its table: %s", job.name, error)


def noted(sink: Sink, status: JobStatus, now_ms: int) -> JobStatus:
    """Tell the sources, once a minute, from which of their snapshots the job goes on.

    So these snapshots stay.
    """
    if not is_note_due(status, now_ms):
        return status
    note_consumer(sink, status.sources or {})
    return replace(status, noted_ms=now_ms)


def is_note_due(status: JobStatus, now_ms: int) -> bool:
    """Whether a minute has passed since the sources were told."""
    return status.noted_ms + _NOTE_MS <= now_ms


def _claim(job: Job, sink: Sink) -> StreamWriterClaim:
    return StreamWriterClaim.of(sink.table, job.sink_name)


def _writer(job: Job) -> StreamWriter:
    return StreamWriter(query=job.commit_user, run=job.id, holder=jvm_process())
