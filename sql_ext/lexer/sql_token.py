"""Tokens of Spark SQL, exactly those of Spark 4.2's own lexer.

The rules are those of Spark's `SqlBaseLexer.g4`. A general tokenizer is not enough here: our
clauses are cut out of the text by offset and the rest stays as the user wrote it. If one quote,
comment or dollar-quoted text were read otherwise than by Spark, the statement would change its
meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class TokenKind(Enum):
    """What a token is; keywords are words, because Spark lets most of them be names."""

    WORD = "word"
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    HINT_START = "hint start"
    HINT_END = "hint end"
    UNCLOSED_COMMENT = "unclosed comment"
    END = "end of input"


class Token(NamedTuple):
    """One token; `start` and `end` are character offsets, `end` exclusive."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word in upper case, or the empty string if it cannot be a keyword.

        Words outside ASCII are never keywords: in upper case letters such as ſ would become ASCII.
        """
        if self.kind is TokenKind.WORD and self.text.isascii():
            return self.text.upper()
        return ""

    def is_symbol(self, symbol: str) -> bool:
        """Whether the token is this very symbol."""
        return self.kind is TokenKind.SYMBOL and self.text == symbol


_SPACE = "[ \\t\\n\\f\\r\\x0b\\xa0\\u1680\\u2000-\\u200a\\u2028\\u202f\\u205f\\u3000]+"
_TOKEN = re.compile(
    rf"""
      (?P<skip>{_SPACE} | --(?:\\\n|[^\r\n])*\r?\n?)
    | (?P<comment>/\*(?!\+))
    | (?P<hint_start>/\*\+)
    | (?P<string>[rR]'[^']*' | [rR]"[^"]*"
        | '[^'\\]*(?:(?:\\.|'')[^'\\]*)*' | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*")
    | (?P<dollar>\$[A-Za-z]*\$)
    | (?P<quoted>`[^`]*(?:``[^`]*)*`)
    | (?P<number>[0-9]+[eE][+-][0-9]+(?:[bB]?[dD]|[fF])?
        | (?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB]?[dD]|[fF])?(?![A-Za-z0-9_ſı])
        | [0-9]+(?:[eE][0-9]+)?(?:[bB][dD]|[dDfFlLsSyY])?(?!\w))
    | (?P<word>\w+)
    | (?P<hint_end>\*/)
    | (?P<symbol><=>|<>|[<>=!]=|::|:=|=>|->|\|\||\|>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_KINDS = {
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "number": TokenKind.NUMBER,
    "word": TokenKind.WORD,
    "hint_start": TokenKind.HINT_START,
    "hint_end": TokenKind.HINT_END,
    "symbol": TokenKind.SYMBOL,
}


def tokenize(sql: str) -> Iterator[Token]:
    """Yield the tokens of `sql` in order, without white space and comments.

    It is lazy, so that the first words of a long INSERT cost no more than those words. It never
    fails: a character that starts no token is a symbol of its own, as in Spark, and a bracketed
    comment without an end is a token that no statement expects.
    """
    position = 0
    while position < len(sql):
        match = _TOKEN.match(sql, position)
        assert match is not None  # the last symbol takes any character
        group, start, position = str(match.lastgroup), position, match.end()
        if group == "skip":
            continue
        if group == "comment":
            position = _comment_end(sql, start)
            if position < 0:
                yield Token(TokenKind.UNCLOSED_COMMENT, sql[start:], start, len(sql))
                return
            continue
        if group == "dollar":
            position = _dollar_string_end(sql, match.group(), position)
            yield Token(TokenKind.STRING, sql[start:position], start, position)
            continue
        kind = _KINDS[group]
        if kind is TokenKind.WORD and not match.group().isascii():
            position = _word_end(sql, start, position)
            if position == start:
                kind, position = TokenKind.SYMBOL, start + 1
        yield Token(kind, sql[start:position], start, position)


def _word_end(sql: str, start: int, end: int) -> int:
    """Return where the word ends for Spark, whose words have letters and ASCII digits, but no ²."""
    for offset in range(start, end):
        character = sql[offset]
        if not (character.isascii() or unicodedata.category(character).startswith("L")):
            return offset
    return end


def _comment_end(sql: str, start: int) -> int:
    """Return the offset behind the comment at `start`, -1 if it has no end; comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return -1


def _dollar_string_end(sql: str, tag: str, body_start: int) -> int:
    close = sql.find(tag, body_start)
    return len(sql) if close < 0 else close + len(tag)
