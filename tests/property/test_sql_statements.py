"""Goal: no text breaks the statement parser, and no value is lost or changed on its way.

Method: hypothesis makes texts of SQL's own pieces, which reach far deeper than random letters, and
statements around random names and strings.
"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.names.identifier import quoted
from table_store.sql_ext.lexer.property_list import parse_properties
from table_store.sql_ext.lexer.sql_token import tokenize
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.prefilter import is_maybe_ours
from table_store.sql_ext.statement_parser import parse_statement
from table_store.sql_ext.statements.create_table_sql import render_create_table
from table_store.sql_ext.statements.statements import CreateTable, Rewritten, SetOption
from tests.unit.sql_ext.sql_fixture import load_our_statements, load_plain_statements

HINT = "/*+ OPTIONS('k'='v') */"
SEEDS = (*load_our_statements(), *load_plain_statements())
WORDS = """
    CREATE TABLE WITH AS SELECT FROM JOIN WATERMARK FOR PRIMARY KEY NOT ENFORCED VARCHAR MAP STRUCT
    ARRAY COMMENT USING LIKE PARTITION PARTITIONED BY ALTER COMPACT SET RESET USE CATALOG DROP
    TEMPORARY IF EXISTS DESCRIBE EXTENDED INSERT INTO OVERWRITE VALUES NAME REPLACE WHERE MERGE
    UPDATE DELETE VERSION TIMESTAMP OF INTERVAL DAY OPTIONS EXPLAIN TABLESAMPLE LATERAL STREAM
    IDENTIFIER CHANGES TBLPROPERTIES DIRECTORY RECURSION a b.c é ſ
"""
SYMBOLS = "/*+ */ /* -- ( ) [ ] < > , . ; = :: ' \" ` \\ $$ $ : - + 1 1.5 'x' `y`"
PIECES = (HINT, "\n", *SYMBOLS.split(), *WORDS.split())
pieces = st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join)
glued = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
values = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = values.filter(bool)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement of the fixtures with some of its tokens left out, doubled or replaced."""
    sql = draw(st.sampled_from(SEEDS))
    tokens = [token.text for token in tokenize(sql)]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(tokens)))
        piece = draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.sampled_from(tokens)))
        width = draw(st.integers(0, 2))
        tokens[place : place + width] = [piece] if piece else []
        if not tokens:
            return ""
    return " ".join(tokens)


@given(st.one_of(st.text(), pieces, glued, mutated()))
@example("CREATE TABLE t (a " + "ARRAY<" * 5_000)
@example("SELECT * FROM " + "(" * 5_000 + "t " + HINT)
@example("EXPLAIN " * 5_000)
@example("CREATE TABLE IDENTIFIER('IDENTIFIER(''IDENTIFIER()'')') (a VARCHAR)")
def test_any_text_is_ours_or_sparks_or_a_syntax_error(sql: str) -> None:
    try:
        statement = parse_statement(sql)
    except StatementSyntaxError:
        assert is_maybe_ours(sql)
        return
    assert statement is None or is_maybe_ours(sql)
    if isinstance(statement, Rewritten):
        assert statement.sql != sql
    if isinstance(statement, CreateTable):
        render_create_table(statement, {c.name: "INT" for c in statement.computed_columns}, {})


@given(st.one_of(st.text(), glued))
def test_tokens_lie_in_order_and_hold_their_text(sql: str) -> None:
    position = 0
    for token in tokenize(sql):
        assert position <= token.start < token.end
        assert sql[token.start : token.end] == token.text
        position = token.end


@given(values)
def test_string_literals_survive(value: str) -> None:
    tokens = list(tokenize(f"SELECT {string_literal(value)} FROM t"))
    assert len(tokens) == 4
    assert TokenCursor(tokens[1].text).string() == value


@given(st.dictionaries(values, values, min_size=1, max_size=4), names, names, values)
def test_created_tables_keep_names_and_options(
    options: dict[str, str], table: str, column: str, comment: str
) -> None:
    pairs = ", ".join(f"{string_literal(k)} = {string_literal(v)}" for k, v in options.items())
    name = quoted(column)
    statement = parse_statement(
        f"CREATE TABLE {quoted(table)} ("
        f"{name} VARCHAR, x AS {name} COMMENT {string_literal(comment)}) WITH ({pairs})"
    )
    assert isinstance(statement, CreateTable)
    assert statement.name == (table,)
    assert statement.physical_columns[0].name == column
    assert statement.computed_columns[0].expression == name
    assert statement.computed_columns[0].comment == comment
    assert dict(statement.options) == options
    rendered = render_create_table(statement, {"x": "STRING"}, {})
    assert _properties_of(rendered) == options


def _properties_of(sql: str) -> dict[str, str]:
    cursor = TokenCursor(sql)
    while not cursor.accept_words("TBLPROPERTIES"):
        cursor.advance()
    return dict(parse_properties(cursor))


@given(values.filter(bool), values)
def test_settings_keep_key_and_value(key: str, value: str) -> None:
    sql = f"SET {string_literal(key)} = {string_literal(value)};"
    assert parse_statement(sql) == SetOption(key, value)


@given(names, values, values)
def test_hints_keep_every_other_byte(table: str, literal: str, comment: str) -> None:
    before = f"SELECT {string_literal(literal)} FROM {quoted(table)} "
    after = f" WHERE a = {string_literal(comment)}"
    statement = parse_statement(before + HINT + after)
    assert statement == Rewritten(before + "WITH ('k'='v')" + after)
