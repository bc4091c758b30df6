"""Deletes files that were written for a commit which did not happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from table_store.storage.file_store.commit.commit_outcome import Committed, NoChange
from table_store.storage.file_store.commit.prepared_files import commit_user_of
from table_store.storage.file_store.model.data_file import CommitMessage
from table_store.storage.file_store.model.errors import CommitConflictError, TableMovedError
from table_store.storage.file_store.model.partition_path import data_file_path
from table_store.storage.file_store.write.table_writer import WriterContext
from table_store.storage.kernel.errors import TableStoreError


def commit_or_delete(
    context: WriterContext,
    messages: Sequence[CommitMessage],
    commit: Callable[[], Committed | NoChange],
) -> Committed | NoChange:
    """Return what `commit` returns; if it surely did not publish `messages`, delete their files.

    It is sure after a conflict, where the table has moved, and if the same commit had been made
    before with other files. After any other error the snapshot may exist, and `NoChange` may mean
    that it existed and has expired; then the files stay, and unneeded ones become orphans.

    Args:
        context: of the table.
        messages: have just been written, for this commit alone: nobody commits them again.
        commit: publishes them.
    """
    try:
        outcome = commit()
    except (CommitConflictError, TableMovedError):
        delete_files(context, messages)
        raise
    if isinstance(outcome, Committed) and outcome.repeated:
        made = outcome.snapshot
        if made.commit_user != commit_user_of(messages, made.commit_kind):
            delete_files(context, messages)
    return outcome


def all_written(
    context: WriterContext, tasks: Iterable[Callable[[], CommitMessage]]
) -> tuple[CommitMessage, ...]:
    """Run the tasks one after the other; if one fails, delete the files of those before it."""
    messages: list[CommitMessage] = []
    try:
        for task in tasks:
            messages.append(task())
    except TableStoreError:
        delete_files(context, messages)
        raise
    return tuple(messages)


def delete_files(context: WriterContext, messages: Iterable[CommitMessage]) -> None:
    """Delete the files of messages that are never committed; one that stays becomes an orphan.

    A file that a message both adds and removes is not deleted: it only moves to another level.
    """
    messages = tuple(messages)
    keys = context.schema.partition_keys
    moved = {file.name for message in messages for file in message.removed}
    for message in messages:
        for file in message.added:
            if file.name not in moved:
                with suppress(TableStoreError):
                    context.file_io.delete(data_file_path(context.table_path, keys, file))
