"""Where the name of a table in a query ends, and the clauses that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_store.sql_ext.lexer.sql_token import Token, TokenKind
from table_store.sql_ext.lexer.value_expression import group_end, value_expression_end

# These words cannot be an alias without AS, or nobody means them as one.
_NO_ALIAS = frozenset(
    """
    ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INSERT INTERSECT JOIN LATERAL
    LEFT LIMIT MATCH MINUS NATURAL OFFSET ON ORDER PARTITION PIVOT QUALIFY REPLACE RIGHT SELECT
    SEMI SET SORT TABLESAMPLE UNION UNPIVOT USING VALUES WATERMARK WHEN WHERE WINDOW WITH
    """.split()  # noqa: SIM905 - a list of words reads better as prose
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The place of a table reference, as indexes into the tokens; ends are exclusive.

    Spark wants `WITH (…)` in front of the token at `options_at`. If there is one already,
    `options_close` is the index of its closing parenthesis.
    """

    name_end: int
    options_at: int
    options_close: int | None
    alias_start: int | None
    end: int


def read_relation(tokens: Sequence[Token], start: int) -> Relation | None:
    """Return the table reference at `start`; None if it is a table function or no name.

    Spark's order (4.2): name, time travel or CHANGES, WITH (…), TABLESAMPLE, alias.
    """
    name_end = _name_end(tokens, start)
    if name_end is None or tokens[name_end].is_symbol("("):
        return None
    options_at = _time_travel_end(tokens, name_end)
    end = options_at
    options_close = None
    if tokens[end].keyword == "WITH" and tokens[end + 1].is_symbol("("):
        end = group_end(tokens, end + 1)
        options_close = end - 1
    end = _sample_end(tokens, end)
    alias_start = end
    end = _alias_end(tokens, end)
    return Relation(
        name_end=name_end,
        options_at=options_at,
        options_close=options_close,
        alias_start=None if end == alias_start else alias_start,
        end=end,
    )


def read_insert_target(tokens: Sequence[Token], start: int) -> Relation | None:
    """Return the table that INSERT writes, whose name is at `start`.

    `end` lies behind all clauses that may precede the query: WITH (…), PARTITION (…), IF NOT
    EXISTS, BY NAME and the column list.
    """
    name_end = _name_end(tokens, start)
    if name_end is None:
        return None
    end = name_end
    options_close = None
    if tokens[end].keyword == "WITH" and tokens[end + 1].is_symbol("("):
        end = group_end(tokens, end + 1)
        options_close = end - 1
    if tokens[end].keyword == "PARTITION" and tokens[end + 1].is_symbol("("):
        end = group_end(tokens, end + 1)
    for words in (("IF", "NOT", "EXISTS"), ("BY", "NAME")):
        if _words(tokens, end, *words):
            end += len(words)
    return Relation(
        name_end=name_end,
        options_at=name_end,
        options_close=options_close,
        alias_start=None,
        end=_column_list_end(tokens, end),
    )


def _column_list_end(tokens: Sequence[Token], start: int) -> int:
    """Return the index behind `(a, b, …)`, or `start` if the parenthesis opens a query."""
    if not tokens[start].is_symbol("("):
        return start
    index = start + 1
    while _is_identifier(tokens[index]):
        index += 1
        if tokens[index].is_symbol(")"):
            return index + 1
        if not tokens[index].is_symbol(","):
            return start
        index += 1
    return start


def _is_identifier(token: Token) -> bool:
    """Whether it can be a name, also a double-quoted one, which a session may allow."""
    is_double_quoted = token.kind is TokenKind.STRING and token.text.startswith('"')
    return token.kind in (TokenKind.WORD, TokenKind.QUOTED) or is_double_quoted


def _name_end(tokens: Sequence[Token], start: int) -> int | None:
    index = start
    if tokens[index].keyword == "IDENTIFIER" and tokens[index + 1].is_symbol("("):
        index = group_end(tokens, index + 1)
    elif _is_identifier(tokens[index]):
        index += 1
    else:
        return None
    while tokens[index].is_symbol(".") and _is_identifier(tokens[index + 1]):
        index += 2
    return index


def _words(tokens: Sequence[Token], index: int, *words: str) -> bool:
    following = tokens[index : index + len(words)]
    return tuple(token.keyword for token in following) == words


def _time_travel_end(tokens: Sequence[Token], start: int) -> int:
    index = start + 1 if tokens[start].keyword == "FOR" else start
    for version in ("VERSION", "SYSTEM_VERSION"):
        if _words(tokens, index, version, "AS", "OF"):
            return min(index + 4, len(tokens) - 1)
    for timestamp in ("TIMESTAMP", "SYSTEM_TIME"):
        if _words(tokens, index, timestamp, "AS", "OF"):
            return value_expression_end(tokens, index + 3)
    if tokens[start].keyword == "CHANGES" and tokens[start + 1].keyword == "FROM":
        return _changes_end(tokens, start + 1)
    return start


def _changes_end(tokens: Sequence[Token], index: int) -> int:
    """Read `FROM VERSION|TIMESTAMP a [INCLUSIVE|EXCLUSIVE] [TO VERSION|TIMESTAMP b …]`."""
    while tokens[index].keyword in ("FROM", "TO"):
        is_version = tokens[index + 1].keyword == "VERSION"
        if not is_version and tokens[index + 1].keyword != "TIMESTAMP":
            return index
        index = index + 3 if is_version else value_expression_end(tokens, index + 2)
        if tokens[index].keyword in ("INCLUSIVE", "EXCLUSIVE"):
            index += 1
    return min(index, len(tokens) - 1)


def _sample_end(tokens: Sequence[Token], start: int) -> int:
    index = start
    for word in ("TABLESAMPLE", "REPEATABLE"):
        if tokens[index].keyword == word and tokens[index + 1].is_symbol("("):
            index = group_end(tokens, index + 1)
    return index


def _alias_end(tokens: Sequence[Token], start: int) -> int:
    index = start
    if tokens[index].keyword == "AS":
        index += 1
    elif tokens[index].keyword in _NO_ALIAS:
        return start
    if not _is_identifier(tokens[index]):
        return start
    index += 1
    if tokens[index].is_symbol("("):
        index = group_end(tokens, index)
    return index
