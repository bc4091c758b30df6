"""Statements about one materialized view that have no query: REFRESH, DROP, SHOW."""

from __future__ import annotations

from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.view_statements import (
    DescribeMaterializedView,
    DropMaterializedView,
    RefreshMaterializedView,
    ShowCreateMaterializedView,
    ShowMaterializedViews,
)


def parse_refresh(cursor: TokenCursor) -> RefreshMaterializedView | None:
    """Read `REFRESH MATERIALIZED VIEW name [FULL]`; None for every other REFRESH."""
    if not cursor.accept_words("REFRESH", "MATERIALIZED", "VIEW"):
        return None
    name = cursor.name()
    is_full = cursor.accept_words("FULL")
    cursor.expect_statement_end()
    return RefreshMaterializedView(name, is_full)


def parse_drop_view(cursor: TokenCursor) -> DropMaterializedView | None:
    """Read `DROP MATERIALIZED VIEW [IF EXISTS] name`; None for every other DROP."""
    if not cursor.accept_words("DROP", "MATERIALIZED", "VIEW"):
        return None
    if_exists = cursor.accept_words("IF", "EXISTS")
    name = cursor.name()
    cursor.expect_statement_end()
    return DropMaterializedView(name, if_exists)


def parse_describe_view(cursor: TokenCursor) -> DescribeMaterializedView | None:
    """Read `DESC[RIBE] [EXTENDED] MATERIALIZED VIEW [EXTENDED] name`; None for other DESCRIBEs."""
    mark = cursor.mark()
    cursor.advance()
    is_extended = _accept_extended(cursor)
    if cursor.accept_words("MATERIALIZED", "VIEW") and not cursor.at_statement_end():
        is_extended = _accept_extended(cursor) or is_extended
        name = cursor.name()
        cursor.expect_statement_end()
        return DescribeMaterializedView(name, is_extended)
    cursor.reset(mark)
    return None


def _accept_extended(cursor: TokenCursor) -> bool:
    is_name = not cursor.at_identifier(1)
    return not is_name and any(map(cursor.accept_words, ("EXTENDED", "FORMATTED")))


def parse_show_views(cursor: TokenCursor) -> ShowMaterializedViews | None:
    """Read `SHOW MATERIALIZED VIEWS [FROM|IN namespace]`; None for every other SHOW."""
    if not cursor.accept_words("SHOW", "MATERIALIZED", "VIEWS"):
        return None
    is_named = cursor.accept_words("FROM") or cursor.accept_words("IN")
    namespace = cursor.name() if is_named else ()
    cursor.expect_statement_end()
    return ShowMaterializedViews(namespace)


def parse_show_create_view(cursor: TokenCursor) -> ShowCreateMaterializedView | None:
    """Read `SHOW CREATE MATERIALIZED VIEW name`; None for every other SHOW."""
    if not cursor.accept_words("SHOW", "CREATE", "MATERIALIZED", "VIEW"):
        return None
    name = cursor.name()
    cursor.expect_statement_end()
    return ShowCreateMaterializedView(name)
