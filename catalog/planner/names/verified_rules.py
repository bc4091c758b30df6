"""NOT NULL and CHECK added to a table that has rows.

Nobody may commit a row that breaks the rule while older rows are looked at, so:

1. The rule is published as a constraint that is not verified. Statements that begin from now on
   obey it, and none that began before can commit after the next step: the schema is another one.
2. A snapshot that changes nothing, the *fence*, is committed. All snapshots behind it are of
   statements that obey.
3. The rows of the fence are looked at. If one breaks the rule, the constraint is dropped again;
   else it is noted as verified, or NOT NULL takes its place.

Whoever dies in between leaves a constraint that is enforced and shown as not verified.
"""

from __future__ import annotations

from collections.abc import Sequence

from table_store.catalog.definition.rule_change import (
    AddCheck,
    DropConstraint,
    KeepCheck,
    RequireColumn,
    RuleChange,
    mentions,
    pending_check,
)
from table_store.catalog.definition.table_change import TableChange, changed_schema
from table_store.catalog.errors import ExistingRowError
from table_store.catalog.names.identifier import Identifier, quoted, quoted_parts
from table_store.catalog.planner.names.checked_rows import check_conditions
from table_store.catalog.planner.names.stored_expressions import with_columns
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_store.model.check import Check
from table_store.storage.file_store.model.column_names import RESERVED_PREFIX
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.log_store.logged_table import open_logged

_SHOWN_MAX = 200
_IS_BROKEN = RESERVED_PREFIX + "broken"


def with_verified_rules(
    session: PlannerSession,
    lifecycle: TableLifecycle,
    own: Identifier,
    parts: tuple[str, ...],
    changes: Sequence[TableChange],
) -> list[TableChange]:
    """Make sure that the rows of a table satisfy the rules among `changes`; return what is left.

    Args:
        session: in which Spark looks at the rows.
        lifecycle: has the table, by the name `own`.
        own: see there.
        parts: the table's name in SQL.
        changes: of one ALTER TABLE.

    Raises:
        ExistingRowError: a row breaks a rule; the table is as it was.
    """
    before = lifecycle.load(own).schema
    after = changed_schema(before, changes, time_ms=before.time_ms)
    rules = [change for change in changes if isinstance(change, RuleChange)]
    pending = [check for rule in rules if (check := pending_check(before, rule)) is not None]
    if not pending:
        return list(changes)
    check_conditions(session, after, [c for c in after.checks if c not in before.checks])
    known = {check.name.lower() for check in before.checks}
    new = [check for check in pending if check.name.lower() not in known]
    managed = lifecycle.alter(own, new) if new else lifecycle.load(own)
    try:
        fence = _fence(lifecycle, managed.location)
        wanted = {check.name.lower() for check in pending}
        for published in managed.schema.checks:
            if published.name.lower() in wanted:
                _look_at(session, parts, fence, managed.schema, published)
    except BaseException:
        lifecycle.alter(own, [DropConstraint(check.name, if_exists=True) for check in new])
        raise
    return [left for change in changes for left in _left(before, change)]


def _left(before: TableSchema, change: TableChange) -> list[TableChange]:
    match change:
        case AddCheck(name, _):
            return [KeepCheck(name)]
        case RequireColumn():
            stand_in = pending_check(before, change)
            if stand_in is not None:
                return [change, DropConstraint(stand_in.name, if_exists=True)]
    return [change]


def _fence(lifecycle: TableLifecycle, location: str) -> Snapshot:
    table = open_logged(location, lifecycle.warehouse.places.file_io_of(location))
    outcome = table.committer().commit(
        (),
        kind=CommitKind.COMPACT,  # to whom it follows changes it is nothing new
        commit_user=table.ids.unique(),
        operation="ALTER",
        allow_empty=True,
    )
    assert outcome.snapshot is not None, "an empty commit was allowed"
    return outcome.snapshot


def _look_at(
    session: PlannerSession,
    parts: tuple[str, ...],
    fence: Snapshot,
    schema: TableSchema,
    check: Check,
) -> None:
    shown = [
        name for name in schema.column_names if name in schema.primary_key or _names(check, name)
    ]
    broken = check.condition.with_text(f"NOT ({check.condition.text}\n)")
    rows = session.spark.sql(f"SELECT * FROM {quoted_parts(parts)} VERSION AS OF {fence.id}")
    found = (
        with_columns(session, rows, {_IS_BROKEN: broken})
        .where(quoted(_IS_BROKEN))
        .selectExpr(*[f"CAST({quoted(name)} AS STRING)" for name in shown])
        .head(1)
    )
    if found:
        values = ("NULL" if value is None else value for value in found[0])
        row = ", ".join(f"{name} = {value}" for name, value in zip(shown, values, strict=True))
        if len(row) > _SHOWN_MAX:
            row = row[:_SHOWN_MAX] + "…"
        raise ExistingRowError(table=".".join(parts), rule=check.condition.text, row=row)


def _names(check: Check, column: str) -> bool:
    try:
        return bool(mentions(check.condition, column))
    except InvalidSchemaError:
        return True
