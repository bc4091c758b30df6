"""The last epochs of a job: what they did, how long it took, and why they failed.

It is a file beside the job's progress, replaced as a whole after each epoch that did something or
failed. Of two epochs that end at the same moment in two programs it may have only one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any, Final

from table_store.catalog.jobs.progress import JOB_FOLDER, job_file
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import (
    CorruptFileError,
    MissingFileError,
)

HISTORY_VERSION: Final = 2
EPOCHS_KEPT: Final = 100
"""So many epochs are in the file: 30 KB, which each epoch writes again."""

_NAME: Final = "HISTORY"
_ERROR_LENGTH_MAX: Final = 2_000
_ITEM: Final = " - "
"""In front of each value that a row has where it breaks a constraint, in Spark's errors."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRecord:
    """An epoch that did something, or failed.

    Attributes:
        ended_ms: when it ended, ms since 1970.
        job: the name of a streaming INSERT; empty for a materialized view.
        barrier: to which it brought the sink, or was to bring it; 0 if it failed before it had one.
        rule: None if it failed.
        reason: of the rule; None if it failed.
        rows_read: about how many.
        rows_changed: rows inserted into and deleted from the sink.
        milliseconds: how long it took.
        error: why it failed; None if it did not.
    """

    ended_ms: int
    job: str
    barrier: int
    rule: str | None = None
    reason: str | None = None
    rows_read: int = 0
    rows_changed: int = 0
    milliseconds: int
    error: str | None = None


def _read(file_io: FileIO, path: str) -> tuple[EpochRecord, ...]:
    """The epochs in a file, the oldest first; one that is damaged is as good as none."""
    try:
        return from_checked_json(
            file_io.read_bytes(path),
            _from_json,
            path=path,
            version=HISTORY_VERSION,
            noun="job's history",
        )
    except MissingFileError:
        return ()
    except CorruptFileError as error:
        _log.warning("the history begins again: %s", error)
        return ()


def read_histories(file_io: FileIO, location: str) -> tuple[EpochRecord, ...]:
    """Return the last epochs of all jobs whose sink is in a directory, in the order of their ends.

    Raises:
        FormatVersionError: a file was written by a newer version.
    """
    folder = join_path(location, JOB_FOLDER)
    paths = [join_path(folder, n) for n in file_io.names(folder) if n.startswith(_NAME)]
    found = [epoch for path in paths for epoch in _read(file_io, path)]
    return tuple(sorted(found, key=lambda epoch: epoch.ended_ms))


def add_to_history(file_io: FileIO, location: str, job: str, epoch: EpochRecord) -> None:
    """Add an epoch; costs a read and a write of the file."""
    path = job_file(location, job, _NAME)
    known = _read(file_io, path)
    kept = (*known, epoch)[-EPOCHS_KEPT:]
    item = {"epochs": [asdict(record) for record in kept]}
    data = to_checked_json(item, version=HISTORY_VERSION)
    file_io.write_bytes(path, data)


def short_error(text: str, place: str = "") -> str:
    """What an error's text says, and where it happened, cut to what is kept of it.

    It says that in its first line and the list of values below, if there is one; traces and plans
    are behind.
    """
    line, *below = text.strip().split("\n")
    values = [value.removeprefix(_ITEM) for value in takewhile(_is_item, below)]
    said = f"{line} {', '.join(values)}" if values else line
    return f"{said}{place}"[:_ERROR_LENGTH_MAX]


def _is_item(line: str) -> bool:
    return line.startswith(_ITEM)


def _from_json(item: Mapping[str, Any]) -> tuple[EpochRecord, ...]:
    return tuple(
        EpochRecord(
            ended_ms=int(epoch["ended_ms"]),
            job=str(epoch["job"]),
            barrier=int(epoch["barrier"]),
            rule=_text(epoch["rule"]),
            reason=_text(epoch["reason"]),
            rows_read=int(epoch["rows_read"]),
            rows_changed=int(epoch["rows_changed"]),
            milliseconds=int(epoch["milliseconds"]),
            error=_text(epoch["error"]),
        )
        for epoch in item["epochs"]
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
