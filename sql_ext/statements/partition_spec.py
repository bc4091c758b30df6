"""`PARTITION (column = constant, …)`."""

from __future__ import annotations

from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.statements import PartitionTerm


def parse_partition(cursor: TokenCursor) -> tuple[PartitionTerm, ...]:
    """Read `(…)` behind the word PARTITION; a term may lack its constant."""
    cursor.expect_symbol("(")
    terms = [_parse_term(cursor)]
    while cursor.accept_symbol(","):
        terms.append(_parse_term(cursor))
    cursor.expect_symbol(")")
    return tuple(terms)


def _parse_term(cursor: TokenCursor) -> PartitionTerm:
    column = cursor.identifier("a partition column")
    if not (cursor.accept_symbol("=") or cursor.accept_symbol("==")):
        return PartitionTerm(column=column)
    start = cursor.peek().start
    cursor.skip_until(lambda c: c.at_symbol(",") or c.at_symbol(";"))
    sql = cursor.sql[start : cursor.previous_end()] if cursor.previous_end() > start else ""
    if not sql:
        raise cursor.error("a constant")
    return PartitionTerm(column=column, sql=sql)
