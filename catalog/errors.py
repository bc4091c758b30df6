"""The catalog's errors: a branch of the one tree of errors."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    NotFoundError,
    TableStoreError,
)

_SHOWN_NAME_MAX = 80


def _shown(name: str) -> str:
    if len(name) <= _SHOWN_NAME_MAX:
        return repr(name)
    return f"{name[:_SHOWN_NAME_MAX]!r}… ({len(name)} characters)"


class InvalidIdentifierError(TableStoreError):
    """A table or namespace cannot have this name."""

    condition = "TABLE_STORE_INVALID_IDENTIFIER"
    sql_state = "42602"

    def __init__(self, *, kind: str, name: str, reason: str) -> None:
        self.kind = kind
        self.name = name
        self.reason = reason
        super().__init__(
            f"A {kind} cannot be called {_shown(name)}: {reason}. Choose another name."
        )


class RelationNotFoundError(NotFoundError):
    """No table or view has the name that a statement looks up; Spark says so in its own words."""

    condition = "TABLE_STORE_RELATION_NOT_FOUND"

    def __init__(self, *, name: str) -> None:
        super().__init__(kind="table or view", name=name)


class DuplicateImportedKeyError(TableStoreError):
    """Rows that are imported under a primary key do not have different keys."""

    condition = "TABLE_STORE_DUPLICATE_IMPORTED_KEY"
    sql_state = "23505"

    def __init__(self, *, table: str, columns: Sequence[str], rows: int) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        super().__init__(
            f"{rows} rows have the same {', '.join(columns)} as another one, so these columns are "
            f"no key; the table {table} was not made. Name another key, or none."
        )


class ImportFailedError(TableStoreError):
    """What is to be imported cannot be read."""

    condition = "TABLE_STORE_IMPORT_FAILED"
    sql_state = "58030"

    def __init__(self, *, format_name: str, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"The {format_name} table at {path!r} cannot be imported: {reason}. Nothing was made."
        )


class ProcedureNotFoundError(TableStoreError):
    """No procedure has the name that a CALL says."""

    condition = "TABLE_STORE_PROCEDURE_NOT_FOUND"
    sql_state = "42883"

    def __init__(self, *, name: str, namespace: str, catalog: str) -> None:
        self.name = name
        self.namespace = namespace
        super().__init__(
            f"There is no procedure {name} in {catalog}.{namespace}. SHOW PROCEDURES IN "
            f"{catalog}.sys lists them."
        )


class InternalError(TableStoreError):
    """A defect of the planner's, not a mistake of the user's."""

    condition = "TABLE_STORE_INTERNAL_ERROR"
    # Not XX000, for which spark-sql prints a trace of the JVM, where nothing went wrong.
    sql_state = "58000"

    def __init__(self, *, error: Exception, request: str, log: str) -> None:
        self.request = request
        self.log = log
        super().__init__(
            f"{type(error).__name__} while the planner handled '{request}': {error}. The trace is "
            f"in {log}; please report it."
        )


class ExistingRowError(TableStoreError):
    """A rule is added to a table with a row that breaks it."""

    condition = "TABLE_STORE_EXISTING_ROW_VIOLATION"
    sql_state = "23512"

    def __init__(self, *, table: str, rule: str, row: str) -> None:
        self.rule = rule
        self.row = row
        super().__init__(
            f"Table {table} has a row for which {rule} is false: {row}. The rule was not added; "
            "correct or delete such rows first."
        )


class ExistingKeyError(TableStoreError):
    """A primary key is added to a table whose rows do not have different keys."""

    condition = "TABLE_STORE_EXISTING_KEY_VIOLATION"
    sql_state = "23505"

    def __init__(self, *, table: str, columns: Sequence[str], row: str, count: int) -> None:
        self.columns = tuple(columns)
        self.row = row
        self.count = count
        found = f"{count} rows have {row}" if count > 1 else f"a row has {row}"
        super().__init__(
            f"Table {table} cannot get the primary key ({', '.join(columns)}), for {found}. The "
            "table is as it was; keep one row for each key, without NULL in it, and run the "
            "statement again."
        )


class ReplaceConditionError(TableStoreError):
    """REPLACE WHERE with a condition that storage cannot evaluate exactly."""

    condition = "TABLE_STORE_UNSUPPORTED_REPLACE_CONDITION"
    sql_state = "0A000"

    def __init__(self) -> None:
        super().__init__(
            "REPLACE WHERE takes comparisons of columns with constants, joined by AND, OR and "
            "NOT, and no text with a collation. DELETE, then INSERT, for other conditions."
        )


class NamespaceNotFoundError(NotFoundError):
    """No namespace of this name exists."""

    condition = "TABLE_STORE_NAMESPACE_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, namespace: str) -> None:
        self.namespace = namespace
        super().__init__(kind="namespace", name=namespace)


class NamespaceAlreadyExistsError(AlreadyExistsError):
    """A namespace of this name exists already."""

    condition = "TABLE_STORE_NAMESPACE_ALREADY_EXISTS"
    sql_state = "42P06"

    def __init__(self, *, namespace: str) -> None:
        self.namespace = namespace
        super().__init__(kind="namespace", name=namespace)


class NamespaceNotEmptyError(TableStoreError):
    """A namespace still holds tables or views."""

    condition = "TABLE_STORE_NAMESPACE_NOT_EMPTY"
    sql_state = "2BP01"

    def __init__(self, *, namespace: str, names: Sequence[str]) -> None:
        self.namespace = namespace
        self.names = tuple(names)
        some = ", ".join(self.names[:5]) + (", …" if len(self.names) > 5 else "")
        super().__init__(
            f"Namespace {namespace!r} is not empty, it holds {some}. Drop these first, or say "
            "CASCADE."
        )


class ProtectedNamespaceError(TableStoreError):
    """The namespace that always exists cannot be dropped."""

    condition = "TABLE_STORE_PROTECTED_NAMESPACE"
    sql_state = "0A000"

    def __init__(self, *, namespace: str) -> None:
        self.namespace = namespace
        super().__init__(f"Namespace {namespace!r} always exists; drop the tables in it instead.")


class WrongRelationKindError(TableStoreError):
    """The name is that of another kind of relation than the statement needs."""

    condition = "TABLE_STORE_WRONG_RELATION_KIND"
    sql_state = "42809"

    def __init__(self, *, name: str, found: str, needed: str) -> None:
        self.name = name
        self.found = found
        self.needed = needed
        super().__init__(f"{name} is a {found}, and this statement needs a {needed}.")


class ListenerFailedError(TableStoreError):
    """A listener to CREATE or DROP refused; the statement was undone."""

    condition = "TABLE_STORE_LISTENER_FAILED"
    sql_state = "38000"

    def __init__(self, *, listener: str, event: str, table: str, reason: str) -> None:
        self.listener = listener
        self.event = event
        self.table = table
        self.reason = reason
        super().__init__(
            f"Listener {listener!r} failed in {event} of {table}: {reason}. The tables are as "
            "they were before the statement; repair what the listener needs and run it again."
        )


class StagedTableGoneError(TableStoreError):
    """The directory of a new table was removed before the table could be published."""

    condition = "TABLE_STORE_STAGED_TABLE_GONE"
    sql_state = "55000"
    retriable = True

    def __init__(self, *, table: str, location: str) -> None:
        self.table = table
        self.location = location
        super().__init__(
            f"The new directory {location!r} of {table} is gone: its writer counted as dead. "
            "Nothing of the statement is visible; run it again."
        )


class ChangeTypeError(TableStoreError):
    """In an INSERT with a change type column, a row has a value that is no change type."""

    condition = "TABLE_STORE_INVALID_CHANGE_TYPE"
    sql_state = "22023"

    def __init__(self, *, value: str) -> None:
        self.value = value
        super().__init__(
            "The change type of a row is one of 'insert', 'delete', 'update_preimage' and "
            f"'update_postimage', not {value!r}. Nothing of the statement was written."
        )


class CatalogInUseError(TableStoreError):
    """A catalog that is to be dropped is needed."""

    condition = "TABLE_STORE_CATALOG_IN_USE"
    sql_state = "55006"

    def __init__(self, *, catalog: str, reason: str) -> None:
        self.catalog = catalog
        super().__init__(f"Catalog {catalog!r} is not dropped: {reason}.")


class LockTimeoutError(TableStoreError):
    """Another process kept a lock for too long."""

    condition = "TABLE_STORE_LOCK_TIMEOUT"
    sql_state = "57033"
    retriable = True

    def __init__(self, *, lock: str, holder: str, waited_ms: int) -> None:
        self.lock = lock
        self.holder = holder
        self.waited_ms = waited_ms
        super().__init__(
            f"Lock {lock!r} was still held by {holder} after {waited_ms} ms. Nothing was done; "
            "run the statement again, or end that process if it hangs."
        )


class StreamWriterExistsError(TableStoreError):
    """A second streaming query would write a table."""

    condition = "TABLE_STORE_STREAM_WRITER_EXISTS"
    sql_state = "55006"

    def __init__(self, *, table: str, query: str, pid: int, host: str) -> None:
        self.table = table
        self.query = query
        super().__init__(
            f"{table} is being written by streaming query {query} of process {pid} on "
            f"{host.partition(' ')[0]}, and a table has one streaming writer at a time. Stop that "
            "query first, or write to another table; statements such as INSERT and MERGE may run "
            "beside it."
        )


class StreamCheckpointLostError(TableStoreError):
    """The table has batches that the checkpoint does not know, and forgot what they had read."""

    condition = "TABLE_STORE_STREAM_CHECKPOINT_LOST"
    sql_state = "55000"

    def __init__(self, *, table: str, query: str, batch: int, last: int) -> None:
        self.table = table
        self.query = query
        self.batch = batch
        super().__init__(
            f"Batch {batch} of streaming query {query} is in {table}, but its checkpoint ends with "
            f"batch {last}, and the snapshot that knew where batch {batch} ended has expired. "
            "Restore the checkpoint from a copy, or start the query with a new one, after what "
            "the table has already."
        )
