"""The text of a stored query, as sqlglot parses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from table_store.catalog.meta_service.query_scope import UnreadableQueryError
from table_store.storage.file_store.model.stored_query import StoredQuery

_DIALECT: Final = "spark"
_WITH_UNIT: Final = (
    *(exp.Interval, exp.IntervalSpan, exp.Extract),
    *(exp.TimestampAdd, exp.TimestampDiff, exp.DateAdd, exp.DateDiff),
)
"""What Spark takes a unit from in the text itself."""

_DOUBLE_QUOTED_NAMES: Final = "spark.sql.ansi.doubleQuotedIdentifiers"


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query, an INSERT or an expression.

    Attributes:
        tree: what sqlglot has made of it.
        lost: words of the text that are no names in the tree, in lower case. In the place of a unit
            sqlglot takes every word as one, also the name of a column.
    """

    tree: exp.Expr
    lost: Set[str]


def parsed_query(query: StoredQuery) -> ParsedQuery:
    """Return a query or an INSERT.

    Raises:
        UnreadableQueryError: sqlglot does not parse it, or reads something else in it than Spark.
    """
    if query.settings.get(_DOUBLE_QUOTED_NAMES) == "true" and '"' in query.text:
        raise UnreadableQueryError('"x" is a name and no text')
    return parsed_text(query.text)


def parsed_text(text: str) -> ParsedQuery:
    """Return a query, an INSERT or an expression; fails as `parsed_query`."""
    try:
        plain = _without_options(text, sqlglot.tokenize(text, dialect=_DIALECT))
        tree = sqlglot.parse_one(plain, dialect=_DIALECT)
        words = Counter(_words(sqlglot.tokenize(plain, dialect=_DIALECT)))
    except SqlglotError as error:
        raise UnreadableQueryError(str(error)) from error
    names = Counter(name.name.lower() for name in tree.find_all(exp.Identifier))
    variables = list(tree.find_all(exp.Var))
    units = [one.name.lower() for one in variables if isinstance(one.parent, _WITH_UNIT)]
    others = {one.name.lower() for one in variables if not isinstance(one.parent, _WITH_UNIT)}
    return ParsedQuery(tree, others.union(words - names - Counter(units)))


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    """The words of a text that may be names, without those of functions."""
    for token, following in zip(tokens, (*tokens[1:], None), strict=True):
        is_called = following is not None and following.token_type is TokenType.L_PAREN
        if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and not is_called:
            yield token.text.lower()


def _without_options(text: str, tokens: Sequence[Token]) -> str:
    """A text without ``WITH ('key' = 'value')`` behind tables, which sqlglot does not know."""
    kept, begin, at = [], 0, 0
    while at < len(tokens):
        kinds = [token.token_type for token in tokens[at : at + 3]]
        if kinds == [TokenType.WITH, TokenType.L_PAREN, TokenType.STRING]:
            kept.append(text[begin : tokens[at].start])
            while at < len(tokens) - 1 and tokens[at].token_type is not TokenType.R_PAREN:
                at += 1
            begin = tokens[at].end + 1
        at += 1
    return "".join((*kept, text[begin:]))
