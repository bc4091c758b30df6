"""Folder names of partitions, as Hive writes and escapes them, and paths of data files."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from table_store.storage.file_io.path import NAME_BYTES_MAX, join_path
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.kernel.errors import PathNotAllowedError
from table_store.storage.kernel.values import Value

NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
"""Folder value of NULL; an empty string is written the same way, as Hive does."""

# These are the characters of Hive's FileUtils.charToEscape, without those that Spark adds on
# Windows. A leading dot is escaped, too, so that no value makes a hidden folder.
_ESCAPED: Final = re.compile(r"[\"#%'*/:=?\\{\[\]^\x00-\x1f\x7f]")


def escape_path_name(text: str) -> str:
    """Return `text` as a folder name: Hive's special characters as `%XX`."""
    escaped = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
    return "%2E" + escaped[1:] if escaped.startswith(".") else escaped


def value_text(value: Value) -> str | None:
    """Return a partition value as Spark's `CAST(value AS STRING)` writes it; NULL is None.

    Timestamps are written in UTC and binary values in hexadecimal, so that the text depends on
    the value alone.
    """
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case bytes():
            return value.hex()
        case Decimal():
            return format(value, "f")
        case dt.datetime():
            text = value.strftime("%H:%M:%S")
            if value.microsecond:
                text += f".{value.microsecond:06d}".rstrip("0")
            return f"{value.year:04d}-{value.month:02d}-{value.day:02d} {text}"
        case dt.date() | dt.time():
            return value.isoformat()
    return str(value)


def partition_folders(names: Sequence[str], values: Sequence[Value]) -> tuple[str, ...]:
    """Return the folder names of a partition from the outside in: `("dt=2020-08-08", "h=3")`.

    Raises:
        PathNotAllowedError: a folder name would be longer than file systems take.
    """
    return tuple(_folder(n, v) for n, v in zip(names, values, strict=True))


def bucket_path(
    table_path: str, partition_keys: Sequence[str], partition: Sequence[Value], bucket: int
) -> str:
    """Return the folder of one bucket's data files."""
    folders = partition_folders(partition_keys, partition)
    return join_path(table_path, *folders, f"bucket-{bucket}")


def data_file_path(table_path: str, partition_keys: Sequence[str], file: DataFile) -> str:
    """Return the path of a data file.

    Raises:
        PathNotAllowedError: the file's name, read from a manifest, is no plain file name.
    """
    folder = bucket_path(table_path, partition_keys, file.partition, file.bucket)
    return join_path(folder, file.name)


def _folder(name: str, value: Value) -> str:
    text = value_text(value)
    escaped = NULL_PARTITION if text is None or text == "" else escape_path_name(text)
    folder = f"{escape_path_name(name)}={escaped}"
    if len(folder.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX:
        raise PathNotAllowedError(
            path=folder[:60] + "…",
            reason=f"partition column and value make more than {NAME_BYTES_MAX} bytes",
        )
    return folder


def _float_text(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value + 0.0)  # -0.0 and 0.0 are one value to Spark
