"""Goal: a JSON value in MySQL's binary form is the text that MySQL shows of it.

Oracle: what MySQL 8.0.15 had in its binlog, and showed in a SELECT.
"""

from __future__ import annotations

import pytest

from table_store.catalog.connectors.mysql.mysql_json import json_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            (
                "0002003f0012000100130001000014000218006162000004000500270005010005feff071300"
                "0917000a1f007011010000a22f4dffffffffffffffffffffffff"
            ),
            '{"a": {}, "b": [1, -2, 70000, -3000000000, 18446744073709551615]}',
        ),
        (
            (
                "020a005b000400000401000402000c22000b2b000b33000b3b000b43000b4b000b5300087530"
                "3066630a0122000000000000f83f00003426f56b0c43398c77f9d1fd12431656e79eaf03d23c"
                "00000000000000800000000000005940"
            ),
            (
                '[null, true, false, "u00fc\\n\\u0001\\"", 1.5, 1e15, 1336406964'
                "036366.2, 0.000000000000001, -0.0, 100.0]"
            ),
        ),
        (
            (
                "0203002b000f0d000f17000f21000a08000000000044a5190c0870580a053144a5190b08a051"
                "f54737ffffff"
            ),
            '["2020-01-02", "2020-01-02 03:04:05.678000", "-12:34:56.700000"]',
        ),
        (
            "02030026000f0d000f13000f2000f60403028132f60b12067f84e4c5f3ebffff9bf60403028005",
            "[1.50, -123456789012.000100, 0.05]",
        ),
        (
            "0201000a000f07000f0178",
            '["base64:type15:eA=="]',
        ),
        (
            "050700",
            "7",
        ),
        (
            "",
            "null",
        ),
    ],
)
def test_its_text_is_the_databases(value: str, text: str) -> None:
    assert json_text(bytes.fromhex(value)) == text


@pytest.mark.parametrize("value", ["0b00", "0d", "0002003f", "0cff"])
def test_bytes_that_are_none_are_told(value: str) -> None:
    with pytest.raises(ValueError, match=r"bytes that are no JSON|a value of the unknown kind 13"):
        json_text(bytes.fromhex(value))
