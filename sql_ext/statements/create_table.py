"""Reads a CREATE TABLE that has something which Spark's parser refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_store.sql_ext.lexer.property_list import Properties, parse_properties
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.statements import CreateTable
from table_store.sql_ext.statements.table_element import TableElements, parse_table_elements

_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"})
_AFTER_COLUMNS = frozenset(
    {"AS", "COMMENT", "DEFAULT", "LOCATION", "OPTIONS", "PARTITIONED", "TBLPROPERTIES", "USING"}
    | {"CLUSTERED", "WITH"}
)
_TEMPORARY = frozenset({"TEMPORARY", "TEMP"})


@dataclass(slots=True)
class _Clauses:
    """The clauses behind the column list; `kept` are Spark's own, as written."""

    options: Properties | None = None
    properties: Properties | None = None
    kept: list[str] = field(default_factory=list)
    has_provider: bool = False
    is_ours: bool = False
    query: str | None = None


@dataclass(slots=True)
class _Header:
    or_replace: bool = False
    replace_only: bool = False
    temporary: bool = False
    if_not_exists: bool = False


def parse_create_table(cursor: TokenCursor) -> CreateTable | None:
    """Read a CREATE TABLE; None if all of it is Spark's.

    It is ours if it has WITH (…), a computed column, WATERMARK, VARCHAR without a length, or
    TEMPORARY without USING. A mistake in front of all of these is reported by Spark.

    Raises:
        StatementSyntaxError: the statement is ours and malformed.
    """
    header = _parse_header(cursor)
    if header is None:
        return None
    header_end = cursor.mark()
    elements, clauses = TableElements(), _Clauses()
    try:
        statement = _parse_body(cursor, header, elements, clauses)
    except StatementSyntaxError:
        if elements.is_ours or clauses.is_ours:
            raise
        return None
    is_ours = elements.is_ours or clauses.is_ours or header.temporary
    if not is_ours or clauses.has_provider:
        return None
    if header.or_replace and header.if_not_exists:
        cursor.reset(header_end)
        raise cursor.refusal("OR REPLACE and IF NOT EXISTS exclude each other")
    return statement


def _parse_header(cursor: TokenCursor) -> _Header | None:
    header = _Header()
    if cursor.accept_words("REPLACE"):
        header.replace_only = True
    else:
        cursor.expect_words("CREATE")
        header.or_replace = cursor.accept_words("OR", "REPLACE")
    if cursor.at_any_word(_TEMPORARY):
        cursor.advance()
        header.temporary = True
    if not cursor.accept_words("TABLE") or (header.replace_only and header.temporary):
        return None
    header.if_not_exists = cursor.accept_words("IF", "NOT", "EXISTS")
    return header


def _parse_body(
    cursor: TokenCursor, header: _Header, elements: TableElements, clauses: _Clauses
) -> CreateTable:
    name = cursor.name()
    like = None
    if cursor.accept_words("LIKE"):
        like = cursor.name()
    elif cursor.at_symbol("("):
        if _opens_query(cursor):
            clauses.query = cursor.rest_of_statement()
        else:
            parse_table_elements(cursor, elements)
    _parse_clauses(cursor, clauses, has_query=like is None)
    cursor.expect_statement_end()
    return CreateTable(
        name=name,
        or_replace=header.or_replace,
        replace_only=header.replace_only,
        temporary=header.temporary,
        if_not_exists=header.if_not_exists,
        elements=tuple(elements.elements),
        watermark=elements.watermark,
        metadata=tuple(elements.metadata.items()),
        options=clauses.options or (),
        properties=clauses.properties or (),
        clauses=tuple(clauses.kept),
        like=like,
        query=clauses.query,
    )


def _opens_query(cursor: TokenCursor) -> bool:
    """Whether the parenthesis holds the query, and not columns named `select` or `from`."""
    if not (cursor.peek(1).keyword in _QUERY_WORDS or cursor.at_symbol("(", 1)):
        return False
    mark = cursor.mark()
    cursor.group()
    is_before_clause = cursor.at_any_word(_AFTER_COLUMNS)
    cursor.reset(mark)
    return not is_before_clause


def _parse_clauses(cursor: TokenCursor, into: _Clauses, *, has_query: bool) -> None:
    while not cursor.at_statement_end():
        if cursor.at_words("WITH") and cursor.at_symbol("(", 1):
            _parse_options(cursor, into)
        elif cursor.at_words("TBLPROPERTIES"):
            _parse_properties(cursor, into)
        elif cursor.at_words("USING") and not into.has_provider:
            _parse_provider(cursor, into)
        elif has_query and _accept_query(cursor, into):
            return
        else:
            into.kept.append(_parse_kept_clause(cursor))


def _parse_options(cursor: TokenCursor, into: _Clauses) -> None:
    into.is_ours = True
    if into.has_provider:
        raise cursor.refusal("options of a table with USING go into OPTIONS (…)")
    if into.options is not None:
        raise cursor.refusal("a table has one WITH (…)")
    mark = cursor.mark()
    cursor.expect_words("WITH")
    into.options = parse_properties(cursor)
    _refuse_shared_keys(cursor, into, mark)


def _parse_properties(cursor: TokenCursor, into: _Clauses) -> None:
    if into.properties is not None:
        raise cursor.refusal("a table has one TBLPROPERTIES (…)")
    mark = cursor.mark()
    cursor.expect_words("TBLPROPERTIES")
    into.properties = parse_properties(cursor)
    _refuse_shared_keys(cursor, into, mark)


def _refuse_shared_keys(cursor: TokenCursor, clauses: _Clauses, clause: int) -> None:
    shared = dict(clauses.options or ()).keys() & dict(clauses.properties or ()).keys()
    if shared:
        cursor.reset(clause)
        raise cursor.refusal(f"'{min(shared)}' is set by WITH and by TBLPROPERTIES")


def _parse_provider(cursor: TokenCursor, into: _Clauses) -> None:
    if into.options is not None:
        raise cursor.refusal("a table with USING takes OPTIONS (…) instead of WITH (…)")
    cursor.expect_words("USING")
    cursor.name("a data source")
    into.has_provider = True


def _accept_query(cursor: TokenCursor, into: _Clauses) -> bool:
    if cursor.accept_words("AS"):
        if cursor.at_statement_end():
            raise cursor.error("a query")
    elif not (cursor.at_any_word(_QUERY_WORDS) or cursor.at_symbol("(")):
        return False
    into.query = cursor.rest_of_statement()
    return True


def _parse_kept_clause(cursor: TokenCursor) -> str:
    """Read one clause that Spark understands; return its text."""
    start = cursor.peek().start
    if cursor.accept_words("COMMENT") or cursor.accept_words("LOCATION"):
        cursor.string()
    elif cursor.accept_words("PARTITIONED", "BY") or cursor.accept_words("OPTIONS"):
        cursor.group()
    elif cursor.accept_words("CLUSTER", "BY"):
        if not cursor.accept_words("AUTO"):
            cursor.group()
    elif cursor.accept_words("CLUSTERED", "BY"):
        cursor.group()
        if cursor.accept_words("SORTED", "BY"):
            cursor.group()
        cursor.expect_words("INTO")
        cursor.advance()
        cursor.expect_words("BUCKETS")
    elif cursor.accept_words("DEFAULT", "COLLATION"):
        cursor.name("a collation")
    else:
        raise cursor.error("WITH, PARTITIONED BY, COMMENT, TBLPROPERTIES or AS")
    return cursor.sql[start : cursor.previous_end()]
