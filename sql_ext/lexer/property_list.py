"""`('key' = 'value', …)` of WITH, TBLPROPERTIES and the OPTIONS hint."""

from __future__ import annotations

from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.token_cursor import TokenCursor

_BOOLEANS = frozenset({"TRUE", "FALSE"})
Properties = tuple[tuple[str, str], ...]


def parse_properties(cursor: TokenCursor) -> Properties:
    """Read a list in parentheses; each key occurs once, in the order written.

    Keys and values have the forms of Spark's `propertyList`: strings, dotted names, numbers and
    booleans. The value of a number or boolean is its text, of a boolean in lower case.
    """
    cursor.expect_symbol("(")
    found: dict[str, str] = {}
    while True:
        key_mark = cursor.mark()
        key = _parse_key(cursor)
        if key in found:
            cursor.reset(key_mark)
            raise cursor.refusal("the key is set twice")
        cursor.accept_symbol("=") or cursor.accept_symbol("==")
        found[key] = _parse_value(cursor)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return tuple(found.items())


def _parse_key(cursor: TokenCursor) -> str:
    if cursor.at_string():
        return cursor.string()
    if not cursor.at_identifier():
        raise cursor.error("a quoted key")
    return ".".join(cursor.name("a quoted key"))


def _parse_value(cursor: TokenCursor) -> str:
    if cursor.at_string():
        return cursor.string()
    if cursor.at_any_word(_BOOLEANS):
        return cursor.advance().text.lower()
    if cursor.peek().kind is TokenKind.NUMBER:
        return cursor.advance().text
    raise cursor.error("a quoted value")
