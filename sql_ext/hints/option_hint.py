"""Finds the hints `/*+ OPTIONS('key' = 'value') */` among the tokens of a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_store.sql_ext.lexer.property_list import parse_properties
from table_store.sql_ext.lexer.sql_token import Token, TokenKind
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor


@dataclass(frozen=True, slots=True)
class OptionHint:
    """One hint: where it begins and ends, and the text between its inner parentheses."""

    start: int
    end: int
    entries: str


@dataclass(frozen=True, slots=True)
class HintedTokens:
    """A statement's tokens without its OPTIONS hints.

    `hints_before[i]` are the hints that stand directly before `tokens[i]`; the last token is END,
    so that every hint stands before some token.
    """

    sql: str
    tokens: tuple[Token, ...]
    hints_before: dict[int, tuple[OptionHint, ...]]


def separate_hints(sql: str, tokens: Sequence[Token]) -> HintedTokens:
    """Take the OPTIONS hints out of `tokens`.

    A hint directly behind SELECT is one of Spark's, whatever its name, unless its content has the
    form of our hints: then it is one of ours in the wrong place.

    Raises:
        StatementSyntaxError: a hint of ours is malformed.
    """
    kept: list[Token] = []
    before: dict[int, tuple[OptionHint, ...]] = {}
    index = 0
    behind_select = False
    while index < len(tokens):
        token = tokens[index]
        if token.kind is not TokenKind.HINT_START:
            behind_select = token.keyword == "SELECT"
            kept.append(token)
            index += 1
            continue
        end = _hint_end(tokens, index)
        hint = _read_hint(sql, tokens[index:end], behind_select)
        if hint is None:
            kept.extend(tokens[index:end])
        else:
            before[len(kept)] = (*before.get(len(kept), ()), hint)
        index = end
    kept.append(Token(TokenKind.END, "", len(sql), len(sql)))
    return HintedTokens(sql, tuple(kept), before)


def _hint_end(tokens: Sequence[Token], start: int) -> int:
    for index in range(start, len(tokens)):
        if tokens[index].kind is TokenKind.HINT_END:
            return index + 1
    return len(tokens)


def _read_hint(sql: str, tokens: Sequence[Token], behind_select: bool) -> OptionHint | None:
    if not (len(tokens) > 2 and tokens[1].keyword == "OPTIONS" and tokens[2].is_symbol("(")):
        return None
    start, end = tokens[0].start, tokens[-1].end
    if "*" in sql[tokens[0].end : tokens[1].start] or "-" in sql[tokens[0].end : tokens[1].start]:
        return None  # a comment is in between, which the bridge's filter cannot read
    is_empty = len(tokens) == 5 and tokens[3].is_symbol(")")
    if not is_empty:
        try:
            _check_entries(sql, end, tokens[2].start)
        except StatementSyntaxError:
            if behind_select:
                return None
            raise
    closing = tokens[-2]
    entries = sql[tokens[3].start : tokens[-3].end] if closing.start > tokens[3].start else ""
    return OptionHint(start, end, entries)


def _check_entries(sql: str, end: int, parenthesis: int) -> None:
    """Check `(…) */`; blanks replace the text in front, so that errors name the right place."""
    blanks = "".join(c if c == "\n" else " " for c in sql[:parenthesis])
    cursor = TokenCursor(blanks + sql[parenthesis:end])
    parse_properties(cursor)
    if cursor.peek().kind is not TokenKind.HINT_END:
        raise cursor.error("'*/'")
