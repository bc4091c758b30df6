"""Spark SQL literals and identifiers, from text to value and back."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_NAMED_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_LIKE_WILDCARDS = "%_"
_CODE_POINT_MAX = 0x10FFFF
_DOLLAR_TAG = re.compile(r"\$[A-Za-z]*\$")


def string_value(literal: str) -> str:
    """Return the value of one string token of Spark: quoted, raw (`r'…'`) or dollar-quoted.

    Source of the escapes: `SparkParserUtils.unescapeSQLString` of Spark 4.2.
    """
    tag = _DOLLAR_TAG.match(literal)
    if tag:
        return literal[tag.end() :].removesuffix(tag.group())
    if literal[0] in "rR":
        return literal[2:-1]
    quote = literal[0]
    body = literal[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    pieces = []
    position = 0
    for escape in _ESCAPE.finditer(body):
        pieces.append(body[position : escape.start()].replace(quote * 2, quote))
        pieces.append(_escaped_character(escape))
        position = escape.end()
    pieces.append(body[position:].replace(quote * 2, quote))
    return _without_surrogate_pairs("".join(pieces))


def _escaped_character(escape: re.Match[str]) -> str:
    four, eight, octal, other = escape.groups()
    if four is not None:
        return chr(int(four, 16))
    if eight is not None:
        code_point = int(eight, 16)
        return chr(code_point) if code_point <= _CODE_POINT_MAX else "U" + str(eight)
    if octal is not None:
        return chr(int(octal, 8))
    character = str(other)
    if character in _LIKE_WILDCARDS:
        return "\\" + character
    return _NAMED_ESCAPES.get(character, character)


def _without_surrogate_pairs(text: str) -> str:
    """Join pairs of escapes that spell one character outside of the basic plane, as in Java."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def identifier_value(token_text: str) -> str:
    """Return the name in an identifier token, which may be in back-ticks."""
    if token_text.startswith("`"):
        return token_text[1:-1].replace("``", "`")
    return token_text


def identifier_literal(name: str) -> str:
    """Return `name` in back-ticks, so that any name is taken as one."""
    return "`" + name.replace("`", "``") + "`"


def name_literal(parts: tuple[str, ...]) -> str:
    """Return a name of several parts, each in back-ticks."""
    return ".".join(identifier_literal(part) for part in parts)
