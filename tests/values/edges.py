"""The edges of each scalar type: smallest, largest, zero, and where something begins."""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tests.values.kinds import FLOATS, INTEGERS, Value, digits, is_char, is_text, length_of
from tests.values.kinds import time_digits as time_digits_of

SMALL_LENGTHS: Final = (0, 1, 7, 8, 31, 32)
LENGTHS: Final = (255, 256, 511, 512, 4095, 4096, 65535, 1 << 20)
"""Of texts and bytes, at which a header, a page or a statistic may change."""

CHARACTERS: Final = (
    "a",
    "Z",
    " ",
    "0",
    "'",
    "%",
    "_",
    "\\",
    "\n",
    "\x00",
    "é",
    "€",
    "😀",
    "e\u0301",
    "ß",
)
"""Of one to four bytes; what SQL quotes, matches and escapes; and a blank, which CHAR loses."""

INVALID_TEXTS: Final = (b"a\xffb", b"\xed\xa0\x80", b"\xc0\x80", b"ab\xf0\x9f\x98", b"\x80" * 9)
"""Not UTF-8: a byte that never is, a surrogate, an overlong form, a beginning, an end."""

ZONES: Final = (
    *("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"),
    *("Pacific/Apia", "Africa/Casablanca", "+05:30"),
)
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_DAY: Final = 86_400_000_000
_YEAR_MINUS_9999: Final = -4_371_587
_MOMENTS: Final = tuple(
    dt.datetime.fromisoformat(text)
    for text in [
        *("0001-01-01 00:00:00", "1582-10-04 23:59:59.999999", "1582-10-15 00:00:00"),
        *("1883-11-18 12:03:58", "1900-01-01 00:00:00", "1969-12-31 23:59:59.999999"),
        *("1970-01-01 00:00:00", "2000-02-29 12:00:00", "2011-12-30 12:00:00"),
        # Hours that are left out and that come twice, in UTC and on the clocks of Berlin, New York
        # and Lord Howe.
        *("2024-03-31 00:59:59.999999", "2024-03-31 01:00:00", "2024-03-31 02:30:00"),
        *("2024-10-27 00:30:00", "2024-10-27 01:30:00", "2024-10-27 02:30:00"),
        *("2024-03-10 02:30:00", "2024-03-10 07:00:00", "2024-11-03 01:30:00"),
        *("2024-11-03 06:30:00", "2024-04-06 15:15:00", "2024-10-06 02:15:00"),
        *("2037-12-31 23:59:59.999999", "2040-07-01 10:00:00", "2040-06-30 22:30:00"),
        *("2040-12-31 23:30:00", "2100-03-01 00:00:00.000001", "9999-12-31 23:59:59.999999"),
    ]
)


@lru_cache(maxsize=256)
def edges(kind: str) -> tuple[Value, ...]:
    """Values of a scalar type, the plainest first; texts and bytes are the short ones."""
    if kind in INTEGERS:
        return _integers(INTEGERS[kind])
    if kind in FLOATS:
        return _floats(kind)
    if digits(kind) is not None:
        return _decimals(kind)
    if is_text(kind):
        return tuple(dict.fromkeys(fitted(text, kind) for text in _short_texts()))
    if time_digits_of(kind) is not None:
        return tuple(t - t % 10 ** (6 - (time_digits_of(kind) or 0)) for t in _times())
    return _OTHERS[kind]()


def _integers(bits: int) -> tuple[int, ...]:
    limit = 1 << (bits - 1)
    found = [0, 1, -1, limit - 1, -limit, limit - 2]
    return tuple(found + [sign << at for at in range(7, bits - 1, 8) for sign in (1, -1)])


def _floats(kind: str) -> tuple[str, ...]:
    largest = math.ldexp(2 - 2**-23, 127) if kind == "FLOAT" else math.ldexp(2 - 2**-52, 1023)
    tiny, least = (2**-149, 2**-126) if kind == "FLOAT" else (5e-324, 2.0**-1022)
    found = [0.0, -0.0, 1.0, -1.5, 0.1, math.nan, math.inf, -math.inf, largest, -largest]
    found += [tiny, -tiny, least, 16_777_217.0, 9_007_199_254_740_993.0, 1e-7, 123_456.789]
    return tuple(dict.fromkeys(float_value(number, kind) for number in found))


def float_value(number: float, kind: str) -> str:
    """The value of a number in FLOAT or DOUBLE."""
    return repr(struct.unpack("f", struct.pack("f", number))[0] if kind == "FLOAT" else number)


def _decimals(kind: str) -> tuple[Decimal, ...]:
    precision, scale = digits(kind) or (1, 0)
    units = [0, 1, -1, 10**precision - 1, 1 - 10**precision, 10 ** (precision - 1), 5 * 10**scale]
    units += [10**at for at in (8, 9, 17, 18) if at < precision] + [-(7**precision) // 3]
    return tuple(
        dict.fromkeys(
            Decimal((unit < 0, tuple(map(int, str(abs(unit)))), -scale))
            for unit in units
            if abs(unit) < 10**precision
        )
    )


def _short_texts() -> Iterator[str]:
    yield from ("", "a", "b", "ab", "A", "a ", " a", "  ", "ab ", "a%b", "1", "-1.5", "true")
    yield from CHARACTERS
    yield from ("it's", "2024-03-31", "€😀é", "😀😀a", "İı", "ǅ", "a\tb", "null", "ﬁ", "x" * 8)


def fitted(text: str, kind: str) -> bytes:
    """The text as a column of this kind stores it: cut to its length, and padded if it is CHAR."""
    length = length_of(kind)
    if length is not None:
        text = text[:length]
    return (text.ljust(length or 0) if is_char(kind) else text).encode()


def _times() -> tuple[int, ...]:
    return (0, 1, 999_999, 1_000_000, _DAY // 2, _DAY - 1_000_001, _DAY - 1)


def _dates() -> tuple[int, ...]:
    days = [moment.date().toordinal() - _EPOCH for moment in _MOMENTS]
    return tuple(dict.fromkeys([0, -1, 1, *days, _YEAR_MINUS_9999]))


def _timestamps() -> tuple[int, ...]:
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (a clock without a zone)
    found = [(moment - epoch) // dt.timedelta(microseconds=1) for moment in _MOMENTS]
    return tuple(dict.fromkeys([0, 1, -1, *found, _YEAR_MINUS_9999 * _DAY]))


def _bytes() -> tuple[bytes, ...]:
    return (
        b"",
        b"\x00",
        b"a",
        b"\xff",
        b"\xff\xff",
        b"\x00\x01",
        b"a\x00",
        b"\x7f\x80",
        *INVALID_TEXTS,
    )


def _variants() -> tuple[str, ...]:
    numbers = [0, 1, -1, 127, 128, -129, 32_768, 2**31, 2**63 - 1, -(2**63), 1.5, 0.1, 1e300, 1e-7]
    documents: list[Any] = [
        None,
        True,
        False,
        *numbers,
        "",
        "a",
        "😀",
        "x" * 63,
        "x" * 64,
        "x" * 600,
        [],
        {},
    ]
    documents += [[None], [1, "a", None, [2.5]], {"a": None}, {"b": 1, "a": {"c": [1, {"d": ""}]}}]
    documents += [list(range(300)), {f"key{number}": number for number in range(300)}]
    documents += [{"ä 'q\"": [10**17]}]
    return tuple(map(json_value, documents))


def json_value(document: object) -> str:
    """The form of a VARIANT: JSON of one spelling."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


_OTHERS: Final = {
    "BOOLEAN": lambda: (False, True),
    "BINARY": _bytes,
    "DATE": _dates,
    "TIMESTAMP": _timestamps,
    "TIMESTAMP_NTZ": _timestamps,
    "VARIANT": _variants,
}
