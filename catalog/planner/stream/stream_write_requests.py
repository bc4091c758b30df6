"""Requests of a stream that writes a table: at its start, before each micro-batch, at its end."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.errors import StreamCheckpointLostError
from table_store.catalog.planner.names.catalog_access import jvm_process
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.opened_table import OpenedTable, opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.stream_writes import (
    BeginStreamBatch,
    EndStreamWrite,
    RenewStreamWrite,
    StartStreamWrite,
)
from table_store.catalog.planner.write.stream_commit import (
    OFFSETS,
    commit_name,
    stream_write_options,
)
from table_store.catalog.tables.stream_writer_claim import StreamWriter, StreamWriterClaim
from table_store.catalog.tables.write_options import CommitName
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.table_options import CHANGE_TYPE_COLUMN


def start_stream_write(session: PlannerSession, request: StartStreamWrite) -> Mapping[str, str]:
    """The entries of the offset log that a query's checkpoint has lost, by batch number.

    If a checkpoint has lost its newest entries, the query would read other rows under batch numbers
    that are already committed. The table's snapshots keep these entries, too.

    Raises:
        InvalidOptionError: output mode 'update', and the table has no key.
        StreamWriterExistsError: another query writes the table.
        StreamCheckpointLostError: the table's snapshots do not have the entries any more.
    """
    opened, query = opened_table(request.table), request.query
    refuse_derived(opened.schema, opened.name, "A stream's write")
    if request.output_mode == "Update" and not opened.schema.primary_key:
        raise InvalidOptionError(
            key="outputMode",
            value="update",
            reason=f"it replaces rows by their key, and {opened.name} has no primary key; use "
            "'append', or 'complete'",
        )
    _claim(opened).check(_writer(query or "", ""), request.running)
    latest = opened.table.latest_snapshot()
    last = None if latest is None or query is None else latest.commit_identifiers.get(query)
    if latest is None or query is None or last is None or last <= request.last_offset:
        return {}
    found = _committed(opened, latest, CommitName(user=query, identifier=last))
    entries = {
        key.removeprefix(OFFSETS): text
        for key, text in (found.properties if found else {}).items()
        if key.startswith(OFFSETS)
    }
    if str(last) not in entries:
        raise StreamCheckpointLostError(
            table=opened.name, query=query, batch=last, last=request.last_offset
        )
    return {batch: text for batch, text in entries.items() if int(batch) > request.last_offset}


def begin_stream_batch(session: PlannerSession, request: BeginStreamBatch) -> bool:
    """Whether a micro-batch is committed already; then it must not be written again.

    Raises:
        UnknownOptionError, InvalidOptionError: the stream's options are wrong.
        StreamWriterExistsError: another query writes the table.
    """
    opened, query = opened_table(request.table), request.stream.query
    changes = stream_write_options(request.options, request.stream).change_type_column
    if request.is_complete and changes is not None:
        raise InvalidOptionError(
            key=CHANGE_TYPE_COLUMN.key,
            value=changes,
            reason="with output mode 'complete' each batch is the whole table, not changes of it; "
            "use 'append'",
        )
    _claim(opened).take(_writer(query.query, query.run), query.running)
    name = commit_name(request.stream)
    return opened.table.committer().has_committed(name.user, name.identifier)


def renew_stream_write(session: PlannerSession, request: RenewStreamWrite) -> None:
    """Renew the claim of a query that still runs, though it may have nothing to write."""
    query = request.query
    _claim(opened_table(request.table)).take(_writer(query.query, query.run), query.running)


def end_stream_write(session: PlannerSession, request: EndStreamWrite) -> None:
    """Give back the claim of a query that has ended, so that another query may write the table."""
    query = request.query
    _claim(opened_table(request.table)).give_back(_writer(query.query, query.run))


def _claim(opened: OpenedTable) -> StreamWriterClaim:
    return StreamWriterClaim.of(opened.table, opened.name)


def _writer(query: str, run: str) -> StreamWriter:
    return StreamWriter(query=query, run=run, holder=jvm_process())


def _committed(opened: OpenedTable, latest: Snapshot, name: CommitName) -> Snapshot | None:
    """The snapshot of a commit; None where it has expired."""
    for version in range(latest.id, 0, -1):
        try:
            found = opened.table.snapshot_store.get(version)
        except SnapshotNotFoundError:
            return None
        if (found.commit_user, found.commit_identifier) == (name.user, name.identifier):
            return found
    return None
