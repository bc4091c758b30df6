"""Goal: tokens are cut where Spark's lexer cuts them.

The expectations were taken from Spark 4.2's `SqlBaseLexer`.
"""

from __future__ import annotations

import pytest

from table_store.sql_ext.lexer.sql_token import TokenKind, tokenize


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("'a''b' 'c\\'d' \"e\"\"f\"", ["'a''b'", "'c\\'d'", '"e""f"']),
        ("r'\\'x", ["r'\\'", "x"]),
        ("xr'a'", ["xr", "'a'"]),
        ("$$it's$$ $a$ ' $a$ x$y$ z", ["$$it's$$", "$a$ ' $a$", "x", "$y$ z"]),
        ("1.5e3 10L 1a t.1a .5 1.x", ["1.5e3", "10L", "1a", "t", ".", "1a", ".5", "1", ".", "x"]),
        ("1e-5a 1.5bd 1.e5 5.S", ["1e-5", "a", "1.5bd", "1.e5", "5", ".", "S"]),
        ("'x\\' y", ["'", "x", "\\", "'", "y"]),
        ("/*+ a /* b */ */ /**/ /*/ x */", ["/*+", "a", "*/"]),
        ("a -- b \\\n c\n d", ["a", "d"]),
        ("a /* b /* c */ d */ e /* f /*+ g */ h", ["a", "e", "h"]),
        ("\u2003a\u00a0b\u3000c\u200bd", ["a", "b", "c", "\u200b", "d"]),
        ("é² ٣", ["é", "²", "٣"]),
        ("a<=>b::c=>d->e", ["a", "<=>", "b", "::", "c", "=>", "d", "->", "e"]),
        ("MAP<INT,ARRAY<INT>>", ["MAP", "<", "INT", ",", "ARRAY", "<", "INT", ">", ">"]),
        ("2*/3", ["2", "*/", "3"]),
    ],
)
def test_tokens_are_sparks(sql: str, expected: list[str]) -> None:
    assert [token.text for token in tokenize(sql)] == expected


def test_comment_without_an_end_is_a_token() -> None:
    tokens = list(tokenize("a /* b /* c */"))
    assert [token.kind for token in tokens] == [TokenKind.WORD, TokenKind.UNCLOSED_COMMENT]


def test_words_outside_ascii_are_no_keywords() -> None:
    """ſ is S in upper case: the bridge's filter would not find such a keyword either."""
    assert [token.keyword for token in tokenize("ſet set")] == ["", "SET"]
