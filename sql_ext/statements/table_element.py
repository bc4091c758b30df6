"""The elements between the parentheses of CREATE TABLE."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_store.catalog.names.identifier import quoted
from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.column_type import parse_column_type
from table_store.sql_ext.statements.statements import (
    ComputedColumn,
    PhysicalColumn,
    TableConstraint,
    TableElement,
    Watermark,
)

_TABLE_CONSTRAINTS = (
    ("PRIMARY", "KEY"),
    ("FOREIGN", "KEY"),
    ("UNIQUE", "("),
    ("CHECK", "("),
)


@dataclass(slots=True)
class TableElements:
    """The elements read so far; `is_ours` becomes true with the first that Spark refuses.

    `metadata` has what columns hold of a connector's records, by their names.
    """

    elements: list[TableElement] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    watermark: Watermark | None = None
    is_ours: bool = False


def parse_table_elements(cursor: TokenCursor, into: TableElements) -> None:
    """Read `(element, …)`.

    It fills `into` step by step, so that a caller who catches the error of a malformed list still
    knows whether the statement was ours.
    """
    cursor.expect_symbol("(")
    while True:
        _parse_element(cursor, into)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")


def _parse_element(cursor: TokenCursor, into: TableElements) -> None:
    if cursor.at_words("WATERMARK", "FOR"):
        _parse_watermark(cursor, into)
    elif _at_constraint(cursor):
        into.elements.append(TableConstraint(_definition(cursor)))
    else:
        _parse_column(cursor, into)


def _at_constraint(cursor: TokenCursor) -> bool:
    if cursor.at_words("CONSTRAINT") and cursor.at_identifier(1):
        after_name = cursor.peek(2).keyword
        return after_name in {words[0] for words in _TABLE_CONSTRAINTS}
    return any(
        cursor.at_words(first) and (cursor.at_words(second, ahead=1) or cursor.at_symbol(second, 1))
        for first, second in _TABLE_CONSTRAINTS
    )


def _parse_watermark(cursor: TokenCursor, into: TableElements) -> None:
    into.is_ours = True
    if into.watermark is not None:
        raise cursor.refusal("a table has one WATERMARK")
    cursor.expect_words("WATERMARK", "FOR")
    parts = cursor.name("a column name")
    cursor.expect_words("AS")
    column = parts[0] if len(parts) == 1 else ".".join(quoted(p) for p in parts)
    into.watermark = Watermark(column, _definition(cursor))


def _parse_column(cursor: TokenCursor, into: TableElements) -> None:
    start = cursor.peek().start
    name = cursor.identifier("a column name")
    if cursor.at_words("AS"):
        into.is_ours = True
        cursor.advance()
        expression = _definition(cursor, stop_at_comment=True)
        comment = cursor.string() if cursor.accept_words("COMMENT") else None
        into.elements.append(ComputedColumn(name=name, expression=expression, comment=comment))
        return
    between = cursor.sql[start : cursor.peek().start]
    column_type = parse_column_type(cursor)
    if cursor.accept_words("METADATA"):
        into.is_ours = True
        _parse_metadata(cursor, into, name)
    into.is_ours = into.is_ours or column_type.spelled_as_flink
    rest_start = cursor.previous_end()
    _skip_definition(cursor, stop_at_comment=False)
    rest = cursor.sql[rest_start : cursor.previous_end()]
    into.elements.append(
        PhysicalColumn(
            name=name, type_sql=column_type.sql, definition=between + column_type.sql + rest
        )
    )


def _parse_metadata(cursor: TokenCursor, into: TableElements, name: str) -> None:
    """Read `[FROM 'key'] [VIRTUAL]`; without key it is the column's name."""
    if name in into.metadata:
        raise cursor.refusal(f"column {name} is there twice")
    into.metadata[name] = cursor.string() if cursor.accept_words("FROM") else name
    cursor.accept_words("VIRTUAL")


def _definition(cursor: TokenCursor, *, stop_at_comment: bool = False) -> str:
    """Read to the comma or parenthesis that ends an element; return the text, never empty."""
    start = cursor.peek().start
    _skip_definition(cursor, stop_at_comment=stop_at_comment)
    text = cursor.sql[start : max(start, cursor.previous_end())]
    if not text:
        raise cursor.error("an expression")
    return text


def _skip_definition(cursor: TokenCursor, *, stop_at_comment: bool) -> None:
    def ends_element(c: TokenCursor) -> bool:
        if c.at_symbol(",") or c.at_symbol(";"):
            return True
        return stop_at_comment and _at_last_comment(c)

    while True:
        cursor.skip_until(lambda c: ends_element(c) or c.at_symbol("::"))
        if not cursor.accept_symbol("::"):
            return
        parse_column_type(cursor)  # because a cast to MAP<…, …> has a comma in it


def _at_last_comment(cursor: TokenCursor) -> bool:
    """Whether COMMENT and one string end the element, so that it is no column of that name."""
    if not (cursor.at_words("COMMENT") and cursor.at_string(1)):
        return False
    ahead = 1
    while cursor.at_string(ahead):
        ahead += 1
    after = cursor.peek(ahead)
    return after.kind is TokenKind.END or after.is_symbol(",") or after.is_symbol(")")
