"""The heads of INSERT statements: into what, which columns, and where a column list can go."""

from __future__ import annotations

from collections.abc import Sequence

from table_store.sql_ext.lexer.sql_literal import identifier_literal
from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.partition_spec import parse_partition
from table_store.sql_ext.statements.statements import Insert, InsertTarget

_BEHIND_NAME = frozenset(
    {"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE", "PARTITION", "BY", "REPLACE"}
    | {"AS", "IF"}
)
_REPLACE_KINDS = ("WHERE", "ON", "USING")
_NOT_BEFORE_INSERT = frozenset({"FROM", "JOIN", "AS", "LATERAL", "STREAM"})


def parse_insert(cursor: TokenCursor) -> Insert | None:
    """Read the heads of an INSERT that starts with INSERT, WITH or FROM; None if it has none.

    An INSERT that starts with its head is read no further than the head.
    """
    if cursor.at_words("WITH"):
        _skip_common_tables(cursor)
    if cursor.at_words("INSERT"):
        target = _parse_head(cursor)
        return None if target is None else Insert(cursor.sql, (target,))
    if cursor.at_words("FROM"):
        targets = _parse_later_heads(cursor)
        return Insert(cursor.sql, targets) if targets else None
    return None


def with_column_list(insert: Insert, columns: Sequence[str]) -> str:
    """The INSERT with `columns` listed behind its only target.

    Raises:
        ValueError: there are several targets, or the head takes no column list.
    """
    if len(insert.targets) != 1:
        raise ValueError("an INSERT with several targets needs with_column_lists")
    return with_column_lists(insert, [columns])


def with_column_lists(insert: Insert, columns: Sequence[Sequence[str] | None]) -> str:
    """The INSERT with one column list per target, in the order of `targets`; None adds none.

    Raises:
        ValueError: a target is given a list that its head does not take.
    """
    sql = insert.sql
    for target, names in reversed(list(zip(insert.targets, columns, strict=True))):
        if names is None:
            continue
        at = target.column_list_at
        if at is None:
            raise ValueError(f"INSERT INTO {'.'.join(target.name)} takes no column list")
        listed = ", ".join(identifier_literal(name) for name in names)
        sql = f"{sql[:at]} ({listed}){sql[at:]}"
    return sql


def _skip_common_tables(cursor: TokenCursor) -> None:
    """Read `WITH name [(…)] AS (…), …` up to the statement behind it."""
    cursor.advance()
    while cursor.peek().kind is not TokenKind.END:
        if not cursor.at_symbol("("):
            cursor.advance()
            continue
        try:
            cursor.group()
        except StatementSyntaxError:
            return
        if not (
            cursor.at_words("AS")
            or cursor.at_words("MAX", "RECURSION")
            or cursor.at_symbol("(")
            or cursor.at_symbol(",")
        ):
            return


def _parse_later_heads(cursor: TokenCursor) -> tuple[InsertTarget, ...]:
    """The heads of `FROM … INSERT INTO a … INSERT INTO b …`."""
    targets = []
    before = ""
    while cursor.peek().kind is not TokenKind.END:
        if cursor.at_symbol("("):
            try:
                cursor.group()
            except StatementSyntaxError:
                break
            before = ")"
            continue
        at_head = cursor.at_words("INSERT") and (
            cursor.at_words("INTO", ahead=1) or cursor.at_words("OVERWRITE", ahead=1)
        )
        if at_head and before not in _NOT_BEFORE_INSERT and before not in (",", "."):
            target = _parse_head(cursor)
            if target is not None:
                targets.append(target)
            before = ""
            continue
        token = cursor.advance()
        before = token.keyword or token.text
    return tuple(targets)


def _parse_head(cursor: TokenCursor) -> InsertTarget | None:
    """Read `INSERT … target …` up to its query; None if it is no INSERT into a table."""
    cursor.expect_words("INSERT")
    cursor.accept_words("WITH", "SCHEMA", "EVOLUTION")
    overwrites = cursor.accept_words("OVERWRITE")
    if not overwrites and not cursor.accept_words("INTO"):
        return None
    if _at_directory(cursor):
        return None
    if cursor.at_words("TABLE"):
        if not _is_name_after_table(cursor):
            return None
        cursor.advance()
    try:
        return _parse_target(cursor, overwrites)
    except StatementSyntaxError:
        return None


def _at_directory(cursor: TokenCursor) -> bool:
    ahead = 1 if cursor.at_words("LOCAL", "DIRECTORY") else 0
    return cursor.at_words("DIRECTORY", ahead=ahead) and (
        cursor.at_string(ahead + 1) or cursor.at_words("USING", ahead=ahead + 1)
    )


def _is_name_after_table(cursor: TokenCursor) -> bool:
    """Whether TABLE is surely the keyword.

    Before a word that can follow the name, or without a name behind it, it may be the name itself.
    Such a table has to do without a column list of ours.
    """
    following = cursor.peek(1)
    return cursor.at_identifier(1) and following.keyword not in _BEHIND_NAME


def _parse_target(cursor: TokenCursor, overwrites: bool) -> InsertTarget:
    name = cursor.name()
    if cursor.at_words("WITH") and cursor.at_symbol("(", 1):
        cursor.advance()
        cursor.group()
    replaces = _replace_kind(cursor)
    if replaces is not None:
        return InsertTarget(name=name, overwrites=True, replaces=replaces)
    partition = parse_partition(cursor) if cursor.accept_words("PARTITION") else ()
    cursor.accept_words("IF", "NOT", "EXISTS")
    by_name = cursor.accept_words("BY", "NAME")
    if by_name:
        replaces = _replace_kind(cursor)
    list_at = cursor.previous_end()
    columns = None if by_name else _accept_column_list(cursor)
    takes_list = columns is None and not by_name
    return InsertTarget(
        name=name,
        overwrites=overwrites or replaces is not None,
        columns=columns,
        by_name=by_name,
        replaces=replaces,
        partition=partition,
        column_list_at=list_at if takes_list else None,
    )


def _replace_kind(cursor: TokenCursor) -> str | None:
    """WHERE, ON or USING if `[[AS] alias] REPLACE kind` comes next; reads nothing."""
    for ahead in (0, 1, 2):
        for kind in _REPLACE_KINDS:
            if cursor.at_words("REPLACE", kind, ahead=ahead):
                return kind
        is_alias = cursor.at_identifier(ahead) and (ahead == 0 or cursor.at_words("AS"))
        if not is_alias:
            return None
    return None


def _accept_column_list(cursor: TokenCursor) -> tuple[str, ...] | None:
    """Read `(a, b, …)`; None, reading nothing, if the parenthesis opens a query."""
    if not cursor.at_symbol("("):
        return None
    mark = cursor.mark()
    cursor.advance()
    columns = []
    while cursor.at_identifier():
        columns.append(cursor.identifier())
        if not cursor.accept_symbol(","):
            break
    if columns and cursor.accept_symbol(")"):
        return tuple(columns)
    cursor.reset(mark)
    return None
