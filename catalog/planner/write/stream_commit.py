"""How the commit of a micro-batch is named, and what its snapshot keeps of the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from table_store.catalog.planner.protocol.stream_writes import StreamBatch
from table_store.catalog.tables.write_options import CommitName, WriteOptions
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.table_options import COMMIT_USER

OFFSETS: Final = "stream.offsets."
"""Property of a snapshot: entry of the checkpoint's log of offsets, by number of the batch."""

# What `option` tells Spark of the stream itself, in small letters.
_SPARK_S_OWN = frozenset({"checkpointlocation", "path"})


def stream_write_options(options: Mapping[str, str], stream: StreamBatch | None) -> WriteOptions:
    """The options of a write; that of a micro-batch is named by its query and number.

    Raises:
        UnknownOptionError: a key is none of the closed set.
        InvalidOptionError: a value is not allowed, or a stream names its commits.
    """
    if stream is None:
        return WriteOptions.parse(options)
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
    """Under which the micro-batch of a query is committed."""
    return CommitName(user=stream.query.query, identifier=stream.batch)


def commit_properties(stream: StreamBatch | None) -> dict[str, str]:
    """What the snapshot of a micro-batch keeps of the query's checkpoint."""
    offsets = {} if stream is None else stream.offsets
    return {f"{OFFSETS}{batch}": text for batch, text in offsets.items()}
