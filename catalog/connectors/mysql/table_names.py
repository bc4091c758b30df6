"""Which tables of a database server are meant: one, or all of a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from table_store.storage.kernel.errors import InvalidOptionError

_OF_PATTERNS: Final = frozenset(".*+?()[]{}|^\\")
"""`$` and `-` stand in plain names."""

_OF_SERVER: Final = ("information_schema", "mysql", "performance_schema", "sys")


@dataclass(frozen=True, slots=True)
class Matching:
    """The names that a text means; only `in` can be asked."""

    text: str

    def __contains__(self, name: object) -> bool:
        """Whether a name is one of them."""
        return isinstance(name, str) and bool(_pattern(self.text, is_exact=True).fullmatch(name))


@dataclass(frozen=True, slots=True)
class TableNames:
    """The tables whose names, and whose databases' names, are these or match these.

    A name with a character of regular expressions is one, which matches a whole name, as in Flink
    CDC's connector.

    Attributes:
        database: of databases.
        table: of tables.
    """

    database: str
    table: str

    def __post_init__(self) -> None:
        """Check the patterns.

        Raises:
            re.error: one is no regular expression.
        """
        for text in (self.database, self.table):
            _pattern(text, is_exact=True)

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def is_one(self) -> bool:
        """Whether both are plain names."""
        return not _OF_PATTERNS & {*self.database, *self.table}

    def has(self, database: str, table: str) -> bool:
        """Return whether a table is one of them."""
        return self._matches(database, table, is_exact=True)

    def may_have(self, database: str, table: str) -> bool:
        """Return whether a table may be one, on servers where upper case is lower case."""
        return self._matches(database, table, is_exact=False)

    def may_have_of(self, database: str) -> bool:
        """Return whether a database may have some of them."""
        return _pattern(self.database, is_exact=False).fullmatch(database) is not None

    def _matches(self, database: str, table: str, *, is_exact: bool) -> bool:
        if database.lower() in _OF_SERVER and self.database != database:
            return False
        of, named = (_pattern(text, is_exact=is_exact) for text in (self.database, self.table))
        return of.fullmatch(database) is not None and named.fullmatch(table) is not None


def only(name: str) -> str:
    """Return the option's text that means the table, or database, of a name alone."""
    return re.escape(name) if _OF_PATTERNS & {*name} else name


@contextmanager
def refused_pattern(key: str, text: str) -> Iterator[None]:
    """Let the option or argument `key` with a text be wrong if it is no regular expression.

    Raises:
        InvalidOptionError: it is none.
    """
    try:
        yield
    except re.error as error:
        reason = f"it is no regular expression: {error}"
        raise InvalidOptionError(key=key, value=text, reason=reason) from error


@lru_cache(maxsize=1_000)
def _pattern(text: str, *, is_exact: bool) -> re.Pattern[str]:
    is_plain = not _OF_PATTERNS & {*text}
    return re.compile(re.escape(text) if is_plain else text, 0 if is_exact else re.IGNORECASE)
