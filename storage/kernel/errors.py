"""The root of all errors that users of the table store meet, and the errors of every room.

Errors of one room stand in that room: `file_store/model`, `log_store`, `catalog`.
Every error carries a stable condition name, a SQLSTATE, whether the same statement may simply be
run again (`retriable`), and the facts as typed attributes. `str(error)` reads as Spark's own:
`[CONDITION] what happened, where, what to do. SQLSTATE: 40001`. It is one line, whatever a library
said over several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """A known option has a value that it does not take, or may not be set here."""

    condition = "TABLE_STORE_INVALID_OPTION"
    sql_state = "42616"

    def __init__(self, *, key: str, value: str | None, reason: str) -> None:
        self.key = key
        self.value = shown_value(key, value)
        self.reason = reason
        shown = "" if value is None else f" = {self.value!r}"
        super().__init__(f"Option {key!r}{shown} is not valid: {reason}.")


class InvalidTimeZoneError(TableStoreError):
    """No time zone has this name."""

    condition = "TABLE_STORE_INVALID_TIME_ZONE"
    sql_state = "22009"

    def __init__(self, *, zone: str) -> None:
        self.zone = zone
        super().__init__(
            f"{zone!r} is no time zone. Use a zone's name, such as 'Europe/Berlin', or '+02:00'."
        )


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


class InvalidTextError(TableStoreError):
    """A text is not UTF-8, so that no reader of the table could take it for a text."""

    condition = "TABLE_STORE_INVALID_TEXT"
    sql_state = "22021"

    def __init__(self, *, column: str, value: str) -> None:
        self.column = column
        self.value = value
        super().__init__(
            f"A text in column {column!r} is not UTF-8: {value}; nothing of the statement was "
            "written. Give the column the type BINARY, or replace invalid bytes with "
            "make_valid_utf8(...) in SQL."
        )


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


# -- files and names -------------------------------------------------------------------------------


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


class LibraryNotInstalledError(TableStoreError):
    """A method needs a library that is not installed."""

    condition = "TABLE_STORE_LIBRARY_NOT_INSTALLED"
    sql_state = "0A000"

    def __init__(self, *, library: str, method: str) -> None:
        self.library = library
        super().__init__(
            f"{method} needs the library {library!r}, which is not in this environment: "
            f"pip install 'spark-table-store[{library}]'."
        )
