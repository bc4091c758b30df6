"""Reads SQL text into an expression; everything that is not known here is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_store.client.errors import InvalidExpressionError, UnsupportedExpressionError
from table_store.client.expressions.coercion import NotKnownError
from table_store.client.expressions.expression import Expression, depth_of
from table_store.client.expressions.sql_functions import FUNCTIONS
from table_store.client.expressions.sql_operators import OPERATORS
from table_store.client.expressions.sql_reader import Names, Read, Reader
from table_store.storage.kernel.valid_text import is_valid_text

NO_TEXT: Final = "it has a text that is not UTF-8, which no column holds"

_DEPTH_MAX: Final = 120
"""Of calls in each other: evaluation takes a few frames of Python's stack for each."""

_SHOWN_LENGTH: Final = 200
_READERS: Final[Mapping[type[exp.Expr], Read]] = {**OPERATORS, **FUNCTIONS}


def read_expression(sql: str, names: Names) -> Expression:
    """Return the expression that a text means; its type is None if it is NULL alone.

    Raises:
        InvalidExpressionError: the text is no expression, or names no column.
        UnsupportedExpressionError: it is one that is evaluated by Spark only.
    """
    if not is_valid_text(sql):
        raise InvalidExpressionError(expression=sql, reason=NO_TEXT)
    if "\\" in sql:
        raise UnsupportedExpressionError(sql=sql, reason="it has an escape sequence")
    try:
        tree = sqlglot.parse_one(sql, dialect="spark", into=exp.Condition)
        read = Reader(sql, names, _READERS).read(tree)
    except NotKnownError as error:
        raise UnsupportedExpressionError(sql=sql, reason=str(error)) from error
    except RecursionError as error:
        raise _nested_too_deeply(sql) from error
    except (SqlglotError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].replace("<class 'sqlglot.", "<").strip(" .")
        raise InvalidExpressionError(expression=sql, reason=reason) from error
    if depth_of(read) > _DEPTH_MAX:
        raise _nested_too_deeply(sql)
    return read


def _nested_too_deeply(sql: str) -> UnsupportedExpressionError:
    shown = sql if len(sql) <= _SHOWN_LENGTH else sql[:_SHOWN_LENGTH] + "…"
    return UnsupportedExpressionError(sql=shown, reason="it is nested too deeply")
