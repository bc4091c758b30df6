"""Errors about tables whose rows come from elsewhere, or go there."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError


class UnboundedSourceError(TableStoreError):
    """A statement would read all rows of a table to which rows come without end."""

    condition = "TABLE_STORE_UNBOUNDED_SOURCE"
    sql_state = "0A000"

    def __init__(self, *, table: str, connector: str, bound: str) -> None:
        self.table = table
        super().__init__(
            f"Rows of {table} come from the connector {connector!r} without end, so a batch "
            "statement that reads all of them would not end. SET 'execution.runtime-mode' = "
            "'streaming' for an INSERT that goes on, read some of them with (SELECT … FROM "
            f"{table} LIMIT 100), or create the table with {bound!r}."
        )


class ExternalTableError(TableStoreError):
    """A table with a connector cannot do what a statement asks of it."""

    condition = "TABLE_STORE_EXTERNAL_TABLE"
    sql_state = "0A000"

    def __init__(self, *, table: str, connector: str, operation: str, remedy: str) -> None:
        self.table = table
        self.operation = operation
        super().__init__(
            f"{operation} does not work on {table}, a table with the connector {connector!r}. "
            f"{remedy}."
        )


class SourceTopicError(TableStoreError):
    """The topic of a table is not the one that has been read so far."""

    condition = "TABLE_STORE_SOURCE_TOPIC_CHANGED"
    sql_state = "55000"

    def __init__(self, *, topic: str, reason: str) -> None:
        self.topic = topic
        self.reason = reason
        super().__init__(
            f"Topic {topic!r} is not what it was when it was first read: {reason}. Where a job is "
            "in it means nothing any more. If that is meant to be, create the source anew, and run "
            "the INSERT with another 'pipeline.name': it then begins with 'scan.startup.mode'."
        )


class SourceTopicNotFoundError(TableStoreError):
    """The topic that a table reads is not there."""

    condition = "TABLE_STORE_SOURCE_TOPIC_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, topic: str, brokers: str) -> None:
        self.topic = topic
        self.brokers = brokers
        super().__init__(
            f"There is no topic {topic!r} at {brokers}, from which the table reads. Create it, or "
            "create the table with the right 'topic' and 'properties.bootstrap.servers'."
        )


class SourcePositionLostError(TableStoreError):
    """Nobody knows any more up to where a job has read a source that cannot be read again."""

    condition = "TABLE_STORE_SOURCE_POSITION_LOST"
    sql_state = "55000"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table = table
        super().__init__(
            f"The job cannot go on where it was in {table}: {reason}. What the source has now is "
            "not all that it ever had, so it is not read again from its beginning. Run the INSERT "
            "with another 'pipeline.name': it begins where 'scan.startup.mode' of the source says, "
            "and adds to the rows that the table has."
        )


class SourceFolderNotFoundError(TableStoreError):
    """The folder that a table reads is not there."""

    condition = "TABLE_STORE_SOURCE_FOLDER_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"There is no folder {path!r}, from which the table reads files. Make it, or create "
            "the table with the right 'path'."
        )


class SourceFileChangedError(TableStoreError):
    """A file that a table has taken is not what it was, or gone before it was read."""

    condition = "TABLE_STORE_SOURCE_FILE_CHANGED"
    sql_state = "55000"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"File {path!r} was taken for its rows, and {reason} since. A file must be whole when "
            "it gets its name, and stay as it is until its rows are in. Put it back as it was, "
            "with its time; or put '_' in front of its name, by which it is left out, and give the "
            "rows that are missing a file of another name."
        )


class UnreadableSourceFileError(TableStoreError):
    """A file that a table reads does not hold its rows."""

    condition = "TABLE_STORE_UNREADABLE_SOURCE_FILE"
    sql_state = "22000"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"File {path!r} does not hold rows of the table: {reason}. Put '_' in front of its "
            "name, by which it is left out, or create the table with the columns that it has; in "
            "a file of text, lines that are no rows go to a table of their own with "
            "'dead-letter.table' = 'namespace.table', which is made if there is none, and are left "
            "out with 'json.ignore-parse-errors' or 'csv.ignore-parse-errors' = 'true'."
        )


class DeadLetterTableError(TableStoreError):
    """A table is named to take what is no row, and cannot."""

    condition = "TABLE_STORE_DEAD_LETTER_TABLE"
    sql_state = "42809"

    def __init__(self, *, table: str, reason: str, needed: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(
            f"{table} cannot take the records that are no rows: {reason}. Name another table with "
            "'dead-letter.table', which is made if there is none, or create this one anew with "
            f"({needed})."
        )
