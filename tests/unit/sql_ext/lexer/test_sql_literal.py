"""Goal: literals mean what they mean to Spark. The values were taken from Spark 4.2's parser."""

from __future__ import annotations

import pytest

from table_store.catalog.definition.sql_literal import string_literal
from table_store.sql_ext.lexer.sql_literal import (
    identifier_literal,
    identifier_value,
    string_value,
)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\'b\\c\nd\te\Zg'", "a'b\\c\nd\te\x1ag"),
        (r"'\%h\_i'", r"\%h\_i"),
        (r"'\u0041\U0001F600\101j\xk\"'", 'A😀Ajxk"'),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\400\377\12\u00'", "40037712u00"),
        (r"'a\0f'", "a\0f"),
        ("'a''b\"\"'", 'a\'b""'),
        ('"a""b\'\'"', "a\"b''"),
        (r"r'a\n'", r"a\n"),
        (r'R"a\n"', r"a\n"),
        ("$$a'b$$", "a'b"),
        ("$x$a$y$b$x$", "a$y$b"),
        ("'\\\n'", "\n"),
    ],
)
def test_string_literals_have_sparks_value(literal: str, value: str) -> None:
    assert string_value(literal) == value


def test_written_literals_hold_no_variable_reference() -> None:
    """Spark's parser would put the variable's text into the statement, quotes and all."""
    assert "${" not in string_literal("${x} $${y}")


@pytest.mark.parametrize(
    "text", ["'", "\\", "\\'", "\n\r\t\0" + "12", "😀", "${x}", "\\%", "--", "/*"]
)
def test_written_literals_are_read_back(text: str) -> None:
    assert string_value(string_literal(text)) == text


def test_identifiers_are_read_back() -> None:
    assert identifier_value(identifier_literal("a`b.c``")) == "a`b.c``"
    assert identifier_value("plain") == "plain"
