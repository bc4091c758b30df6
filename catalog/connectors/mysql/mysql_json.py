"""The text of a JSON value that MySQL keeps in binary form, as its SELECT shows it.

The form is that of MySQL's `sql-common/json_binary.h`, the text that of `json_dom.cc`.
"""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from typing import Final

_OBJECTS: Final = (0x00, 0x01)
_LARGE: Final = (0x01, 0x03)
_CONTAINERS: Final = (0x00, 0x01, 0x02, 0x03)
_LITERAL: Final = 0x04
_NUMBERS: Final = {0x05: "<h", 0x06: "<H", 0x07: "<i", 0x08: "<I", 0x09: "<q", 0x0A: "<Q"}
_DOUBLE: Final = 0x0B
_STRING: Final = 0x0C
_OPAQUE: Final = 0x0F
_LITERALS: Final = ("null", "true", "false")
_INLINE: Final = (0x04, 0x05, 0x06)
_INLINE_LARGE: Final = (0x07, 0x08)

_DECIMAL_TYPE: Final = 246
_DATE_TYPE: Final = 10
_TIME_TYPE: Final = 11
_MOMENT_TYPES: Final = (7, 12)
_DIGITS_EACH: Final = 9
_BYTES_OF_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_PLAIN_DIGITS: Final = 15
"""A number whose point lies further away is written with an exponent."""


def json_text(data: bytes) -> str:
    """Return the text of a value.

    Raises:
        ValueError: the bytes are none.
    """
    if not data:  # an empty value is what the database keeps of a NULL in invalid places
        return "null"
    try:
        return _text(data[0], data, 1)
    except (IndexError, struct.error) as error:
        raise ValueError(f"bytes that are no JSON: {error}") from error


def _text(kind: int, data: bytes, at: int) -> str:
    if kind in _CONTAINERS:
        return _container(kind, data, at)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _NUMBERS:
        return str(struct.unpack_from(_NUMBERS[kind], data, at)[0])
    if kind == _DOUBLE:
        return _double(struct.unpack_from("<d", data, at)[0])
    if kind == _STRING:
        length, at = _length(data, at)
        return _quoted(data[at : at + length])
    if kind == _OPAQUE:
        length, begin = _length(data, at + 1)
        return _opaque(data[at], data[begin : begin + length])
    raise ValueError(f"a value of the unknown kind {kind}")


def _container(kind: int, data: bytes, at: int) -> str:
    is_large = kind in _LARGE
    size, offset = (4, "<I") if is_large else (2, "<H")
    (count,) = struct.unpack_from(offset, data, at)
    entry = at + 2 * size
    keys: list[str] = []
    if kind in _OBJECTS:
        for _ in range(count):
            (begin,) = struct.unpack_from(offset, data, entry)
            (length,) = struct.unpack_from("<H", data, entry + size)
            keys.append(_quoted(data[at + begin : at + begin + length]))
            entry += size + 2
    values: list[str] = []
    for _ in range(count):
        inner = data[entry]
        is_inline = inner in _INLINE or (is_large and inner in _INLINE_LARGE)
        begin = entry + 1
        if not is_inline:
            begin = at + struct.unpack_from(offset, data, begin)[0]
        values.append(_text(inner, data, begin))
        entry += 1 + size
    if kind in _OBJECTS:
        pairs = zip(keys, values, strict=True)
        return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
    return "[" + ", ".join(values) + "]"


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length that stands at a place, seven bits in each byte, and what comes behind."""
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return length, at
        shift += 7


def _quoted(text: bytes) -> str:
    return json.dumps(text.decode(), ensure_ascii=False)


def _double(value: float) -> str:
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent) if text != "0" else 1
    minus = "-" if sign else ""
    if point <= -_PLAIN_DIGITS or point > max(_PLAIN_DIGITS, len(text) - 1):
        tail = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{tail}e{point - 1}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    whole, fraction = text[:point].ljust(point, "0"), text[point:]
    return f"{minus}{whole}.{fraction or '0'}"


def _opaque(kind: int, data: bytes) -> str:
    if kind == _DECIMAL_TYPE:
        return _decimal(data)
    if kind == _TIME_TYPE:
        return f'"{_time(struct.unpack("<q", data)[0])}"'
    if kind == _DATE_TYPE or kind in _MOMENT_TYPES:
        (packed,) = struct.unpack("<q", data)
        whole = packed >> 24
        months, days = divmod((whole >> 22) & 0x1FFFF, 13), (whole >> 17) & 0x1F
        day = f"{months[0]:04d}-{months[1]:02d}-{days:02d}"
        return f'"{day}"' if kind == _DATE_TYPE else f'"{day} {_clock(whole, packed)}"'
    return f'"base64:type{kind}:{base64.b64encode(data).decode()}"'


def _time(packed: int) -> str:
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    whole = packed >> 24
    hours, minutes, seconds = (whole >> 12) & 0x3FF, (whole >> 6) & 0x3F, whole & 0x3F
    return f"{sign}{hours:02d}:{minutes:02d}:{seconds:02d}.{packed & 0xFFFFFF:06d}"


def _clock(whole: int, packed: int) -> str:
    hours, minutes, seconds = (whole >> 12) & 0x1F, (whole >> 6) & 0x3F, whole & 0x3F
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}.{packed & 0xFFFFFF:06d}"


def _decimal(data: bytes) -> str:
    """The value of a DECIMAL: precision, scale, and digits in big-endian groups of nine."""
    precision, scale = data[0], data[1]
    body = bytearray(data[2:])
    is_negative = not body[0] & 0x80
    body[0] ^= 0x80
    if is_negative:
        body = bytearray(byte ^ 0xFF for byte in body)
    whole = precision - scale
    sizes = [whole % _DIGITS_EACH, *[_DIGITS_EACH] * (whole // _DIGITS_EACH)]
    ends = [*[_DIGITS_EACH] * (scale // _DIGITS_EACH), scale % _DIGITS_EACH]
    at, parts = 0, []
    for digits in (*sizes, *ends):
        size = _BYTES_OF_DIGITS[digits]
        group = int.from_bytes(body[at : at + size], "big")
        parts.append(f"{group:0{digits}d}" if digits else "")
        at += size
    before = "".join(parts[: len(sizes)]).lstrip("0") or "0"
    after = "".join(parts[len(sizes) :])
    return ("-" if is_negative else "") + before + (f".{after}" if after else "")
