"""Reads the statement fixtures: `-- title:`, the statement, `-- expected:`, what is expected."""

from __future__ import annotations

from dataclasses import dataclass

from tests.checkout import REPOSITORY

FIXTURES = REPOSITORY / "tests" / "fixtures" / "sql"
RULES = ("create_table", "option_hints", "commands", "syntax_errors")


@dataclass(frozen=True, slots=True)
class SqlCase:
    """One statement and the text that is expected of it."""

    title: str
    sql: str
    expected: str


def load_cases(rule: str) -> tuple[SqlCase, ...]:
    """The cases of one rule, in the order of its file."""
    text = (FIXTURES / f"{rule}.sql").read_text(encoding="utf-8")
    cases = []
    for part in text.split("\n-- title: ")[1:]:
        title, rest = part.split("\n", 1)
        sql, expected = rest.split("\n-- expected:\n")
        cases.append(SqlCase(title, sql, expected.removesuffix("\n")))
    return tuple(cases)


def load_plain_statements() -> tuple[str, ...]:
    """Statements that are Spark's alone."""
    text = (FIXTURES / "plain_spark.sql").read_text(encoding="utf-8")
    statements = text.split("\n", 2)[2]
    return tuple(statement.strip("\n") for statement in f"\n{statements}".split("\n;;\n"))


def load_our_statements() -> tuple[str, ...]:
    """The statements of all rules."""
    return tuple(case.sql for rule in RULES for case in load_cases(rule))
