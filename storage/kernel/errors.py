"""The one tree of errors that users of the table store meet.

Every error carries a stable condition name, a SQLSTATE, whether the same statement may simply be
run again (`retriable`), and the facts as typed attributes. `str(error)` reads as Spark's own:
`[CONDITION] what happened, where, what to do. SQLSTATE: 40001`. It is one line, whatever a library
said over several.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from table_store.storage.kernel.secrets import shown_value


class TableStoreError(Exception):
    """Root of all errors of the table store."""

    condition: ClassVar[str] = "TABLE_STORE_ERROR"
    sql_state: ClassVar[str] = "XX000"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        self.message = " ".join(line.strip() for line in message.splitlines())
        super().__init__(f"[{self.condition}] {self.message} SQLSTATE: {self.sql_state}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by state: the typed constructors of the subclasses take keywords only."""
        return _restore, (type(self), self.args, dict(self.__dict__))


def _restore(
    kind: type[TableStoreError], args: tuple[Any, ...], state: Mapping[str, Any]
) -> TableStoreError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


# -- options and schemas ---------------------------------------------------------------------------


class InvalidOptionError(TableStoreError):
    """A known option has a value it does not take, or may not be set here; secrets are not told."""

    condition = "TABLE_STORE_INVALID_OPTION"
    sql_state = "42616"

    def __init__(self, *, key: str, value: str | None, reason: str) -> None:
        self.key = key
        self.value = shown_value(key, value)
        self.reason = reason
        shown = "" if value is None else f" = {self.value!r}"
        super().__init__(f"Option {key!r}{shown} is not valid: {reason}.")


class UnknownOptionError(TableStoreError):
    """No option of this name exists."""

    condition = "TABLE_STORE_UNKNOWN_OPTION"
    sql_state = "42616"

    def __init__(self, *, key: str, nearest: str | None = None) -> None:
        self.key = key
        self.nearest = nearest
        hint = "" if nearest is None else f" Did you mean {nearest!r}?"
        super().__init__(f"Option {key!r} is not known.{hint}")


class InvalidSchemaError(TableStoreError):
    """A table definition, or a change of one, breaks a rule."""

    condition = "TABLE_STORE_INVALID_SCHEMA"
    sql_state = "42611"

    def __init__(self, *, reason: str, column: str | None = None) -> None:
        self.column = column
        self.reason = reason
        where = "" if column is None else f" at column {column!r}"
        super().__init__(f"The table definition is not valid{where}: {reason}.")


class UnsupportedTypeError(TableStoreError):
    """A type that cannot be stored."""

    condition = "TABLE_STORE_UNSUPPORTED_TYPE"
    sql_state = "0A000"

    def __init__(self, *, type_name: str, column: str | None = None) -> None:
        self.type_name = type_name
        self.column = column
        where = "" if column is None else f" of column {column!r}"
        super().__init__(
            f"Type {type_name}{where} cannot be stored in a table; cast it to a type that can."
        )


# -- rows ------------------------------------------------------------------------------------------


class NullKeyError(TableStoreError):
    """A row has NULL in a key column or in a column declared NOT NULL."""

    condition = "TABLE_STORE_NOT_NULL_VIOLATION"
    sql_state = "23502"

    def __init__(self, *, column: str) -> None:
        self.column = column
        super().__init__(
            f"NULL in column {column!r}, which is NOT NULL (key columns always are); "
            "nothing of the statement was written."
        )


class DuplicateKeyError(TableStoreError):
    """Two rows of a statement that writes each key once have the same."""

    condition = "TABLE_STORE_DUPLICATE_KEY"
    sql_state = "23505"

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"Two of the rows for the table at {path} have the same key; nothing of the statement "
            "was written."
        )


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


# -- commits ---------------------------------------------------------------------------------------


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


# -- snapshots and files ---------------------------------------------------------------------------


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


class CorruptFileError(TableStoreError):
    """A file of a table does not hold what was written to it."""

    condition = "TABLE_STORE_CORRUPT_FILE"
    sql_state = "KD001"

    def __init__(
        self,
        *,
        path: str,
        reason: str,
        snapshot_id: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = path
        self.reason = reason
        self.snapshot_id = snapshot_id
        super().__init__(
            f"File {path!r}{_of_snapshot(snapshot_id)} is damaged: {reason}. "
            + (f"{remedy}." if remedy else _REMEDY)
        )


class MissingFileError(TableStoreError):
    """A file that must exist does not."""

    condition = "TABLE_STORE_MISSING_FILE"
    sql_state = "KD001"

    def __init__(
        self, *, path: str, snapshot_id: int | None = None, remedy: str | None = None
    ) -> None:
        self.path = path
        self.snapshot_id = snapshot_id
        super().__init__(
            f"File {path!r}{_of_snapshot(snapshot_id)} does not exist. "
            + (f"{remedy}." if remedy else f"{_EXPIRED} {_REMEDY}")
        )


_EXPIRED = "If the reader used an old snapshot that has expired meanwhile, run it again."
_REMEDY = (
    "Restore the file from a copy, or read an older snapshot with VERSION AS OF and roll back to "
    "it with CALL sys.rollback."
)


def _of_snapshot(snapshot_id: int | None) -> str:
    return "" if snapshot_id is None else f" of snapshot {snapshot_id}"


class FileAccessError(TableStoreError):
    """The file system refused an operation: no space, no permission, an I/O error.

    `may_have_happened` is False where a writing operation surely had no effect.
    """

    condition = "TABLE_STORE_FILE_ACCESS"
    sql_state = "58030"

    def __init__(
        self, *, path: str, operation: str, reason: str, may_have_happened: bool = True
    ) -> None:
        self.path = path
        self.operation = operation
        self.may_have_happened = may_have_happened
        self.reason = reason
        remedy = "see to the file system (space, permissions)"
        if may_have_happened:
            state = (
                f"Whether it took effect is not known: {remedy}, and look before running it again"
            )
        else:
            state = f"The table is as it was before the statement; {remedy} and run it again"
        super().__init__(f"Could not {operation} {path!r}: {reason}. {state}.")


class FormatVersionError(TableStoreError):
    """A file was written by a newer version of the table store."""

    condition = "TABLE_STORE_FORMAT_VERSION"
    sql_state = "0A000"

    def __init__(self, *, path: str, found: int, supported: int) -> None:
        self.path = path
        self.found = found
        self.supported = supported
        super().__init__(
            f"File {path!r} has format version {found}; this version of the table store reads "
            f"up to {supported}. Use a version of spark-table-store that knows version {found}."
        )


class PathNotAllowedError(TableStoreError):
    """A path or name would lead out of the folder it belongs to, or cannot be a file name."""

    condition = "TABLE_STORE_PATH_NOT_ALLOWED"
    sql_state = "42501"

    def __init__(self, *, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"Path {path!r} is not allowed: {reason}.")


# -- tables and other named things -----------------------------------------------------------------


class AlreadyExistsError(TableStoreError):
    """Something of this name is there already."""

    condition = "TABLE_STORE_ALREADY_EXISTS"
    sql_state = "42P07"

    def __init__(self, *, kind: str, name: str, remedy: str = "drop it") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"The {kind} {name!r} exists already; choose another name or {remedy}.")


class NotFoundError(TableStoreError):
    """Nothing of this name exists."""

    condition = "TABLE_STORE_NOT_FOUND"
    sql_state = "42P01"

    def __init__(self, *, kind: str, name: str, known: Sequence[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        hint = f" Known: {', '.join(self.known)}." if self.known else ""
        super().__init__(f"The {kind} {name!r} does not exist.{hint}")
