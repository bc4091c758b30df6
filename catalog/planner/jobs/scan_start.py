"""`log.scan`: from where on the job of a streaming INSERT follows its sources."""

from __future__ import annotations

from table_store.catalog.connectors.source import begins_late, last_position
from table_store.catalog.jobs.job_errors import StreamingInsertError
from table_store.catalog.jobs.progress import Followed, Progress, write_progress
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.epochs.standing import Standing
from table_store.catalog.planner.read.read_options import read_options
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import LOG_SCAN, LOG_SCAN_TIMESTAMP_MILLS
from table_store.storage.options.options import OptionValues


def late_start(query: JobQuery) -> Followed | None:
    """What counts as followed before the first epoch; None if all rows of all sources count.

    Raises:
        StreamingInsertError: a source has another `log.scan` than `full`, and the query needs the
            rows that it leaves out.
        InvalidOptionError: an option of a source cannot be used.
    """
    starts: dict[str, int] = {}
    for number, source in enumerate(query.facts.sources):
        handle = source.table_handle
        table = open_logged(handle.path)
        schema = table.schema
        if begins_late(schema):
            starts[handle.path] = last_position(table)
            continue
        options = read_options(query.facts.options[number], schema)
        mode = options.get(LOG_SCAN)
        if mode == "full":
            continue
        stateful = query.stateful
        because = f"log.scan = '{mode}' leaves out rows of {source.relation.text}, "
        remedy = "Say 'log.scan' = 'full'"
        if stateful:
            raise StreamingInsertError(reason=f"{because}which {stateful} needs", remedy=remedy)
        if schema.primary_key:
            reason = f"{because}and its changes, by its key, would change and delete those"
            raise StreamingInsertError(reason=reason, remedy=remedy)
        # Spark gives all mentions of a table in a query the options of the first one.
        starts[handle.path] = _start(handle.path, handle.snapshot_id or 0, options)
    if not starts:
        return None
    sources = {path: starts.get(path, 0) for path in query.sources}
    return Followed(sources=sources, created=query.created, plan=query.meaning)


def _start(path: str, latest: int, options: OptionValues) -> int:
    """The last snapshot whose rows do not count."""
    if options.get(LOG_SCAN) == "latest":
        return latest
    try:
        found = open_logged(path).snapshot(timestamp_ms=options.get(LOG_SCAN_TIMESTAMP_MILLS))
    except SnapshotNotFoundError:
        return 0  # it is from before the first one
    return 0 if found is None else found.id


def begin_late(sink: Sink, start: Followed) -> None:
    """Note a start, unless the job has begun already.

    Raises:
        JobHistoryLostError: nobody can tell.
    """
    standing = Standing.of(sink)
    if standing.followed() is not None:
        return
    done = Progress(barrier=standing.next_barrier, followed=start, sink=standing.state)
    write_progress(sink.table.file_io, sink.table.path, done, sink.job)
