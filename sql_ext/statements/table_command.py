"""Short statements about one table or catalog: COMPACT, DESCRIBE, DROP, USE CATALOG."""

from __future__ import annotations

from contextlib import suppress

from table_store.sql_ext.lexer.property_list import parse_properties
from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.partition_spec import parse_partition
from table_store.sql_ext.statements.statements import (
    Compact,
    CreateCatalog,
    DescribeExtended,
    DropCatalog,
    DropPrimaryKey,
    DropTemporaryTable,
    ShowCreateTable,
    UseCatalog,
)


def parse_compact(cursor: TokenCursor) -> Compact | None:
    """Read `ALTER TABLE name [PARTITION (…)] COMPACT`; None for every other ALTER."""
    if not cursor.accept_words("ALTER", "TABLE"):
        return None
    try:
        name = cursor.name()
        partition = parse_partition(cursor) if cursor.accept_words("PARTITION") else ()
    except StatementSyntaxError:
        return None
    if not cursor.at_words("COMPACT"):
        return None
    if any(term.sql is None for term in partition):
        raise cursor.refusal("every column of PARTITION needs a value")
    cursor.expect_words("COMPACT")
    cursor.expect_statement_end()
    return Compact(name, partition)


def parse_drop_key(cursor: TokenCursor) -> DropPrimaryKey | None:
    """Read `ALTER TABLE name DROP PRIMARY KEY`; None for every other ALTER."""
    mark = cursor.mark()
    if cursor.accept_words("ALTER", "TABLE"):
        with suppress(StatementSyntaxError):
            name = cursor.name()
            if cursor.accept_words("DROP", "PRIMARY", "KEY"):
                cursor.expect_statement_end()
                return DropPrimaryKey(name)
    cursor.reset(mark)
    return None


def parse_describe(cursor: TokenCursor) -> DescribeExtended | None:
    """Read DESCRIBE of a whole table with EXTENDED or FORMATTED; None for every other one.

    All other forms are Spark's: a column behind the name, AS JSON, a query, and a table that is
    itself called `extended`.
    """
    cursor.advance()
    cursor.accept_words("TABLE")
    if not (cursor.accept_words("EXTENDED") or cursor.accept_words("FORMATTED")):
        return None
    if not cursor.at_identifier() or (cursor.at_words("PARTITION") and cursor.at_symbol("(", 1)):
        return None
    try:
        name = cursor.name()
        partition = parse_partition(cursor) if cursor.accept_words("PARTITION") else ()
    except StatementSyntaxError:
        return None
    is_bound = all(term.sql is not None for term in partition)
    return DescribeExtended(name, partition) if is_bound and cursor.at_statement_end() else None


def parse_show_create(cursor: TokenCursor) -> ShowCreateTable | None:
    """Read `SHOW CREATE TABLE name`; None for every other SHOW, AS SERDE included."""
    if not cursor.accept_words("SHOW", "CREATE", "TABLE"):
        return None
    try:
        name = cursor.name()
    except StatementSyntaxError:
        return None
    return ShowCreateTable(name) if cursor.at_statement_end() else None


def parse_drop_temporary_table(cursor: TokenCursor) -> DropTemporaryTable | None:
    """Read `DROP TEMPORARY TABLE [IF EXISTS] name`; None for every other DROP."""
    cursor.expect_words("DROP")
    if not (cursor.accept_words("TEMPORARY", "TABLE") or cursor.accept_words("TEMP", "TABLE")):
        return None
    if_exists = cursor.accept_words("IF", "EXISTS")
    name = cursor.name()
    cursor.expect_statement_end()
    return DropTemporaryTable(name, if_exists)


def parse_drop_catalog(cursor: TokenCursor) -> DropCatalog | None:
    """Read `DROP CATALOG [IF EXISTS] name`; None for every other DROP."""
    if not cursor.accept_words("DROP", "CATALOG"):
        return None
    if_exists = cursor.accept_words("IF", "EXISTS")
    name = cursor.identifier("a catalog name")
    cursor.expect_statement_end()
    return DropCatalog(name, if_exists)


def parse_create_catalog(cursor: TokenCursor) -> CreateCatalog:
    """Read `CREATE CATALOG [IF NOT EXISTS] name [COMMENT '…'] [WITH (…)]`."""
    cursor.expect_words("CREATE", "CATALOG")
    if_not_exists = cursor.accept_words("IF", "NOT", "EXISTS")
    name = cursor.identifier("a catalog name")
    comment = cursor.string() if cursor.accept_words("COMMENT") else None
    options = parse_properties(cursor) if cursor.accept_words("WITH") else ()
    cursor.expect_statement_end()
    return CreateCatalog(name=name, if_not_exists=if_not_exists, comment=comment, options=options)


def parse_use_catalog(cursor: TokenCursor) -> UseCatalog | None:
    """Read `USE CATALOG name`; None for a namespace called `catalog`."""
    if not cursor.accept_words("USE", "CATALOG"):
        return None
    if cursor.at_statement_end() or cursor.peek().kind is TokenKind.SYMBOL:
        return None
    name = cursor.string() if cursor.at_string() else cursor.identifier("a catalog name")
    cursor.expect_statement_end()
    return UseCatalog(name)
