"""The catalog's errors: a branch of the one tree of errors."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.storage.file_store.model.errors import CommitConflictError
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


class UnsupportedQueryError(TableStoreError):
    """A materialized view cannot be kept equal to this query."""

    condition = "TABLE_STORE_UNSUPPORTED_VIEW_QUERY"
    sql_state = "0A000"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"A materialized view cannot be kept equal to this query: {reason}. Change the query, "
            "or make a plain VIEW of it."
        )


class StreamingInsertError(TableStoreError):
    """A statement cannot run in streaming mode as it is."""

    condition = "TABLE_STORE_STREAMING_INSERT"
    sql_state = "0A000"

    def __init__(self, *, reason: str, remedy: str | None = None) -> None:
        self.reason = reason
        other = "Change the statement, or SET 'execution.runtime-mode' = 'batch'"
        super().__init__(
            f"A streaming INSERT cannot keep its table equal to this query: {reason}. "
            f"{remedy or other}."
        )


class StreamingStatementError(TableStoreError):
    """A statement has no meaning in streaming mode."""

    condition = "TABLE_STORE_NOT_IN_STREAMING_MODE"
    sql_state = "0A000"

    def __init__(self, *, statement: str, reason: str, remedy: str) -> None:
        self.statement = statement
        super().__init__(
            f"{statement} cannot run in streaming mode: {reason}. {remedy}, or "
            "SET 'execution.runtime-mode' = 'batch'."
        )


class JobExistsError(TableStoreError):
    """A second job would write a table, or have the name of another."""

    condition = "TABLE_STORE_JOB_EXISTS"
    sql_state = "55006"

    def __init__(self, *, job: str, name: str, sink: str) -> None:
        self.job = job
        super().__init__(
            f"Job {name} ({job}) runs and writes {sink}; a table has one job, and a name too. STOP "
            f"JOB '{job}' first, or take another table and another 'pipeline.name'. Statements "
            "such as UPDATE and MERGE may run beside a job."
        )


class JobNotFoundError(TableStoreError):
    """No job of this program has the id or name that a statement says."""

    condition = "TABLE_STORE_JOB_NOT_FOUND"
    sql_state = "42704"

    def __init__(self, *, job: str) -> None:
        self.job = job
        super().__init__(f"This program has no job {job!r}. SHOW JOBS lists them.")


class NoJobError(TableStoreError):
    """No running job of this program writes a table that is to be flushed."""

    condition = "TABLE_STORE_NO_JOB"
    sql_state = "55000"

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(
            f"No job that runs in this program writes {table}, so there is nothing to wait for. "
            "Start the streaming INSERT, or flush the table in the program where it runs."
        )


class JobBehindError(TableStoreError):
    """A table cannot be brought up to now, because its job, or one below it, fails."""

    condition = "TABLE_STORE_JOB_BEHIND"
    sql_state = "55000"

    def __init__(self, *, table: str, job: str, state: str, reason: str) -> None:
        self.table = table
        self.job = job
        super().__init__(
            f"{table} is not up to date: job {job} is {state} and did not get there: {reason}. "
            "Mend what it names; if the job has ended, run its INSERT again, which resumes it, or "
            f"STOP JOB '{job}' to leave the table as it is."
        )


class JobHistoryLostError(TableStoreError):
    """Nobody can tell which rows of a sink without key a job has written."""

    condition = "TABLE_STORE_JOB_HISTORY_LOST"
    sql_state = "55000"

    def __init__(self, *, sink: str, reason: str) -> None:
        self.sink = sink
        super().__init__(
            f"The job cannot go on where it was: {reason}, so what its rows in {sink} would have "
            f"to become is unknown, and {sink} has no key by which they could be replaced. Remove "
            "the job's rows from the table, then start the INSERT with another 'pipeline.name'."
        )


class DependentsError(TableStoreError):
    """What stands on a table could not go on after a statement."""

    condition = "TABLE_STORE_DEPENDENTS"
    sql_state = "2BP01"

    def __init__(self, *, operation: str, table: str, dependent: str, reason: str) -> None:
        self.table = table
        self.dependent = dependent
        self.reason = reason
        super().__init__(
            f"{operation} of {table} is refused, for {dependent} stands on it: {reason}. Change "
            f"or drop that first, or say what becomes of it: {operation} … SUSPEND suspends what "
            "cannot go on, and … CASCADE drops such views."
        )


class MaterializedViewError(TableStoreError):
    """A statement would change the rows or columns of a materialized view."""

    condition = "TABLE_STORE_MATERIALIZED_VIEW"
    sql_state = "42809"

    def __init__(self, *, name: str, operation: str) -> None:
        self.name = name
        self.operation = operation
        super().__init__(
            f"{operation} cannot be done to the materialized view {name}: its rows are the result "
            f"of its query. Change the tables that the query reads, then REFRESH MATERIALIZED VIEW."
        )


class SuspendedViewError(TableStoreError):
    """A materialized view that is suspended would be refreshed."""

    condition = "TABLE_STORE_VIEW_SUSPENDED"
    sql_state = "55000"

    def __init__(self, *, name: str, because: str | None = None) -> None:
        self.name = name
        why = "" if because is None else f": {because}"
        super().__init__(
            f"The materialized view {name} is suspended{why}. To refresh it again, run ALTER "
            f"MATERIALIZED VIEW {name} RESUME."
        )


class ViewRedefinedError(CommitConflictError):
    """A materialized view has got another query while its old one was evaluated."""

    def __init__(self, *, table: str) -> None:
        reason = "ALTER MATERIALIZED VIEW has given it another query"
        super().__init__(table=table, snapshot_id=None, operation="REFRESH", reason=reason)


class NotIncrementalError(TableStoreError):
    """A materialized view that is only to be refreshed incrementally cannot be."""

    condition = "TABLE_STORE_NOT_INCREMENTAL"
    sql_state = "0A000"

    def __init__(self, *, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(
            f"The materialized view {name} has REFRESH POLICY INCREMENTAL STRICT and cannot be "
            f"refreshed incrementally: {reason}. Choose another policy, or, if the query allows "
            "it but the history does not, run REFRESH MATERIALIZED VIEW … FULL once."
        )


class NoCommonBarrierError(TableStoreError):
    """Tables that hang together are not all valid at one barrier, or not at the one asked for."""

    condition = "TABLE_STORE_NO_COMMON_BARRIER"
    sql_state = "55019"

    def __init__(
        self, *, tables: Sequence[str], barrier: int | None, behind: Sequence[str]
    ) -> None:
        self.tables = tuple(tables)
        self.barrier = barrier
        self.behind = tuple(behind)
        which = "at any barrier that is kept" if barrier is None else f"at barrier {barrier}"
        late = f": {', '.join(behind)} are behind" if behind else ", which is not kept"
        super().__init__(
            f"The tables {', '.join(tables)} cannot be read together {which}{late}. Let their jobs "
            "go on, REFRESH their views, or read the newest rows with SET "
            "'table-store.consistency' = 'ReadUncommitted'; RESET 'table-store.barrier' if it is "
            "set."
        )


class ViewKeyError(TableStoreError):
    """The result of a materialized view's query does not have one row for each key."""

    condition = "TABLE_STORE_VIEW_KEY"
    sql_state = "23505"

    def __init__(self, *, name: str, problem: str, key: str) -> None:
        self.name = name
        self.key = key
        super().__init__(
            f"The result of the query of {name} has {problem} {key}; nothing was written. Correct "
            "the rows that the query reads, or choose another query or PRIMARY KEY."
        )


class RelationNotFoundError(NotFoundError):
    """No table or view has the name that a statement looks up; Spark says so in its own words."""

    condition = "TABLE_STORE_RELATION_NOT_FOUND"

    def __init__(self, *, name: str) -> None:
        super().__init__(kind="table or view", name=name)


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
