"""What can go wrong with the rows, commits, snapshots and changes of a table.

They belong to the one tree of errors, whose root is in `kernel/errors.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.values import Value

_SHOWN_MAX: Final = 200
"""Most characters of a key column's value in an error."""


class NullKeyError(TableStoreError):
    """A row has NULL in a key column, in a column declared NOT NULL, or in a required part of one.

    `column` is the path of a part, such as `column.field` or `column.element`.
    """

    condition = "TABLE_STORE_NOT_NULL_VIOLATION"
    sql_state = "23502"

    def __init__(self, *, column: str) -> None:
        self.column = column
        super().__init__(
            f"NULL in column {column!r}, which is NOT NULL (key columns always are); "
            "nothing of the statement was written."
        )


class DuplicateMapKeyError(TableStoreError):
    """A map has two entries with the same key."""

    condition = "TABLE_STORE_DUPLICATE_MAP_KEY"
    sql_state = "23505"

    def __init__(self, *, column: str, key: object) -> None:
        self.column = column
        self.key = key
        super().__init__(
            f"Column {column!r} has a map with the key {key!r} twice; nothing of the statement "
            "was written. Keep one entry for each key."
        )


class NaiveTimestampError(TableStoreError):
    """Nobody knows which moment a timestamp means, or which time of the clock."""

    condition = "TABLE_STORE_NAIVE_TIMESTAMP"
    sql_state = "22007"

    def __init__(self, *, where: str, needed: str, found: str) -> None:
        self.where = where
        self.needed = needed
        self.found = found
        super().__init__(
            f"{where} is {needed}, and a value is a timestamp {found}. Convert it, or open "
            "the table with time_zone='…', the zone of its clock."
        )


class DuplicateKeyError(TableStoreError):
    """Two rows would have one key after an UPDATE that assigns a key column, or a MERGE."""

    condition = "TABLE_STORE_DUPLICATE_KEY"
    sql_state = "23505"

    def __init__(self, *, table: str, key: Mapping[str, Value], is_stored: bool) -> None:
        self.table = table
        self.key = dict(key)
        self.is_stored = is_stored
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in key.items())
        both = (
            "one that the statement writes, and one that it neither updates nor deletes"
            if is_stored
            else "the statement writes both"
        )
        super().__init__(
            f"Two rows of table {table} would have the key {shown}: {both}. Nothing was written. "
            "Let the statement write each key once and no key of another row, or set "
            "'duplicate-key' = 'replace' for the table or the session, which keeps the newest row."
        )


def _shown(value: Value) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


class RowOutsideConditionError(TableStoreError):
    """A row is not among those that its statement replaces."""

    condition = "TABLE_STORE_ROW_OUTSIDE_REPLACE_CONDITION"
    sql_state = "44000"

    def __init__(self, *, columns: Collection[str]) -> None:
        self.columns = tuple(sorted(columns))
        super().__init__(
            "A row of the query does not satisfy the condition of REPLACE WHERE on "
            f"{', '.join(self.columns)}; nothing of the statement was written. Let the query "
            "select only such rows."
        )


class ValueOutOfRangeError(TableStoreError):
    """A value that was written before its column's type changed does not fit into the new type."""

    condition = "TABLE_STORE_VALUE_OUT_OF_RANGE"
    sql_state = "22003"

    def __init__(self, *, column: str, path: str, written: str, wanted: str) -> None:
        self.column = column
        self.path = path
        super().__init__(
            f"Column {column!r} was {written} when file {path!r} was written, which has a value "
            f"that no {wanted} can be. Read the table with VERSION AS OF a snapshot from before "
            "the change of the type, and INSERT OVERWRITE it with such values replaced."
        )


class RuleOfLaterError(TableStoreError):
    """Rows of an older snapshot need not satisfy what the table has declared since."""

    condition = "TABLE_STORE_RULE_OF_LATER"
    sql_state = "55000"

    def __init__(self, *, table: str, snapshot_id: int, rule: str) -> None:
        self.snapshot_id = snapshot_id
        self.rule = rule
        super().__init__(
            f"The table at {table} cannot go back to snapshot {snapshot_id}: it is older than "
            f"{rule}. Drop that first, go back, and declare it again."
        )


class CommitConflictError(TableStoreError):
    """Another commit, `snapshot_id`, got in the way; nothing of this one is visible."""

    condition = "TABLE_STORE_COMMIT_CONFLICT"
    sql_state = "40001"
    retriable = True

    def __init__(
        self,
        *,
        table: str,
        snapshot_id: int | None,
        commit_user: str | None = None,
        operation: str | None = None,
        reason: str,
    ) -> None:
        self.table = table
        self.snapshot_id = snapshot_id
        self.commit_user = commit_user
        self.operation = operation
        self.reason = reason
        other = "another commit" if snapshot_id is None else f"snapshot {snapshot_id}"
        by = "" if commit_user is None else f" of {commit_user!r}"
        doing = "" if operation is None else f" ({operation})"
        super().__init__(
            f"This commit to {table!r} met {other}{doing}{by}: {reason}. Nothing of it is "
            "visible; it is safe to run the statement again."
        )


class TableMovedError(TableStoreError):
    """A table was replaced, or got another primary key, after it was opened."""

    condition = "TABLE_STORE_TABLE_MOVED"
    sql_state = "55000"

    def __init__(self, *, table: str, location: str) -> None:
        self.table = table
        self.location = location
        super().__init__(
            f"The table at {table!r} takes no rows or changes any more: CREATE OR REPLACE TABLE, "
            f"or ALTER TABLE of its primary key, puts the one at {location!r} in its place. "
            "Nothing of this statement is visible. Open the table by its name again and run it "
            "there; in SQL, run the statement again."
        )


class CommitStateUnknownError(TableStoreError):
    """The store failed while a commit was published and cannot say now whether it is there."""

    condition = "TABLE_STORE_COMMIT_STATE_UNKNOWN"
    sql_state = "08007"

    def __init__(
        self, *, table: str, commit_user: str, commit_identifier: int, reason: str
    ) -> None:
        self.table = table
        self.commit_user = commit_user
        self.commit_identifier = commit_identifier
        self.reason = reason
        super().__init__(
            f"Whether commit {commit_identifier} of {commit_user!r} to {table!r} succeeded is not "
            f"known: {reason}. Look in the table's snapshots for this user and identifier before "
            "running it again; repeating with the same identifier is safe."
        )


class SnapshotNotFoundError(TableStoreError):
    """A snapshot that was asked for does not exist, or no longer does."""

    condition = "TABLE_STORE_SNAPSHOT_NOT_FOUND"
    sql_state = "22023"

    def __init__(
        self, *, table: str, asked: str, earliest_id: int | None, latest_id: int | None
    ) -> None:
        self.table = table
        self.asked = asked
        self.earliest_id = earliest_id
        self.latest_id = latest_id
        if earliest_id is None or latest_id is None:
            known = "The table has no snapshot yet."
        else:
            known = f"Available are the snapshots {earliest_id} to {latest_id}."
        super().__init__(f"Table {table!r} has no snapshot {asked}. {known}")


class InvalidTagError(TableStoreError):
    """A tag cannot have this name."""

    condition = "TABLE_STORE_INVALID_TAG"
    sql_state = "42602"

    def __init__(self, *, name: str) -> None:
        self.name = name
        super().__init__(
            f"A tag cannot be called {name!r}: use a short text without control characters that "
            "is no number, which would be that of a snapshot."
        )


class ChangesNotAvailableError(TableStoreError):
    """Changes were asked for that the table's history does not reach.

    The changes of a snapshot need it and the one before it.
    """

    condition = "TABLE_STORE_CHANGES_NOT_AVAILABLE"
    sql_state = "22023"

    def __init__(self, *, table: str, asked: str, available: str) -> None:
        self.table = table
        self.asked = asked
        self.available = available
        super().__init__(f"Table {table!r} has no changes {asked}: {available}.")


class InvalidChangeRangeError(TableStoreError):
    """The start of a range of changes lies after its end."""

    condition = "TABLE_STORE_INVALID_CHANGE_RANGE"
    sql_state = "22023"

    def __init__(self, *, start: str, end: str) -> None:
        self.start = start
        self.end = end
        super().__init__(f"The range of changes starts with {start}, after its end, {end}.")


class UntrackedChangesError(TableStoreError):
    """The range has a commit that was made without change tracking."""

    condition = "TABLE_STORE_CHANGES_NOT_TRACKED"
    sql_state = "55000"

    def __init__(self, *, table: str, snapshot_id: int, operation: str) -> None:
        self.table = table
        self.snapshot_id = snapshot_id
        self.operation = operation
        super().__init__(
            f"Snapshot {snapshot_id} ({operation}) of table {table!r} was committed with "
            "'change-tracking' = 'false': its changes are not for readers of changes. Ask for a "
            f"range without it, or read with 'untracked-changes' = 'skip' and know that what it "
            "changed is absent."
        )


class RetractionError(TableStoreError):
    """A stream that takes rows as new met a commit that changed or deleted some."""

    condition = "TABLE_STORE_RETRACTION_IN_STREAM"
    sql_state = "0A000"

    def __init__(self, *, snapshot_id: int, change_type: str) -> None:
        self.snapshot_id = snapshot_id
        self.change_type = change_type
        super().__init__(
            f"Snapshot {snapshot_id} takes back rows that the stream has delivered, or may have "
            f"({change_type}), and the query does not look at it: its results would be wrong. "
            "Read the column _change_type, or use spark.readStream.changes; or read with "
            "'stream.retractions' = 'ignore' and know that such rows stay."
        )


class StreamSourceChangedError(TableStoreError):
    """A stream goes on where its table is no longer what it was."""

    condition = "TABLE_STORE_STREAM_SOURCE_CHANGED"
    sql_state = "55000"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table = table
        self.reason = reason
        super().__init__(f"The stream cannot go on reading table {table!r}: {reason}.")
