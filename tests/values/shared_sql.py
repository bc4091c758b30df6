"""Writes values as SQL that Spark and DuckDB read alike, of the values that both have."""

from __future__ import annotations

import re
from typing import Final

from tests.values.edges import edges
from tests.values.kinds import FLOATS, INTEGERS, Value, digits, is_text
from tests.values.kinds import time_digits as time_digits_of
from tests.values.sql_values import clock_text

_FIRST_MICROS: Final = -62_135_596_800_000_000
_RUNS: Final = re.compile(r"(.)\1{62,}", re.S)
_LONG_BYTES: Final = (b"\xff" * 256, b"\xff" * 511 + b"\x00", b"\x00" * 4096)
_LONG: Final = ("a" * 255, "a" * 256, "é" * 511, "a" * 512 + "b", "😀" * 1024, "a" * 4096)


def shared_values(kind: str) -> tuple[Value, ...]:
    """The values that mean the same in both: texts without escapes, years from 1 on."""
    found = edges(kind)
    if is_text(kind):
        plain = [text for text in found if not set(text) & set(b"\\\x00\n\t")]
        return (*plain, *(text.encode() for text in _LONG if kind == "STRING"))
    if kind == "BINARY":
        return (*found, *_LONG_BYTES)
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        first = _FIRST_MICROS // 86_400_000_000 if kind == "DATE" else _FIRST_MICROS
        return tuple(value for value in found if value >= first)
    return found


def shared_sql(value: Value, kind: str) -> str:
    """An expression of this value and type in both; TIMESTAMP has no zone."""
    if is_text(kind):
        return sql_text(value.decode())
    if kind == "BINARY":
        return f"unhex({sql_text(value.hex())})"
    if kind == "BOOLEAN":
        return "true" if value else "false"
    if kind in FLOATS:
        return f"CAST('{value.replace('inf', 'Infinity').replace('nan', 'NaN')}' AS {kind})"
    if kind in INTEGERS:
        return f"CAST('{value}' AS {kind})"
    if digits(kind) is not None:
        return f"CAST('{value:f}' AS {kind})"
    day, clock = clock_text(value * 86_400_000_000 if kind == "DATE" else value).split()
    if kind == "DATE":
        return f"DATE '{day}'"
    return f"TIME '{clock}'" if time_digits_of(kind) is not None else f"TIMESTAMP '{day} {clock}'"


def sql_text(text: str) -> str:
    """A text in both; a long run of one character is written by its length.

    A quote is written by its number: with `escapedStringLiterals` Spark keeps both of two quotes.
    """
    parts, end = [], 0
    for run in _RUNS.finditer(text):
        parts += [_quoted(text[end : run.start()])] if run.start() > end else []
        parts.append(f"repeat({_quoted(run[1])}, {len(run[0])})")
        end = run.end()
    parts += [_quoted(text[end:])] if end < len(text) or not text else []
    return parts[0] if len(parts) == 1 else f"({' || '.join(parts)})"


def _quoted(text: str) -> str:
    plain = [f"'{part}'" for part in text.split("'")]
    return plain[0] if len(plain) == 1 else f"({' || chr(39) || '.join(plain)})"
