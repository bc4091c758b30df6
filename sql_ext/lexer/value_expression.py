"""Finds among the tokens where the expression of `TIMESTAMP AS OF …` ends."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.sql_ext.lexer.sql_token import Token, TokenKind

_UNITS = frozenset(
    unit + plural
    for unit in (
        *("NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
        *("DAY", "WEEK", "MONTH", "YEAR"),
    )
    for plural in ("", "S")
)
_SIGNS = frozenset("+-~")
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "||", "&", "|", "^"})
_CLOSING = {"(": ")", "[": "]"}


def value_expression_end(tokens: Sequence[Token], start: int) -> int:
    """Return the index behind the value expression at `start`, without an alias.

    Source: `valueExpression` of Spark's grammar, without comparisons, lambdas and CASE outside
    parentheses, which make no sense as a point in time.
    """
    index = start
    while True:
        while tokens[index].text in _SIGNS:
            index += 1
        index = _operand_end(tokens, index)
        if tokens[index].text in _OPERATORS or tokens[index].keyword == "DIV":
            index += 1
            continue
        return index


def group_end(tokens: Sequence[Token], start: int) -> int:
    """Return the index behind the bracket that closes the one at `start`, or of the END token."""
    pending: list[str] = []
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token.kind is TokenKind.SYMBOL and token.text in _CLOSING:
            pending.append(_CLOSING[token.text])
        elif token.kind is TokenKind.SYMBOL and pending and token.text == pending[-1]:
            pending.pop()
            if not pending:
                return index + 1
    return len(tokens) - 1


def _operand_end(tokens: Sequence[Token], index: int) -> int:
    token = tokens[index]
    if token.keyword == "INTERVAL" and _is_interval_value(tokens, index + 1):
        index = _interval_end(tokens, index + 1)
    elif token.is_symbol("("):
        index = group_end(tokens, index)
    elif token.is_symbol(":"):
        index = min(index + 2, len(tokens) - 1)
    elif token.kind in (TokenKind.WORD, TokenKind.QUOTED):
        index += 1
        while tokens[index].is_symbol(".") and index + 2 < len(tokens):
            index += 2
    elif token.kind is not TokenKind.END:
        index += 1
    while tokens[index].kind is TokenKind.STRING:  # a typed literal, or neighbouring strings
        index += 1
    return _postfix_end(tokens, index)


def _postfix_end(tokens: Sequence[Token], index: int) -> int:
    while True:
        token = tokens[index]
        if token.is_symbol("(") or token.is_symbol("["):
            index = group_end(tokens, index)
        elif token.is_symbol("::") and index + 2 < len(tokens):
            index += 2
        else:
            return index


def _is_interval_value(tokens: Sequence[Token], index: int) -> bool:
    if tokens[index].text in _SIGNS:
        index += 1
    return tokens[index].kind in (TokenKind.STRING, TokenKind.NUMBER)


def _interval_end(tokens: Sequence[Token], index: int) -> int:
    while _is_interval_value(tokens, index):
        index += 2 if tokens[index].text in _SIGNS else 1
        if tokens[index].keyword in _UNITS:
            index += 1
    if tokens[index].keyword == "TO" and tokens[index + 1].keyword in _UNITS:
        index += 2
    return index
