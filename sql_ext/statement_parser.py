"""Decides whether a statement is ours, and reads it if so."""

from __future__ import annotations

from collections.abc import Callable

from table_store.sql_ext.hints.option_hints import rewrite_option_hints
from table_store.sql_ext.hints.windowed_table import rewrite_windowed_tables
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.alter_view import parse_alter_view
from table_store.sql_ext.statements.create_table import parse_create_table
from table_store.sql_ext.statements.create_view import parse_create_view
from table_store.sql_ext.statements.fated_statement import parse_fated_alter, parse_fated_drop
from table_store.sql_ext.statements.job_command import (
    parse_describe_job,
    parse_end,
    parse_refresh_job,
    parse_show_jobs,
    parse_statement_set,
    parse_stop_job,
)
from table_store.sql_ext.statements.session_setting import parse_reset, parse_set
from table_store.sql_ext.statements.statements import (
    Command,
    DescribeExtended,
    Explained,
    Rewritten,
    ShowCreateTable,
    Statement,
)
from table_store.sql_ext.statements.table_command import (
    parse_compact,
    parse_create_catalog,
    parse_describe,
    parse_drop_catalog,
    parse_drop_key,
    parse_drop_temporary_table,
    parse_show_create,
    parse_use_catalog,
)
from table_store.sql_ext.statements.view_command import (
    parse_describe_view,
    parse_drop_view,
    parse_refresh,
    parse_show_create_view,
    parse_show_views,
)

_ANY_TEXT_WORDS = frozenset({"SET", "RESET", "ADD", "LIST", "REFRESH"})
_EXPLAIN_MODES = frozenset({"EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL"})


def parse_statement(sql: str) -> Statement | None:
    """Return the statement if it, or a hint in it, is ours; None if it is plainly Spark's.

    None means that the text goes to Spark unchanged, mistakes included. Text is read with Spark's
    own lexical rules, so nothing inside of strings and comments is ever taken for ours.

    Raises:
        StatementSyntaxError: the statement has something only we understand and is malformed.
    """
    text = sql if _takes_any_text(sql) else rewrite_option_hints(rewrite_windowed_tables(sql))
    cursor = TokenCursor(text)
    is_explained, mode = _accept_explain(cursor)
    command = _parse_command(cursor)
    if is_explained and isinstance(command, DescribeExtended | ShowCreateTable):
        return None  # Spark's own EXPLAIN is as good as ours would be
    if command is not None:
        return Explained(mode, command) if is_explained else command
    return Rewritten(text) if text != sql else None


def _takes_any_text(sql: str) -> bool:
    """Whether Spark takes any tokens behind the first word, even those that look like a hint."""
    cursor = TokenCursor(sql)
    _accept_explain(cursor)
    if cursor.at_words("SET", "VAR") or cursor.at_words("SET", "VARIABLE"):
        return cursor.at_symbol("=", 2)
    return cursor.at_any_word(_ANY_TEXT_WORDS)


def _accept_explain(cursor: TokenCursor) -> tuple[bool, str | None]:
    if not cursor.accept_words("EXPLAIN"):
        return False, None
    if cursor.at_any_word(_EXPLAIN_MODES):
        return True, cursor.advance().keyword
    return True, None


def _parse_command(cursor: TokenCursor) -> Command | None:
    if cursor.at_words("CREATE", "CATALOG"):
        return parse_create_catalog(cursor)
    parse = _PARSERS.get(cursor.peek().keyword)
    return None if parse is None else parse(cursor)


def _parse_describe(cursor: TokenCursor) -> Command | None:
    return parse_describe_job(cursor) or parse_describe_view(cursor) or parse_describe(cursor)


_PARSERS: dict[str, Callable[[TokenCursor], Command | None]] = {
    "CREATE": lambda cursor: parse_create_view(cursor) or parse_create_table(cursor),
    "REPLACE": parse_create_table,
    "ALTER": lambda cursor: (
        parse_fated_alter(cursor)
        or parse_alter_view(cursor)
        or parse_drop_key(cursor)
        or parse_compact(cursor)
    ),
    "DESC": _parse_describe,
    "DESCRIBE": _parse_describe,
    "DROP": lambda cursor: (
        parse_drop_catalog(cursor)
        or parse_fated_drop(cursor)
        or parse_drop_view(cursor)
        or parse_drop_temporary_table(cursor)
    ),
    "REFRESH": lambda cursor: parse_refresh(cursor) or parse_refresh_job(cursor),
    "SET": parse_set,
    "RESET": parse_reset,
    "END": parse_end,
    "EXECUTE": parse_statement_set,
    "SHOW": lambda cursor: (
        parse_show_views(cursor)
        or parse_show_jobs(cursor)
        or parse_show_create_view(cursor)
        or parse_show_create(cursor)
    ),
    "STOP": parse_stop_job,
    "USE": parse_use_catalog,
}
