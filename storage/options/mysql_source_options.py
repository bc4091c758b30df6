"""Options of tables `WITH ('connector' = 'mysql-cdc')`; names and meanings are Flink CDC's."""

from __future__ import annotations

import re
from typing import Final

from table_store.storage.options.options import (
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    long,
)

_SERVER_IDS: Final = re.compile(r"(\d{1,10})(?:\s*-\s*(\d{1,10}))?")
_SERVER_ID_MAX: Final = 2**32 - 1
_LOG_FILE: Final = re.compile(r"[^/\\]+\.\d+")


def _server_ids(text: str) -> tuple[int, int]:
    match = _SERVER_IDS.fullmatch(text.strip())
    first = last = 0
    if match is not None:
        first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last <= _SERVER_ID_MAX:
        raise ValueError("a number from 1 to 4294967295, or a range such as '5400-5408'")
    return first, last


def _log_file(text: str) -> str:
    found = text.strip()
    if _LOG_FILE.fullmatch(found) is None:
        raise ValueError("the name of a binlog file, such as 'mysql-bin.000003'")
    return found


SERVER_ID: Option[tuple[int, int] | None] = Option(
    key="server-id",
    type=OptionType("Integer, or a range", _server_ids),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="any number above 2³¹",
    doc="Of `mysql-cdc`: as which replica the binlog is read; each reader takes one of the range. "
    "No other replica of the database may have it.",
)
SERVER_TIME_ZONE = Option(
    key="server-time-zone",
    type=TEXT,
    default="UTC",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc`: the zone of a DATETIME that is read as TIMESTAMP, and of a TIMESTAMP that "
    "is read as TIMESTAMP_NTZ.",
)
STARTUP_FILE: Option[str | None] = Option(
    key="scan.startup.specific-offset.file",
    type=OptionType("String", _log_file),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc`, for `specific-offset`: the file of the binlog.",
)
STARTUP_POSITION: Option[int | None] = Option(
    key="scan.startup.specific-offset.pos",
    type=long(4),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc`, for `specific-offset`: the position in it, where a transaction begins.",
)

MYSQL_SOURCE_OPTIONS: Final = (
    SERVER_ID,
    SERVER_TIME_ZONE,
    STARTUP_FILE,
    STARTUP_POSITION,
)
