"""Writes values as SQL of Spark, the same whatever the session's settings are.

Long texts and arrays are written by what repeats in them.
"""

from __future__ import annotations

import re
from typing import Final

from tests.values.kinds import Array, Kind, Map, Struct, Value, is_text, quoted, sql
from tests.values.kinds import time_digits as time_digits_of

_SHORT: Final = 64
_PERIOD: Final = 4
_BYTE_RUNS: Final = re.compile(rb"(.)\1{62,}", re.S)
_CHARACTER_RUNS: Final = re.compile(rb"([\x00-\x7f]|[\xc0-\xff][\x80-\xbf]+)\1{62,}", re.S)


def sql_value(value: Value, kind: Kind) -> str:
    """An expression without columns whose value is this one, of exactly this type."""
    name = sql(kind, is_strict=False)
    if value is None:
        return f"CAST(NULL AS {name})"
    match kind:
        case Struct(fields):
            inner = (
                f"'{field}', {sql_value(v, k)}" for (field, k), v in zip(fields, value, strict=True)
            )
            return f"named_struct({', '.join(inner)})"
        case Array(element):
            return f"CAST({_elements(value, element)} AS {name})"
        case Map(of, key):
            keys = _elements([k for k, _ in value], key)
            return (
                f"CAST(map_from_arrays({keys}, {_elements([v for _, v in value], of)}) AS {name})"
            )
    if is_text(kind):
        text = sql_text(value)
        return f"({text} COLLATE {kind.split()[-1]})" if "COLLATE" in kind else text
    return _scalar(value, kind)


def sql_row(row: tuple[Value, ...], kinds: tuple[Kind, ...]) -> str:
    """A row for VALUES."""
    return f"({', '.join(map(sql_value, row, kinds))})"


def sql_rows(rows: list[tuple[Value, ...]], columns: dict[str, Kind]) -> str:
    """A query of these rows, of exactly these types."""
    kinds = tuple(columns.values())
    names = ", ".join(map(quoted, columns))
    listed = ", ".join(sql_row(row, kinds) for row in rows)
    return f"SELECT * FROM VALUES {listed} AS q({names})"


def _elements(values: list[Value] | tuple[Value, ...], kind: Kind) -> str:
    if len(values) <= 2 * _PERIOD:
        return f"array({', '.join(sql_value(value, kind) for value in values)})"
    if list(values) == list(range(len(values))):
        return f"sequence(CAST(0 AS {kind}), CAST({len(values) - 1} AS {kind}))"
    begin = list(values[:_PERIOD])
    times = -(-len(values) // _PERIOD)
    if list(values) == (begin * times)[: len(values)]:
        return f"slice(flatten(array_repeat({_elements(begin, kind)}, {times})), 1, {len(values)})"
    return f"array({', '.join(sql_value(value, kind) for value in values)})"


def sql_text(text: bytes) -> str:
    """A text, which need not be UTF-8; no setting of the parser changes how it is read."""
    if len(text) <= _SHORT:
        return _short_text(text)
    try:
        text.decode()
    except UnicodeDecodeError:
        return _by_runs(text, _BYTE_RUNS)
    return _by_runs(text, _CHARACTER_RUNS)


def _by_runs(text: bytes, runs: re.Pattern[bytes]) -> str:
    parts, end = [], 0
    for run in runs.finditer(text):
        parts += [_short_text(text[end : run.start()])] if run.start() > end else []
        parts.append(f"repeat({_short_text(run[1])}, {len(run[0]) // len(run[1])})")
        end = run.end()
    parts += [_short_text(text[end:])] if end < len(text) else []
    return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"


def _short_text(text: bytes) -> str:
    is_plain = text.isalnum() and text.isascii()
    return f"'{text.decode()}'" if is_plain or not text else f"CAST(X'{text.hex()}' AS STRING)"


def _scalar(value: Value, kind: str) -> str:
    if kind == "BOOLEAN":
        return "true" if value else "false"
    if kind == "BINARY":
        return f"X'{value.hex()}'" if len(value) <= _SHORT else f"CAST({sql_text(value)} AS BINARY)"
    if kind == "DATE":
        return f"date_from_unix_date({value})"
    if kind == "TIMESTAMP":
        return f"timestamp_micros(CAST('{value}' AS BIGINT))"
    if kind == "TIMESTAMP_NTZ":
        return f"TIMESTAMP_NTZ '{clock_text(value)}'"
    if kind == "VARIANT":
        return f"parse_json({sql_text(value.encode())})"
    if time_digits_of(kind) is not None:
        return f"CAST('{clock_text(value).split()[1]}' AS {kind})"
    return (
        f"CAST('{value:f}' AS {kind})" if kind.startswith("DEC") else f"CAST('{value}' AS {kind})"
    )


def clock_text(micros: int) -> str:
    """Date and time of microseconds since 1970, in any year."""
    days, micros = divmod(micros, 86_400_000_000)
    year, month, day = _civil(days)
    seconds, micros = divmod(micros, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"
    return f"{'-' * (year < 0)}{abs(year):04}-{month:02}-{day:02} {clock}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day; see "chrono-Compatible Low-Level Date Algorithms" of H. Hinnant."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + 400 * era + (month <= 2), month, day
