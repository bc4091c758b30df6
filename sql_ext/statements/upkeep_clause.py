"""Reads REFRESH POLICY, SCHEDULE and TRIGGER of materialized views."""

from __future__ import annotations

from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.storage.file_store.model.upkeep import RefreshPolicy, Schedule, TimeUnit

_EVERY_MAX = 1_000_000


def parse_policy(cursor: TokenCursor) -> RefreshPolicy:
    """Read what stands behind REFRESH POLICY."""
    if cursor.accept_words("INCREMENTAL", "STRICT"):
        return RefreshPolicy.INCREMENTAL_STRICT
    for policy in (RefreshPolicy.AUTO, RefreshPolicy.INCREMENTAL, RefreshPolicy.FULL):
        if cursor.accept_words(policy.value):
            return policy
    raise cursor.error("AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")


def at_schedule(cursor: TokenCursor) -> bool:
    """Whether SCHEDULE or TRIGGER comes next."""
    return cursor.at_words("SCHEDULE") or cursor.at_words("TRIGGER")


def parse_schedule(cursor: TokenCursor) -> Schedule:
    """Read `SCHEDULE [REFRESH] EVERY n unit` or `TRIGGER ON UPDATE [AT MOST EVERY n unit]`."""
    if cursor.accept_words("SCHEDULE"):
        cursor.accept_words("REFRESH")
        cursor.expect_words("EVERY")
        every, unit = _interval(cursor)
        return Schedule(every=every, unit=unit)
    cursor.expect_words("TRIGGER", "ON", "UPDATE")
    if not cursor.accept_words("AT"):
        return Schedule(is_on_update=True)
    cursor.expect_words("MOST", "EVERY")
    cursor.accept_words("INTERVAL")
    every, unit = _interval(cursor)
    return Schedule(is_on_update=True, every=every, unit=unit)


def _interval(cursor: TokenCursor) -> tuple[int, TimeUnit]:
    mark = cursor.mark()
    if cursor.at_string():
        text = cursor.string()
    elif cursor.peek().kind is TokenKind.NUMBER:
        text = cursor.advance().text
    else:
        raise cursor.error("a number")
    is_number = text.isascii() and text.isdecimal()
    if not is_number or not 0 < int(text) <= _EVERY_MAX:
        cursor.reset(mark)
        raise cursor.refusal(f"the number is to be a whole one from 1 to {_EVERY_MAX:,}")
    for unit in TimeUnit:
        if cursor.accept_words(unit.value) or cursor.accept_words(f"{unit.value}S"):
            return int(text), unit
    raise cursor.error("SECONDS, MINUTES, HOURS, DAYS or WEEKS")
