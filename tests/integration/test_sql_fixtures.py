"""Goal: Spark's own parser agrees with the statement fixtures.

What we render it takes, what we call ours it refuses, what we leave to it it takes; literals and
tokens mean to it what they mean to us. Only the parser runs, without a session.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from table_store.catalog.definition.sql_literal import string_literal
from table_store.sql_ext.lexer.sql_token import TokenKind, tokenize
from tests.integration.plain_jvm import plain_jvm
from tests.unit.sql_ext.sql_fixture import load_cases, load_plain_statements

pytestmark = pytest.mark.spark

AWKWARD = [
    "'",
    "\\",
    "\\'",
    "\n\r\t\0" + "12",
    "😀",
    "${x}",
    "\\%_",
    "--",
    "/*+ */",
    '`"',
    "\u0085",
]
PIECES = [
    *("'", "''", '"', '""', "`", "\\", "--", "/*", "*/", "/*+", "\n", "\r\n", " ", "\u00a0", "$$"),
    *(
        "$a$",
        "r'",
        'R"',
        "x",
        "é",
        "1",
        "2.5",
        "1e5",
        "1e-5",
        ".5",
        "1.",
        "10L",
        "3BD",
        "_",
        "(",
        ",",
    ),
    *(
        ";",
        "=",
        "<=>",
        "::",
        "=>",
        "||",
        ":",
        "?",
        "😀",
        "{",
        "#",
        "@",
        "²",
        "ſ",
        "٣",
        "1a",
        "t.1a",
    ),
]


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """The classes of a JVM with Spark's jars."""
    with plain_jvm() as started:
        yield started


@pytest.fixture(scope="module")
def parser(jvm: Any) -> Any:
    """The parser behind every session."""
    return jvm.org.apache.spark.sql.execution.SparkSqlParser()


def parses(parser: Any, sql: str) -> bool:
    """Whether Spark takes the statement."""
    try:
        parser.parsePlan(sql)
    except Py4JJavaError:
        return False
    return True


@pytest.mark.parametrize("rule", ["create_table", "option_hints"])
def test_what_we_give_to_spark_it_parses(parser: Any, rule: str) -> None:
    texts = [case.expected for case in load_cases(rule)]
    assert [text for text in texts if not parses(parser, text)] == []


def test_what_we_leave_to_spark_it_parses(parser: Any) -> None:
    assert [sql for sql in load_plain_statements() if not parses(parser, sql)] == []


@pytest.mark.parametrize("rule", ["create_table", "option_hints", "syntax_errors"])
def test_what_we_call_ours_spark_refuses(parser: Any, rule: str) -> None:
    assert [case.sql for case in load_cases(rule) if parses(parser, case.sql)] == []


def test_commands_are_refused_but_for_describe(parser: Any) -> None:
    ours = [case for case in load_cases("commands") if case.expected != "None"]
    taken = [case for case in ours if parses(parser, case.sql)]
    assert [case.title for case in taken if "DescribeExtended" not in case.expected] == []


@pytest.mark.parametrize("value", AWKWARD)
def test_literals_mean_the_same_to_spark(parser: Any, value: str) -> None:
    literal = parser.parseExpression(string_literal(value))
    assert literal.value().toString() == value


def test_tokens_are_cut_as_spark_cuts_them(jvm: Any) -> None:
    choose = random.Random(7)
    texts = ["".join(choose.choices(PIECES, k=choose.randint(1, 14))) for _ in range(150)]
    assert [text for text in texts if _covered(text) != _covered_by_spark(jvm, text)] == []


def _covered(sql: str) -> set[tuple[int, int]]:
    """Extents of words, numbers, strings and names; dollar-quoted text is left out."""
    kinds = (TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING, TokenKind.QUOTED)
    return {
        (token.start, token.end)
        for token in tokenize(sql)
        if token.kind in kinds and not token.text.startswith("$")
    }


def _covered_by_spark(jvm: Any, sql: str) -> set[tuple[int, int]]:
    antlr = jvm.org.antlr.v4.runtime
    package = jvm.org.apache.spark.sql.catalyst.parser
    stream = package.UpperCaseCharStream(antlr.CharStreams.fromString(sql))
    lexer = package.SqlBaseLexer(stream)
    lexer.removeErrorListeners()
    names = lexer.getVocabulary()
    found = set()
    for token in lexer.getAllTokens():
        name = names.getSymbolicName(token.getType())
        first = token.getText()[:1]
        is_text = name.endswith(("_LITERAL", "_VALUE", "IDENTIFIER", "_STRING")) or first.isalnum()
        is_other = "DOLLAR" in name or name == "UNRECOGNIZED"
        if token.getChannel() == 0 and is_text and not is_other:
            found.add((token.getStartIndex(), token.getStopIndex() + 1))
    return found
