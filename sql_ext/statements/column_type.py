"""Reads a column's type, also Flink's VARCHAR without a length."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.sql_ext.lexer.token_cursor import TokenCursor

_DEPTH_MAX = 100
_NESTED = frozenset({"ARRAY", "MAP", "STRUCT"})
_INTERVAL_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_SUFFIXES = (
    ("WITH", "LOCAL", "TIME", "ZONE"),
    ("WITHOUT", "TIME", "ZONE"),
    ("PRECISION",),
)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type in Spark's spelling, and whether it was written in Flink's."""

    sql: str
    spelled_as_flink: bool


def parse_column_type(cursor: TokenCursor) -> ColumnType:
    """Read one data type.

    `VARCHAR` without a length, at any depth, becomes `STRING`: Spark refuses it, and Flink's users
    mean a string of any length by it. Everything else stays as written, and Spark checks it.
    """
    start = cursor.peek().start
    bare: list[tuple[int, int]] = []
    _skip_type(cursor, bare, 0)
    pieces = []
    position = start
    for bare_start, bare_end in bare:
        pieces.append(cursor.sql[position:bare_start] + "STRING")
        position = bare_end
    pieces.append(cursor.sql[position : cursor.previous_end()])
    return ColumnType("".join(pieces), bool(bare))


def _skip_type(cursor: TokenCursor, bare: list[tuple[int, int]], depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise cursor.error(f"types nested at most {_DEPTH_MAX} deep")
    if not cursor.at_identifier():
        raise cursor.error("a data type")
    word = cursor.advance()
    if word.keyword in _NESTED and cursor.at_symbol("<"):
        _skip_arguments(cursor, bare, depth, named=word.keyword == "STRUCT")
    elif word.keyword == "STRUCT" and cursor.at_symbol("<>"):
        cursor.advance()
    elif word.keyword == "INTERVAL":
        _skip_interval_range(cursor)
    elif cursor.at_symbol("("):
        cursor.group()
    elif word.keyword == "VARCHAR":
        bare.append((word.start, word.end))
    _skip_suffix(cursor)


def _skip_arguments(
    cursor: TokenCursor, bare: list[tuple[int, int]], depth: int, *, named: bool
) -> None:
    cursor.expect_symbol("<")
    while not cursor.at_symbol(">"):
        if named:
            cursor.identifier("a field name")
            cursor.accept_symbol(":")
        _skip_type(cursor, bare, depth + 1)
        if named:
            cursor.skip_until(lambda c: c.at_symbol(",") or c.at_symbol(">"))
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(">")


def _skip_interval_range(cursor: TokenCursor) -> None:
    if cursor.at_any_word(_INTERVAL_UNITS):
        cursor.advance()
        if cursor.accept_words("TO"):
            cursor.advance()


def _skip_suffix(cursor: TokenCursor) -> None:
    for suffix in _SUFFIXES:
        if cursor.accept_words(*suffix):
            return
    if cursor.accept_words("COLLATE"):
        cursor.name("a collation")
