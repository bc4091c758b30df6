"""What the service answers, as values; `json_values.py` turns them into JSON.

Names of tables are `namespace.table`; times are milliseconds since 1970, durations milliseconds. A
barrier is told by its number.
"""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.meta_service.arrivals import Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the topology.

    Attributes:
        name: with its namespace; the directory of a table that has no name any more.
        kind: `Root`, which no job writes, or `Intermediate`.
        job: the id of the job that writes it; null for a root.
        readers: the ids of the jobs that read it.
        barrier: the last one at which the table is valid; null if it is at none that is kept.
        snapshot: its snapshot at the last barrier that came to it.
        newest_snapshot: its newest one; 0 before the first commit, null if the table is gone.
        delay_ms: the age of the oldest change of a root that it does not show; null if not known.
        bottlenecks: the ids of the jobs for which it waits.
    """

    name: str
    kind: str
    job: str | None
    readers: tuple[str, ...]
    barrier: int | None
    snapshot: int | None
    newest_snapshot: int | None
    delay_ms: int | None
    bottlenecks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, and what its last epochs did, as far as they are kept.

    Attributes:
        id: of the job.
        name: of the job, or of the view.
        kind: `materialized view` or `streaming INSERT`.
        table: that it writes.
        sources: the tables that it reads.
        state: RUNNING; SUSPENDED; SUBMITTED, if a job runner is to begin it; or FAILED, if its
            program has ended without a word.
        barrier: the last one that it has taken; null before the first one.
        snapshot: of its table there.
        rule: of the last good epoch.
        reason: why it was this rule.
        error: of the last epoch, if it failed.
        last_error: of the last epoch that failed, also if good ones have followed.
        failures: failed epochs since the last good one.
        epochs: how many are kept.
        ended_ms: when the last one ended.
        milliseconds: how long the last good one took.
        rows_changed: rows that the last good one inserted and deleted.
        rows_per_second: rows read per second of work, over the good epochs that are kept.
        delay_ms: of its table.
        is_submitted: whether a job runner has it, or is to have it, and so it takes orders.
    """

    id: str
    name: str
    kind: str
    table: str
    sources: tuple[str, ...]
    state: str
    barrier: int | None
    snapshot: int | None
    rule: str | None
    reason: str | None
    error: str | None
    last_error: str | None
    failures: int
    epochs: int
    ended_ms: int | None
    milliseconds: int | None
    rows_changed: int | None
    rows_per_second: int | None
    delay_ms: int | None
    is_submitted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAnswer:
    """An order that was given to a job.

    Attributes:
        job: its id.
        order: `pause`, `resume` or `refresh`.
        has_runner: whether a job runner works, which does it within a second or two.
    """

    job: str
    order: str
    has_runner: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A snapshot of a table."""

    table: str
    snapshot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierRecord:
    """A barrier of the ledger, and the tables that were looked at for it."""

    number: int
    position: int
    tables: tuple[TableSnapshot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A kept epoch of a job; `barrier` is null if it failed before it had one."""

    job: str
    table: str
    barrier: int | None
    started_ms: int
    finished_ms: int
    milliseconds: int
    rule: str | None
    reason: str | None
    rows_read: int
    rows_changed: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageRow:
    """The snapshot that a job read or wrote at a barrier."""

    job: str
    barrier: int
    table: str
    snapshot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column of a table; the table may be a foreign one, which is not in the topology."""

    table: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table, its type as SQL writes it, and the columns from which its value comes.

    It has no sources if it comes from none, such as a constant, and in a root.
    """

    name: str
    type: str
    sources: tuple[SourceColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDelay:
    """How late barriers came to a table within `window`; null if none came."""

    window: str
    delay_ms: Distribution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDelay:
    """How late a table is now, and how late barriers came to it.

    Attributes:
        table: its name.
        job: that writes it.
        delay_ms: now, as in `Table`.
        known_since_ms: the first arrival that is kept; null without one. Windows that reach
            further back tell only what came since.
        windows: the distributions.
    """

    table: str
    job: str
    delay_ms: int | None
    known_since_ms: int | None
    windows: tuple[WindowDelay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowShare:
    """What a job added to the delay of barriers within `window`; null if none came."""

    window: str
    waiting_ms: Distribution | None
    working_ms: Distribution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShare:
    """What a job adds to the delay of its table."""

    job: str
    table: str
    windows: tuple[WindowShare, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """The version of a table to read; `barrier` is null for a table that no job reads or writes."""

    table: str
    version: int
    barrier: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyAnswer:
    """Everything that is drawn.

    Attributes:
        observed_ms: when storage was looked at.
        barrier: the last one; null before the first one.
        readable_barrier: the last one at which all tables of all jobs are valid; null if there is
            none that is kept.
        tables: all tables that jobs connect.
        jobs: all jobs.
    """

    observed_ms: int
    barrier: int | None
    readable_barrier: int | None
    tables: tuple[Table, ...]
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesAnswer:
    """Tables by name."""

    observed_ms: int
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsAnswer:
    """Jobs by the names of their tables."""

    observed_ms: int
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarriersAnswer:
    """Barriers, the last one first."""

    observed_ms: int
    barriers: tuple[BarrierRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressAnswer:
    """Epochs, the last one first."""

    observed_ms: int
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageAnswer:
    """Snapshots that jobs have read or written."""

    observed_ms: int
    lineage: tuple[LineageRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsAnswer:
    """The columns of a table, and from which others they come.

    Attributes:
        observed_ms: when storage was looked at.
        table: its name.
        is_known: false if the query of its job cannot be read any more: then no source is told.
        columns: in their order.
        conditions: the columns that decide which rows the table has.
    """

    observed_ms: int
    table: str
    is_known: bool
    columns: tuple[Column, ...]
    conditions: tuple[SourceColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelaysAnswer:
    """How late tables are, and what jobs add to it."""

    observed_ms: int
    tables: tuple[TableDelay, ...]
    jobs: tuple[JobShare, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsAnswer:
    """Versions with which tables are read together."""

    observed_ms: int
    consistency: str
    versions: tuple[TableVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a request was not answered."""

    condition: str
    message: str
    sql_state: str
    retriable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureAnswer:
    """The body of every answer that is none."""

    error: Failure
