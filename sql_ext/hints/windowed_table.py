"""Rewrites calls of windowing functions as Flink's SQL has them to calls that Spark's parser takes.

`TABLE(SESSION(TABLE t PARTITION BY k, …))` becomes `(SESSION(TABLE (t) PARTITION BY (k), …))`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from table_store.sql_ext.hints.relation import read_relation
from table_store.sql_ext.lexer.sql_token import Token, tokenize
from table_store.sql_ext.lexer.value_expression import group_end

_FUNCTIONS: Final = frozenset({"CUMULATE", "HOP", "SESSION", "TUMBLE"})
_MAYBE: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_FUNCTIONS))})[\s\xa0\u1680\u2000-\u3000]*\(", re.IGNORECASE
)
"""A part of what `prefilter.py` looks for."""

_Edit = tuple[int, int, str]


def rewrite_windowed_tables(sql: str) -> str:
    """Return the statement with these calls as Spark has them; all else stays as it is.

    The word TABLE around a call becomes spaces; a name of a table and a key that stand alone within
    it get parentheses.
    """
    if _MAYBE.search(sql) is None:
        return sql
    tokens = tuple(tokenize(sql))
    edits: list[_Edit] = []
    for index, token in enumerate(tokens[:-1]):
        if token.keyword in _FUNCTIONS and tokens[index + 1].is_symbol("("):
            edits += _around(tokens, index)
            edits += _within(tokens, index + 1)
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _around(tokens: Sequence[Token], function: int) -> Iterator[_Edit]:
    if function >= 2 and tokens[function - 1].is_symbol("("):
        table = tokens[function - 2]
        if table.keyword == "TABLE":
            yield table.start, table.end, " " * len(table.text)


def _within(tokens: Sequence[Token], opening: int) -> Iterator[_Edit]:
    index = opening + 1
    end = group_end(tokens, opening) - 1
    while index < end:
        is_argument = index == opening + 1 or tokens[index - 1].text in (",", "=>")
        following = _behind(tokens, index)
        if is_argument and tokens[index].keyword == "TABLE":
            relation = read_relation(tokens, index + 1)
            following = _behind(tokens, index + 1)
            if relation is not None:
                following = relation.name_end
                yield from _parentheses(tokens, index + 1, following)
            if [t.keyword for t in tokens[following : following + 2]] == ["PARTITION", "BY"]:
                key = following + 2
                following = key
                while following < end and not tokens[following].is_symbol(","):
                    following = _behind(tokens, following)
                if not tokens[key].is_symbol("("):
                    yield from _parentheses(tokens, key, following)
        index = following


def _behind(tokens: Sequence[Token], index: int) -> int:
    return group_end(tokens, index) if tokens[index].is_symbol("(") else index + 1


def _parentheses(tokens: Sequence[Token], first: int, behind: int) -> Iterator[_Edit]:
    start, end = tokens[first].start, tokens[behind - 1].end
    yield start, start, "("
    yield end, end, ")"
