"""What a streaming INSERT is checked for before its job begins, and what streaming mode refuses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.sink import check_readable
from table_store.catalog.connectors.source import (
    gives_changes,
    is_repeatable,
    source_of,
    tells_only_keys,
)
from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.jobs.job_errors import (
    JobExistsError,
    StreamingInsertError,
    StreamingStatementError,
    UnsupportedQueryError,
)
from table_store.catalog.planner.epochs.job_query import AS_THEY_ARE, JobQuery
from table_store.catalog.planner.epochs.lasting_queries import Target, analysed
from table_store.catalog.planner.jobs.refresh import analysed_query
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.jobs import ListedJob, RefusedStatement, RefuseStreaming
from table_store.catalog.planner.read.spark_streams import SparkStreams
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.errors import InvalidOptionError, TableStoreError
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import DURATION

RUNTIME_MODE: Final = "execution.runtime-mode"
INTERVAL: Final = "execution.checkpointing.interval"
PIPELINE_NAME: Final = "pipeline.name"
DML_SYNC: Final = "table.dml-sync"


def interval_ms(session: PlannerSession) -> int:
    """The time between two epochs.

    Raises:
        StreamingInsertError: the session does not set it.
        InvalidOptionError: it is no duration above zero.
    """
    text = session.conf(INTERVAL)
    if text is None:
        raise StreamingInsertError(
            reason="table store requires a checkpoint interval in streaming mode, because rows "
            "become visible with each checkpoint",
            remedy=f"SET '{INTERVAL}' = '10 s'",
        )
    return check_interval(text)


def check_interval(text: str) -> int:
    """The milliseconds that `text` stands for.

    Raises:
        InvalidOptionError: it is none, or none above zero.
    """
    try:
        found = DURATION.parse(text)
    except ValueError as error:
        raise InvalidOptionError(key=INTERVAL, value=text, reason=f"use {error}") from error
    milliseconds = found // timedelta(milliseconds=1)
    if not milliseconds:
        raise InvalidOptionError(key=INTERVAL, value=text, reason="use at least 1 ms")
    return milliseconds


def check_setting(key: str, value: str) -> None:
    """Check what a session sets, if it is one of the settings above.

    Raises:
        InvalidOptionError: the key does not take the value.
    """
    if key == RUNTIME_MODE and value.lower() not in ("batch", "streaming"):
        raise InvalidOptionError(key=key, value=value, reason="use 'batch' or 'streaming'")
    if key == DML_SYNC and value.lower() not in ("true", "false"):
        raise InvalidOptionError(key=key, value=value, reason="use 'true' or 'false'")
    if key == INTERVAL:
        check_interval(value)


def commit_user_of(name: str, insert: StoredQuery) -> str:
    """The commit user that a job has whenever the same statement is run under the same name."""
    same = [insert.text, insert.current_catalog, *insert.current_namespace]
    digest = hashlib.sha256(json.dumps(same).encode()).hexdigest()[:16]
    return f"insert:{name}:{digest}"


def check_alone(jobs: Sequence[ListedJob], name: str, path: str) -> None:
    """Check that no running job has the name or writes the table in the directory `path`.

    Raises:
        JobExistsError: one does.
    """
    for job in (listed.job for listed in jobs if listed.is_kept):
        if name == job.name or path == job.path:
            raise JobExistsError(job=job.id, name=job.name, sink=job.sink_name)


def insert_query(
    session: PlannerSession,
    insert: StoredQuery,
    target: Target,
    snapshots: Mapping[str, int] = AS_THEY_ARE,
) -> JobQuery:
    """The query of a streaming INSERT, with the columns that it writes.

    `snapshots` has those of tables, by directory, that are not read as they are now.

    Raises:
        StreamingInsertError: no job can keep a table equal to it.
    """
    try:
        query = analysed(session, insert, snapshots, target)
    except UnsupportedQueryError as error:
        raise StreamingInsertError(reason=error.reason) from None
    if query.always_changes is not None:
        raise StreamingInsertError(reason=query.always_changes)
    _check_root(query)
    _check_key(query, target)
    return query


def is_exhausted(query: JobQuery) -> bool:
    """Whether a query reads nothing but rows of connectors, and has all that there will be."""
    return query.external == query.sources.keys() and all(
        _rows_max(path) == rows for path, rows in query.sources.items()
    )


def refuse_streaming(
    session: PlannerSession,  # noqa: ARG001 - every handler gets it
    request: RefuseStreaming,
) -> None:
    """Say why a statement cannot run in streaming mode.

    Raises:
        StreamingStatementError: always.
    """
    match request.statement:
        case RefusedStatement.SELECT:
            reason = f"the changes of {', '.join(request.reads)} have no end, and so the result "
            reason += "would have none"
            remedy = "INSERT the result INTO a table, read changes with CHANGES FROM VERSION or "
            remedy += "spark.readStream, add a LIMIT, read the tables WITH ('scan.bounded.mode' = "
            remedy += "'latest')"
        case RefusedStatement.OVERWRITE:
            reason = "a result without an end replaces nothing"
            remedy = "Use INSERT INTO"
        case RefusedStatement.SEVERAL:
            reason = "each INSERT is a job of its own"
            remedy = "Write one INSERT for each table, between EXECUTE STATEMENT SET BEGIN and END"
        case RefusedStatement.FOREIGN:
            reason = "only a managed table gets rows and the job's progress in one commit"
            remedy = "Insert into a managed table"
    raise StreamingStatementError(statement=request.statement.value, reason=reason, remedy=remedy)


def _rows_max(path: str) -> int | None:
    source = source_of(open_logged(path))
    return None if source is None else source.rows_max


def begin_sources(query: JobQuery, interval: int) -> None:
    """Fix where the rows of sources begin that nobody has read yet, before their job does.

    So 'latest-offset' means those that come after the statement. Brokers that do not answer are
    left to the job, which waits for them.

    Raises:
        SourceTopicNotFoundError: there is no such topic.
        SourceTopicError: it is not what it was.
        LogRefusedError: the brokers let nobody in.
    """
    moment = Moment(spark=SparkStreams(query.session))
    for path in query.external:
        table = open_logged(path)
        source = None if is_repeatable(table.schema) else source_of(table)
        if source is None:
            continue
        try:
            source.advance(table.clock.now_ms(), interval, moment)
        except TableStoreError as error:
            if not error.retriable:
                raise


def _check_root(query: JobQuery) -> None:
    """Check that a query over rows from elsewhere can read them, and needs each of them once."""
    external = query.external
    for source in query.facts.sources:
        if source.table_handle.path in external:
            table, name = open_logged(source.table_handle.path), source.relation.text
            check_readable(table.schema, name)
            if table.latest_snapshot() is not None:
                raise StreamingInsertError(
                    reason=f"INSERT statements write {name}, and a job reads no such table",
                    remedy="Read what they write by another table over it",
                )
    if external and query.stateful is not None:
        name = next(s.relation.text for s in query.facts.sources if s.table_handle.path in external)
        raise StreamingInsertError(
            reason=f"{name} is an external source, which only the jobs of root tables read: at "
            f"each barrier they take its new rows, and {query.stateful} needs the old ones too",
            remedy=f"Load it into a table first with INSERT INTO t SELECT * FROM {name}, and "
            "read that table",
        )


def _check_key(query: JobQuery, target: Target) -> None:
    """Check that changes of rows find the rows in the table that they change.

    Rows may come once more; and of one that goes, or is replaced, some sources tell only the key.
    """
    schema = open_logged(target.path).schema_store.get(target.schema_id)
    external = query.external
    for number, source in enumerate(query.facts.sources):
        path, name = source.table_handle.path, source.relation.text
        if path not in external:
            continue
        read = open_logged(path).schema
        if gives_changes(read) and not schema.primary_key:
            raise StreamingInsertError(
                reason=f"{name} gives changes of rows, some of them more than once, and the table "
                "has no primary key by which they find the row",
                remedy="Create the table with a PRIMARY KEY, such as that of the source",
            )
        if tells_only_keys(read):
            _check_only_keys(query, number, read.primary_key, schema)


def _check_only_keys(
    query: JobQuery, number: int, known: Sequence[str], schema: TableSchema
) -> None:
    """Check that the columns `known` of a source tell which row of the table is changed."""
    facts = query.facts
    name = facts.sources[number].relation.text
    reason = f"of a row that goes from {name}, or is replaced, only the primary key is known, and "
    remedy = f"Load it into a table first with INSERT INTO t SELECT * FROM {name}, and read it"
    unknown = [o.column for o in facts.conditions if o.source == number and o.column not in known]
    if unknown:
        reason += f"a condition of the query reads column {unknown[0]!r}"
        raise StreamingInsertError(reason=reason, remedy=remedy)
    told: set[str] = set()
    for column, origins in zip(columns_from_spark(facts.schema), facts.origins, strict=True):
        if column.name in schema.primary_key:
            found = {origin.column for origin in origins if origin.source == number}
            if not found.issubset(known):
                reason += f"column {column.name!r} of the table's key needs more"
                raise StreamingInsertError(reason=reason, remedy=remedy)
            told |= found
    if not told.issuperset(known):
        reason += f"the table's key has nothing of column {min(set(known) - told)!r} of it"
        raise StreamingInsertError(reason=reason, remedy=remedy)


def check_no_cycle(
    session: PlannerSession,
    query: JobQuery,
    jobs: Sequence[ListedJob],
    sink: tuple[str, str],
) -> None:
    """Check that a sink (name, directory) is not among what its query reads, at any depth.

    Raises:
        StreamingInsertError: it is; the error names the path.
    """
    written = {listed.job.path: listed.status.sources or {} for listed in jobs if listed.is_kept}
    names = {listed.job.path: listed.job.sink_name for listed in jobs}
    name, target = sink
    path = _path_to(session, _named_sources(query), written, names, target, frozenset())
    if path is not None:
        raise StreamingInsertError(reason=f"it reads the table: {' <- '.join([name, *path])}")


def _path_to(
    session: PlannerSession,
    sources: Mapping[str, str],
    written: Mapping[str, Mapping[str, int]],
    names: Mapping[str, str],
    target: str,
    seen: frozenset[str],
) -> list[str] | None:
    for path, name in sources.items():
        if path == target:
            return [name]
        if path in seen:
            continue
        schema = open_logged(path).schema
        below = {p: names.get(p, p) for p in written.get(path, ())}
        if schema.query is not None:
            below |= _named_sources(analysed_query(session, schema))
        found = _path_to(session, below, written, names, target, seen | {path})
        if found is not None:
            return [name, *found]
    return None


def _named_sources(query: JobQuery) -> dict[str, str]:
    return {s.table_handle.path: s.relation.text for s in query.facts.sources}
