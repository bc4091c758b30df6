"""What jobs leave at their sources: how far they have followed them, and for which table."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.source import source_of
from table_store.catalog.jobs.progress import JOB_OF_VIEW, Followed, SinkState, read_progress
from table_store.catalog.jobs.sink_commit import last_followed
from table_store.catalog.planner.epochs.sink import Sink
from table_store.storage.file_store.metadata.consumer import Consumer
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import (
    CorruptFileError,
    FormatVersionError,
    MissingFileError,
    NotFoundError,
)
from table_store.storage.log_store.logged_table import known_table, open_logged

_VIEW = "view:"
_GONE: Final = (MissingFileError, NotFoundError)
UNREADABLE: Final = (*_GONE, CorruptFileError, FormatVersionError)
"""What a table's own files raise that are lost, damaged or of a later version."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dependent:
    """A job that stands on a table: what messages call it, and the table that it writes.

    If it `writes` the table in question, that is the same one.
    """

    name: str
    job: str
    table: FileStoreTable
    writes: bool = False

    @property
    def is_view(self) -> bool:
        """Whether it is a materialized view; else it is a streaming INSERT."""
        return self.job == JOB_OF_VIEW

    @property
    def text(self) -> str:
        """What it is, and its name."""
        return f"{'materialized view' if self.is_view else 'streaming INSERT'} {self.name}"


def note_consumer(sink: Sink, sources: Mapping[str, int]) -> None:
    """Tell the sources (directory -> snapshot) what a job goes on from, so that it stays there.

    It costs a small file to read for each of them, and to write one after each change.
    """
    for path, followed in sources.items():
        try:
            consumers = known_table(path).consumers
            consumers.note(consumer_id(sink), followed + 1, sink=sink.table.path)
        except _GONE:
            continue  # it was dropped meanwhile
        except CorruptFileError as error:
            _log.warning("%s keeps nothing for %s: %s", path, sink.name, error)


def hold_rows(sink: Sink, sources: Mapping[str, int]) -> None:
    """Tell sources that a job begins, so that they keep rows for it that they would forget."""
    kept = {}
    for path, rows in sources.items():
        source = source_of(open_logged(path))
        if source is not None and source.is_kept_for_jobs:
            kept[path] = rows
    note_consumer(sink, kept)


def committed_rows(source: FileStoreTable) -> int | None:
    """The position of a source up to which all of its jobs have committed its rows.

    None if it has no jobs. Those that have been silent for too long do not count. It costs a list,
    and some small files for each job.

    Raises:
        CorruptFileError, FormatVersionError: nobody can tell.
    """
    found = []
    for consumer in source.consumers.all():
        if consumer.sink is None:
            continue
        try:
            followed = _followed(open_logged(consumer.sink), consumer.id)
        except _GONE:
            continue
        # What a job notes when it begins may be what it is about to read.
        rows = consumer.next_snapshot_id - 1
        if followed is not None:
            rows = min(rows, followed.sources.get(source.path, rows))
        found.append(rows)
    return min(found, default=None)


def _followed(sink: FileStoreTable, job: str) -> Followed | None:
    """From where a job goes on if it begins again; None: from the beginning."""
    latest, progress = sink.latest_snapshot(), read_progress(sink.file_io, sink.path, job)
    if progress is not None and progress.sink == SinkState.of(latest, job):
        return progress.followed
    if latest is None:
        return None
    try:
        return last_followed(sink.snapshot_store, latest, job)
    except SnapshotNotFoundError:
        return None


def forget_consumer(name: str, sources: Iterable[str]) -> None:
    """Let the sources of a view, by directory, forget it under a name that it no longer has."""
    for path in sources:
        try:
            open_logged(path).consumers.remove(f"{_VIEW}{name}")
        except _GONE:
            continue
        except (CorruptFileError, FormatVersionError) as error:
            _log.warning("%s keeps what it kept for %s: %s", path, name, error)


def consumer_id(sink: Sink) -> str:
    """The consumer of a sink's job in the sources: `insert:<name>:…` or `view:<name>`."""
    return f"{_VIEW}{sink.name}" if sink.is_view else sink.job


def dependents(locations: Iterable[str]) -> list[Dependent]:
    """The jobs that stand on a table, whose directories these are, by name."""
    found: dict[tuple[str, str], Dependent] = {}
    for location in locations:
        try:
            consumers = open_logged(location).consumers.known()
        except UNREADABLE as error:
            _log.warning("what stands on %s is not known: %s", location, error)
            continue
        for consumer in consumers:
            dependent = _dependent(location, consumer)
            if dependent is not None:
                found[dependent.table.path, dependent.job] = dependent
    return sorted(found.values(), key=lambda dependent: dependent.name)


def _dependent(location: str, consumer: Consumer) -> Dependent | None:
    """The job of a consumer; None if it is none, or does not stand on the table any more."""
    if consumer.sink is None:
        return None
    is_view = consumer.id.startswith(_VIEW)
    job = JOB_OF_VIEW if is_view else consumer.id
    try:
        table = open_logged(consumer.sink)
        if is_view and table.schema.query is None:
            return None
        progress = read_progress(table.file_io, table.path, job)
    except _GONE:
        return None
    except (CorruptFileError, FormatVersionError) as error:
        _log.warning("whether %s stands on %s is not known: %s", consumer.id, location, error)
        return None
    if progress is None or location not in progress.followed.sources:
        return None
    name = consumer.id.removeprefix(_VIEW) if is_view else consumer.id.split(":")[1]
    return Dependent(name, job, table)
