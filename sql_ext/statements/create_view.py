"""Reads a CREATE MATERIALIZED VIEW that has something which Spark's parser refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_store.catalog.planner.protocol.view_clauses import ViewClauses, ViewColumn, ViewMode
from table_store.sql_ext.lexer.property_list import Properties, parse_properties
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.column_type import parse_column_type
from table_store.sql_ext.statements.upkeep_clause import (
    at_schedule,
    parse_policy,
    parse_schedule,
)
from table_store.sql_ext.statements.view_statements import DefineMaterializedView
from table_store.storage.file_store.model.upkeep import RefreshPolicy, Schedule


@dataclass(slots=True)
class _View:
    """What was read so far; `is_ours` becomes true with the first that Spark refuses."""

    mode: ViewMode = ViewMode.CREATE
    if_not_exists: bool = False
    columns: list[ViewColumn] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    constraint_name: str | None = None
    options: Properties | None = None
    properties: Properties | None = None
    kept: dict[str, str] = field(default_factory=dict)
    policy: RefreshPolicy | None = None
    schedule: Schedule | None = None
    is_ours: bool = False


def parse_create_view(cursor: TokenCursor) -> DefineMaterializedView | None:
    """Read a CREATE MATERIALIZED VIEW; None if all of it is Spark's, or it is another CREATE.

    It is ours if it has OR REPLACE, OR REFRESH, a column without type, PRIMARY KEY, WITH (…),
    REFRESH POLICY, SCHEDULE or TRIGGER. A mistake in front of all of these is reported by Spark.

    Raises:
        StatementSyntaxError: the statement is ours and malformed.
    """
    view, begin = _View(), cursor.mark()
    found = None
    if _accept_header(cursor, view):
        try:
            found = _parse_body(cursor, view)
        except StatementSyntaxError:
            if view.is_ours:
                raise
    if found is None:
        cursor.reset(begin)
    return found


def _accept_header(cursor: TokenCursor, into: _View) -> bool:
    cursor.expect_words("CREATE")
    if cursor.accept_words("OR", "REPLACE"):
        into.mode = ViewMode.REPLACE
    elif cursor.accept_words("OR", "REFRESH"):
        into.mode = ViewMode.REFRESH
    if not cursor.accept_words("MATERIALIZED", "VIEW"):
        return False
    into.is_ours = into.mode is not ViewMode.CREATE
    return True


def _parse_body(cursor: TokenCursor, view: _View) -> DefineMaterializedView | None:
    if cursor.at_words("IF", "NOT", "EXISTS"):
        if view.is_ours:
            raise cursor.refusal(f"OR {view.mode.name} and IF NOT EXISTS exclude each other")
        cursor.expect_words("IF", "NOT", "EXISTS")
        view.if_not_exists = True
    name = cursor.name("a name of a view")
    if cursor.at_symbol("("):
        _parse_columns(cursor, view)
    while not cursor.at_words("AS"):
        _parse_clause(cursor, view)
    cursor.expect_words("AS")
    if cursor.at_statement_end():
        raise cursor.error("a query")
    query = cursor.rest_of_statement()
    if not view.is_ours:
        return None
    return DefineMaterializedView(
        name=name,
        clauses=ViewClauses(
            mode=view.mode,
            columns=tuple(view.columns),
            primary_key=view.primary_key,
            constraint_name=view.constraint_name,
            policy=view.policy or RefreshPolicy.AUTO,
            schedule=view.schedule,
        ),
        if_not_exists=view.if_not_exists,
        typed_columns=tuple(view.typed),
        properties=(*(view.options or ()), *(view.properties or ())),
        kept=tuple(view.kept.values()),
        query=query,
    )


# -- columns ---------------------------------------------------------------------------------------


def _parse_columns(cursor: TokenCursor, view: _View) -> None:
    cursor.expect_symbol("(")
    while True:
        if cursor.at_words("PRIMARY", "KEY") or cursor.at_words("CONSTRAINT"):
            _parse_key(cursor, view)
        else:
            _parse_column(cursor, view)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")


def _parse_column(cursor: TokenCursor, view: _View) -> None:
    start = cursor.mark()
    text_start = cursor.peek().start
    name = cursor.identifier("a column name")
    has_type = not (
        cursor.at_symbol(",")
        or cursor.at_symbol(")")
        or (cursor.at_words("COMMENT") and cursor.at_string(1))
    )
    view.is_ours = view.is_ours or not has_type
    if view.columns if has_type else view.typed:
        cursor.reset(start)
        raise cursor.refusal("give a type to each column, or to none")
    if has_type:
        parse_column_type(cursor)
        cursor.accept_words("NOT", "NULL")  # only the key's columns are, and those always
    comment = cursor.string() if cursor.accept_words("COMMENT") else None
    if not (cursor.at_symbol(",") or cursor.at_symbol(")")):
        raise cursor.error("COMMENT, ',' or ')'")
    if has_type:
        view.typed.append(cursor.sql[text_start : cursor.previous_end()])
    else:
        view.columns.append(ViewColumn(name=name, comment=comment))


def _parse_key(cursor: TokenCursor, view: _View) -> None:
    view.is_ours = True
    if view.primary_key:
        raise cursor.refusal("a view has one PRIMARY KEY")
    if cursor.accept_words("CONSTRAINT"):
        view.constraint_name = cursor.identifier("a name of the constraint")
    cursor.expect_words("PRIMARY", "KEY")
    cursor.expect_symbol("(")
    names = [cursor.identifier("a column name")]
    while cursor.accept_symbol(","):
        names.append(cursor.identifier("a column name"))
    cursor.expect_symbol(")")
    view.primary_key = tuple(names)
    cursor.accept_words("NOT", "ENFORCED")


# -- clauses ---------------------------------------------------------------------------------------


def _parse_clause(cursor: TokenCursor, view: _View) -> None:
    if cursor.at_words("WITH") and cursor.at_symbol("(", 1):
        view.is_ours = True
        _refuse_second(cursor, "WITH (…)", view.options is not None)
        cursor.expect_words("WITH")
        view.options = _parse_pairs(cursor, view.properties)
    elif cursor.at_words("TBLPROPERTIES"):
        _refuse_second(cursor, "TBLPROPERTIES (…)", view.properties is not None)
        cursor.expect_words("TBLPROPERTIES")
        view.properties = _parse_pairs(cursor, view.options)
    elif cursor.at_words("REFRESH", "POLICY"):
        view.is_ours = True
        _refuse_second(cursor, "REFRESH POLICY", view.policy is not None)
        cursor.expect_words("REFRESH", "POLICY")
        view.policy = parse_policy(cursor)
    elif at_schedule(cursor):
        view.is_ours = True
        _refuse_second(cursor, "SCHEDULE or TRIGGER", view.schedule is not None)
        view.schedule = parse_schedule(cursor)
    else:
        _parse_kept(cursor, view)


def _parse_kept(cursor: TokenCursor, view: _View) -> None:
    """Read a clause that stays as it is."""
    start, word = cursor.peek().start, cursor.peek().keyword
    if word in ("COMMENT", "PARTITIONED"):
        _refuse_second(cursor, word, word in view.kept)
    if cursor.accept_words("COMMENT"):
        cursor.string()
    elif cursor.accept_words("PARTITIONED", "BY"):
        cursor.group()
    else:
        raise cursor.error(
            "WITH, PARTITIONED BY, COMMENT, TBLPROPERTIES, REFRESH POLICY, SCHEDULE, TRIGGER or AS"
        )
    view.kept[word] = cursor.sql[start : cursor.previous_end()]


def _parse_pairs(cursor: TokenCursor, others: Properties | None) -> Properties:
    mark = cursor.mark()
    found = parse_properties(cursor)
    shared = dict(found).keys() & dict(others or ()).keys()
    if shared:
        cursor.reset(mark)
        raise cursor.refusal(f"'{min(shared)}' is set by WITH and by TBLPROPERTIES")
    return found


def _refuse_second(cursor: TokenCursor, clause: str, is_second: bool) -> None:
    if is_second:
        raise cursor.refusal(f"a view has one {clause}")
