"""Statements about jobs: SHOW JOBS, DESCRIBE JOB, STOP JOB, EXECUTE STATEMENT SET."""

from __future__ import annotations

from table_store.sql_ext.lexer.sql_token import TokenKind
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.statements import (
    DescribeJob,
    ExecuteStatementSet,
    RefreshJob,
    ShowJobs,
    StopJob,
)


def parse_show_jobs(cursor: TokenCursor) -> ShowJobs | None:
    """Read `SHOW JOBS`; None for every other SHOW."""
    if not cursor.accept_words("SHOW", "JOBS"):
        return None
    cursor.expect_statement_end()
    return ShowJobs()


def parse_describe_job(cursor: TokenCursor) -> DescribeJob | None:
    """Read `DESC[RIBE] JOB 'id'`; None for every other DESCRIBE: a table may be called job."""
    if not _accept_job_of(cursor, "DESCRIBE", "DESC"):
        return None
    job = cursor.string()
    cursor.expect_statement_end()
    return DescribeJob(job)


def parse_stop_job(cursor: TokenCursor) -> StopJob | None:
    """Read `STOP JOB 'id' [WITH DRAIN]`."""
    if not cursor.accept_words("STOP", "JOB"):
        return None
    job = cursor.string()
    drains = cursor.accept_words("WITH", "DRAIN")
    cursor.expect_statement_end()
    return StopJob(job, drains)


def parse_refresh_job(cursor: TokenCursor) -> RefreshJob | None:
    """Read `REFRESH JOB 'id' FULL`; None for every other REFRESH: it takes any text."""
    if not _accept_job_of(cursor, "REFRESH"):
        return None
    job = cursor.string()
    cursor.expect_words("FULL")
    cursor.expect_statement_end()
    return RefreshJob(job)


def parse_statement_set(cursor: TokenCursor) -> ExecuteStatementSet | None:
    """Read `EXECUTE STATEMENT SET BEGIN INSERT …; …; END`; None for every other EXECUTE.

    `spark-sql` splits what is typed at each semicolon. So the text may also end behind the first
    INSERT; the others then come as statements of their own, and `END` alone.
    """
    if not cursor.accept_words("EXECUTE", "STATEMENT", "SET"):
        return None
    cursor.expect_words("BEGIN")
    inserts = [_insert(cursor)]
    if cursor.at_statement_end():
        return ExecuteStatementSet(tuple(inserts))
    cursor.advance()
    while not cursor.accept_words("END"):
        inserts.append(_insert(cursor))
        cursor.expect_symbol(";")
    cursor.expect_statement_end()
    return ExecuteStatementSet(tuple(inserts))


def parse_end(cursor: TokenCursor) -> ExecuteStatementSet | None:
    """Read `END` alone, which ends a statement set that `spark-sql` has split."""
    if not cursor.accept_words("END") or not cursor.at_statement_end():
        return None
    return ExecuteStatementSet(())


def _insert(cursor: TokenCursor) -> str:
    if not cursor.at_words("INSERT"):
        raise cursor.error("INSERT")
    start = cursor.peek().start
    while not cursor.at_symbol(";") and cursor.peek().kind is not TokenKind.END:
        cursor.advance()
    return cursor.sql[start : cursor.previous_end()]


def _accept_job_of(cursor: TokenCursor, *verbs: str) -> bool:
    mark = cursor.mark()
    if any(cursor.accept_words(verb, "JOB") for verb in verbs) and cursor.at_string():
        return True
    cursor.reset(mark)
    return False
