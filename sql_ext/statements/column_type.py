"""Reads a column's type, also Flink's VARCHAR without a length and TIMESTAMP_LTZ(3)."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.sql_ext.lexer.token_cursor import TokenCursor

_DEPTH_MAX = 100
_NESTED = frozenset({"ARRAY", "MAP", "STRUCT"})
_INTERVAL_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_PRECISIONS = frozenset("0123456")
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


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A part of the statement, and what Spark gets in its place."""

    start: int
    end: int
    text: str


def parse_column_type(cursor: TokenCursor) -> ColumnType:
    """Read one data type.

    `VARCHAR` without a length, at any depth, becomes `STRING`: Spark refuses it, and Flink's users
    mean a string of any length by it. `TIMESTAMP_LTZ(p)` loses a precision up to that of Spark, 6.
    Everything else stays as written, and Spark checks it.
    """
    start = cursor.peek().start
    flinks: list[_Replaced] = []
    _skip_type(cursor, flinks, 0)
    pieces = []
    position = start
    for found in flinks:
        pieces.append(cursor.sql[position : found.start] + found.text)
        position = found.end
    pieces.append(cursor.sql[position : cursor.previous_end()])
    return ColumnType("".join(pieces), bool(flinks))


def _skip_type(cursor: TokenCursor, flinks: list[_Replaced], depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise cursor.error(f"types nested at most {_DEPTH_MAX} deep")
    if not cursor.at_identifier():
        raise cursor.error("a data type")
    word = cursor.advance()
    if word.keyword in _NESTED and cursor.at_symbol("<"):
        _skip_arguments(cursor, flinks, depth, named=word.keyword == "STRUCT")
    elif word.keyword == "STRUCT" and cursor.at_symbol("<>"):
        cursor.advance()
    elif word.keyword == "INTERVAL":
        _skip_interval_range(cursor)
    elif cursor.at_symbol("("):
        start = cursor.peek().start
        cursor.group()
        precision = cursor.sql[start : cursor.previous_end()].strip("() ")
        if word.keyword == "TIMESTAMP_LTZ" and precision in _PRECISIONS:
            flinks.append(_Replaced(start, cursor.previous_end(), ""))
    elif word.keyword == "VARCHAR":
        flinks.append(_Replaced(word.start, word.end, "STRING"))
    _skip_suffix(cursor)


def _skip_arguments(
    cursor: TokenCursor, flinks: list[_Replaced], depth: int, *, named: bool
) -> None:
    cursor.expect_symbol("<")
    while not cursor.at_symbol(">"):
        if named:
            cursor.identifier("a field name")
            cursor.accept_symbol(":")
        _skip_type(cursor, flinks, depth + 1)
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
