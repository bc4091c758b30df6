"""Reads RESTRICT, SUSPEND and CASCADE behind DROP and ALTER of tables."""

from __future__ import annotations

from typing import Final

from table_store.catalog.definition.fate import Fate
from table_store.sql_ext.lexer.sql_token import Token
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.statements import FatedStatement

_WORDS: Final = frozenset(fate.value for fate in Fate)
_DROPS: Final = (("DROP", "TABLE"), ("DROP", "MATERIALIZED", "VIEW"))
_OF_COLUMNS: Final = frozenset(("ADD", "ALTER", "CHANGE", "DROP", "RENAME"))
_BEFORE_NAMES: Final = frozenset(("COLUMN", "COLUMNS", "EXISTS", "TO", "AFTER"))


def parse_fated_drop(cursor: TokenCursor) -> FatedStatement | None:
    """Read `DROP TABLE|MATERIALIZED VIEW [IF EXISTS] name [PURGE] fate`; None for other DROPs."""
    mark, start = cursor.mark(), cursor.peek().start
    if any(cursor.accept_words(*words) for words in _DROPS):
        cursor.accept_words("IF", "EXISTS")
        try:
            cursor.name()
        except StatementSyntaxError:
            cursor.reset(mark)
            return None
        cursor.accept_words("PURGE")
        if cursor.at_any_word(_WORDS):
            return _fated(cursor, start)
    cursor.reset(mark)
    return None


def parse_fated_alter(cursor: TokenCursor) -> FatedStatement | None:
    """Read `ALTER TABLE name action fate`; None for other ALTERs.

    The actions are those that change columns, and RENAME TO. A column may be called like a fate.
    """
    mark, start = cursor.mark(), cursor.peek().start
    if cursor.accept_words("ALTER", "TABLE"):
        try:
            cursor.name()
        except StatementSyntaxError:
            cursor.reset(mark)
            return None
        if cursor.at_any_word(_OF_COLUMNS):
            before = cursor.advance()
            while not cursor.at_statement_end():
                is_last = cursor.at_any_word(_WORDS) and _is_last(cursor)
                if is_last and not _precedes_name(before):
                    return _fated(cursor, start)
                before = cursor.advance()
    cursor.reset(mark)
    return None


def _is_last(cursor: TokenCursor) -> bool:
    mark = cursor.mark()
    cursor.advance()
    is_last = cursor.at_statement_end()
    cursor.reset(mark)
    return is_last


def _precedes_name(token: Token) -> bool:
    return token.keyword in _BEFORE_NAMES or any(map(token.is_symbol, (".", ",", "(")))


def _fated(cursor: TokenCursor, start: int) -> FatedStatement | None:
    sql = cursor.sql[start : cursor.previous_end()]
    fate = Fate(cursor.advance().keyword)
    cursor.expect_statement_end()
    return FatedStatement(sql, fate)
