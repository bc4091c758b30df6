"""Errors about materialized views, streaming INSERTs and what their queries may be."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.kernel.errors import TableStoreError

_ROW_LENGTH_MAX = 300


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


class RetractedRowsError(TableStoreError):
    """Rows went from the result of a job whose sink takes only new rows."""

    condition = "TABLE_STORE_RETRACTED_ROWS"
    sql_state = "55000"

    def __init__(self, *, sink: str, row: str) -> None:
        self.sink = sink
        shown = row if len(row) <= _ROW_LENGTH_MAX else f"{row[:_ROW_LENGTH_MAX]}…"
        super().__init__(
            f"A row is no longer in the result of the query, and {sink}, which takes only new "
            f"rows, cannot take it back: {shown}. Somebody has deleted or changed rows that the "
            "query reads. To write such changes, use 'connector' = 'upsert-kafka'; to go on "
            "without them, STOP JOB, and run the INSERT with another 'pipeline.name' over FROM t "
            "WITH ('log.scan' = 'latest')."
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
        super().__init__(
            f"This program has no job {job!r}. SHOW JOBS lists its own, sys.jobs those of all "
            "programs; CALL sys.forget_job is for one whose program has ended."
        )


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


class NoRunnerError(TableStoreError):
    """What a statement wants of a submitted job needs the job runner, and none works."""

    condition = "TABLE_STORE_NO_JOB_RUNNER"
    sql_state = "55000"

    def __init__(self, *, job: str, wanted: str) -> None:
        self.job = job
        super().__init__(
            f"Job {job} was submitted to a job runner, and none works on its warehouse, so nobody "
            f"{wanted}. Start one with `table-store jobs`, or STOP JOB and run the INSERT with SET "
            "'table-store.jobs' = 'driver'."
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
    """What stands on a table, or writes it, could not go on after a statement."""

    condition = "TABLE_STORE_DEPENDENTS"
    sql_state = "2BP01"

    def __init__(
        self, *, operation: str, table: str, dependent: str, reason: str, writes: bool = False
    ) -> None:
        self.table = table
        self.dependent = dependent
        self.reason = reason
        verb = "writes" if writes else "stands on"
        super().__init__(
            f"{operation} of {table} is refused, for {dependent} {verb} it: "
            f"{reason.rstrip('.:')}. Change or drop that first, or say what becomes of it: "
            f"{operation} … SUSPEND suspends what cannot go on, and … CASCADE drops such views."
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

    def __init__(self, *, tables: Sequence[str], wanted: str, behind: Sequence[str]) -> None:
        self.tables = tuple(tables)
        self.behind = tuple(behind)
        late = f": {', '.join(behind)} are behind" if behind else ", which is not kept"
        super().__init__(
            f"The tables {', '.join(tables)} cannot be read together {wanted}{late}. Let their "
            "jobs go on, REFRESH their views, or read the newest rows with SET "
            "'table-store.consistency' = 'ReadUncommitted'; RESET 'table-store.barrier' if it is "
            "set."
        )


class JobOrderError(TableStoreError):
    """A job cannot be told what to do by who does not run it."""

    condition = "TABLE_STORE_JOB_ORDER"
    sql_state = "55000"

    def __init__(self, *, job: str, reason: str, remedy: str) -> None:
        self.job = job
        self.reason = reason
        super().__init__(f"Job {job} takes no orders from here: {reason}. {remedy}.")


class TransactionOpenError(TableStoreError):
    """A barrier would cut the transaction of a producer in two."""

    condition = "TABLE_STORE_TRANSACTION_OPEN"
    sql_state = "25001"
    retriable = True

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"No barrier is cut, because {reason}, and a barrier has all of a transaction or "
            "nothing. Wait until it has ended. If its producer does not come back, end it with "
            "CALL sys.end_transaction; sys.transactions has those that are open."
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
