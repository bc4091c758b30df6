"""The name of a micro-batch's commit, and the stream's offsets that its snapshot keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from table_store.catalog.planner.protocol.stream_writes import StreamBatch
from table_store.catalog.tables.write_options import CommitName, WriteOptions
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.table_options import COMMIT_USER

OFFSETS: Final = "stream.offsets."
"""Prefix of snapshot properties with entries of the checkpoint's offset log, by batch number."""

# Options of a stream that Spark itself evaluates, in lower case.
_SPARK_S_OWN = frozenset({"checkpointlocation", "path", "queryname"})


def stream_write_options(
    options: Mapping[str, str], stream: StreamBatch | None, *, makes_table: bool = False
) -> WriteOptions:
    """The options of a write; a micro-batch's commit is named by its query and batch number.

    If it `makes_table`, the option `path` is the LOCATION of that, and tells the write nothing.

    Raises:
        UnknownOptionError: a key is not an option of writes.
        InvalidOptionError: a value is not allowed, or a stream's options name its commits.
    """
    if stream is None:
        stated = {k: v for k, v in options.items() if not (makes_table and k.lower() == "path")}
        return WriteOptions.parse(stated)
    own = {key: value for key, value in options.items() if key.lower() not in _SPARK_S_OWN}
    parsed = WriteOptions.parse(own)
    if parsed.commit is not None:
        raise InvalidOptionError(
            key=COMMIT_USER.key,
            value=parsed.commit.user,
            reason="a stream's commits are named by its query and the number of the batch; it is "
            "for statements, such as those in foreachBatch",
        )
    return replace(parsed, commit=commit_name(stream))


def commit_name(stream: StreamBatch) -> CommitName:
    """The name under which a query's micro-batch is committed."""
    return CommitName(user=stream.query.query, identifier=stream.batch)


def commit_properties(stream: StreamBatch | None) -> dict[str, str]:
    """Snapshot properties with the offsets of the query's checkpoint; none without a stream."""
    offsets = {} if stream is None else stream.offsets
    return {f"{OFFSETS}{batch}": text for batch, text in offsets.items()}
