"""SET and RESET of keys that Spark's parser refuses: quoted ones and ones with a dash."""

from __future__ import annotations

from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.statements import ResetOption, SetOption, ShowOption

_KEY_SYMBOLS = frozenset({".", "-", ":"})


def parse_set(cursor: TokenCursor) -> SetOption | ShowOption | None:
    """Read `SET key [= value]`; None if the key is one that Spark takes.

    A quoted value loses its quotes, which Spark's own SET keeps. An unquoted one is the text up to
    the end of the statement.
    """
    cursor.expect_words("SET")
    key = _parse_key(cursor)
    if key is None:
        return None
    if cursor.at_statement_end():
        return ShowOption(key)
    cursor.expect_symbol("=")
    if cursor.at_statement_end():
        raise cursor.error("a value")
    value = _parse_value(cursor)
    cursor.expect_statement_end()
    return SetOption(key, value)


def parse_reset(cursor: TokenCursor) -> ResetOption | None:
    """Read `RESET key`; None if the key is one that Spark takes."""
    cursor.expect_words("RESET")
    key = _parse_key(cursor)
    if key is None:
        return None
    cursor.expect_statement_end()
    return ResetOption(key)


def _parse_key(cursor: TokenCursor) -> str | None:
    if cursor.at_string():
        mark = cursor.mark()
        key = cursor.string()
        if not key:
            cursor.reset(mark)
            raise cursor.refusal("the key is empty")
        return key
    if not cursor.at_identifier() or cursor.peek().kind is TokenKind.QUOTED:
        return None
    start = cursor.advance().start
    while cursor.peek().start == cursor.previous_end() and _continues_key(cursor):
        cursor.advance()
    key = cursor.sql[start : cursor.previous_end()]
    at_end_of_key = cursor.at_symbol("=") or cursor.at_statement_end()
    return key if "-" in key and key.isascii() and at_end_of_key else None


def _continues_key(cursor: TokenCursor) -> bool:
    token = cursor.peek()
    if token.kind is TokenKind.SYMBOL:
        return token.text in _KEY_SYMBOLS
    return token.kind in (TokenKind.WORD, TokenKind.NUMBER)


def _parse_value(cursor: TokenCursor) -> str:
    token = cursor.peek()
    if token.kind is TokenKind.STRING:
        return cursor.string()
    if token.kind is TokenKind.QUOTED:
        return cursor.identifier()
    start = token.start
    while not cursor.at_symbol(";") and cursor.peek().kind is not TokenKind.END:
        cursor.advance()
    return cursor.sql[start : cursor.previous_end()]
