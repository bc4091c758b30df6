"""Requests of a stream that writes a table: what is known of a micro-batch before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.planner.session import PlannerSession
from table_store.catalog.write_options import CommitName, WriteOptions
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.table_options import COMMIT_USER

# What `option` tells Spark of the stream itself, in small letters.
_SPARK_S_OWN = frozenset({"checkpointlocation", "path"})


def begin_stream_batch(session: PlannerSession, argument: Argument) -> dict[str, bool]:
    """Whether the rows of a micro-batch are in the table already: then it must not be written."""
    table = FileStoreTable.open(argument["handle"]["path"])
    name = commit_name(argument["stream"])
    return {"isCommitted": table.committer().has_committed(name.user, name.identifier)}


def stream_write_options(
    options: Mapping[str, str], stream: Mapping[str, object] | None
) -> WriteOptions:
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


def commit_name(stream: Mapping[str, object]) -> CommitName:
    """Under which the micro-batch of a query is committed."""
    return CommitName(user=str(stream["query"]), identifier=int(str(stream["batch"])))
