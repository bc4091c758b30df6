"""Options of tables `WITH ('connector' = 'filesystem')`; names and meanings are Flink's."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from table_store.storage.options.options import (
    DURATION,
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    memory_size,
    one_of,
)


def _success_file(text: str) -> str:
    name = text.strip()
    if name[:1] not in ("_", ".") or "/" in name:
        raise ValueError("a name that begins with '_' or '.', so that nobody takes it for rows")
    return name


PATH: Option[str | None] = Option(
    key="path",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `filesystem`: the folder whose files are read or written. Of `spark`: what is read, "
    "for sources that take a path.",
)
MONITOR_INTERVAL: Option[timedelta | None] = Option(
    key="source.monitor-interval",
    type=DURATION,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="a streaming INSERT ends with the files that are there at first",
    doc="Of `filesystem`: a streaming INSERT goes on with new files; so long after some it does "
    "not look for others. More: fewer lists of the folder, and rows come later.",
)
COMMIT_POLICY: Option[str | None] = Option(
    key="sink.partition-commit.policy.kind",
    type=one_of("success-file"),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="nothing marks a partition",
    doc="Of `filesystem`: `success-file` writes a marker into each partition whose files are "
    "there, after each commit.",
)
SUCCESS_FILE = Option(
    key="sink.partition-commit.success-file.name",
    type=OptionType("String", _success_file),
    default="_SUCCESS",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `filesystem`: the marker's name.",
)
FILE_SIZE = Option(
    key="sink.rolling-policy.file-size",
    type=memory_size(1 << 10),
    default=128 << 20,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `filesystem`: rows of about so many bytes in memory become one file. More: fewer "
    "files, and more memory in the driver.",
)

FILESYSTEM_OPTIONS: Final = (PATH, MONITOR_INTERVAL, COMMIT_POLICY, SUCCESS_FILE, FILE_SIZE)
