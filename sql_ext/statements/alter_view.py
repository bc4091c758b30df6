"""Reads ALTER MATERIALIZED VIEW."""

from __future__ import annotations

from table_store.catalog.definition.upkeep_change import ScheduleChange, UpkeepChange
from table_store.catalog.planner.protocol.view_clauses import ViewClauses, ViewMode
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.upkeep_clause import at_schedule, parse_policy, parse_schedule
from table_store.sql_ext.statements.view_statements import (
    AlterMaterializedView,
    AlterViewAsTable,
    DefineMaterializedView,
)

AlterStatement = AlterMaterializedView | AlterViewAsTable | DefineMaterializedView

_ACTIONS = (
    "SUSPEND, RESUME, AS, SET TBLPROPERTIES, UNSET TBLPROPERTIES, SET REFRESH POLICY, "
    "ADD or ALTER SCHEDULE or TRIGGER, DROP SCHEDULE, or RENAME TO"
)


def parse_alter_view(cursor: TokenCursor) -> AlterStatement | None:
    """Read `ALTER MATERIALIZED VIEW name …`; None for every other ALTER.

    Raises:
        StatementSyntaxError: the statement is malformed.
    """
    if not cursor.accept_words("ALTER", "MATERIALIZED", "VIEW"):
        return None
    name = cursor.name("a name of a view")
    if cursor.accept_words("AS"):
        if cursor.at_statement_end():
            raise cursor.error("a query")
        clauses = ViewClauses(mode=ViewMode.ALTER)
        return DefineMaterializedView(name=name, clauses=clauses, query=cursor.rest_of_statement())
    if any(cursor.at_words(*words) for words in _OF_TABLES):
        return AlterViewAsTable(name, cursor.rest_of_statement())
    change = _parse_change(cursor)
    cursor.expect_statement_end()
    return AlterMaterializedView(name, change)


_OF_TABLES = (("RENAME", "TO"), ("SET", "TBLPROPERTIES"), ("UNSET", "TBLPROPERTIES"))


def _parse_change(cursor: TokenCursor) -> UpkeepChange:
    if cursor.accept_words("SUSPEND"):
        return UpkeepChange(is_suspended=True)
    if cursor.accept_words("RESUME"):
        return UpkeepChange(is_suspended=False)
    if cursor.accept_words("SET", "REFRESH", "POLICY"):
        return UpkeepChange(policy=parse_policy(cursor))
    if cursor.accept_words("DROP"):
        if not at_schedule(cursor):
            raise cursor.error("SCHEDULE or TRIGGER")
        cursor.advance()
        return UpkeepChange(schedule_change=ScheduleChange.DROP)
    for change in (ScheduleChange.ADD, ScheduleChange.ALTER):
        if cursor.accept_words(change.value):
            if not at_schedule(cursor):
                raise cursor.error("SCHEDULE or TRIGGER")
            return UpkeepChange(schedule_change=change, schedule=parse_schedule(cursor))
    raise cursor.error(_ACTIONS)
