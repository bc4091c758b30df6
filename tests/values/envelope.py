"""Draws values and kinds from all classes that users may store."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.values.edges import CHARACTERS, INVALID_TEXTS, LENGTHS, SMALL_LENGTHS, edges, fitted
from tests.values.edges import json_value as _json
from tests.values.kinds import (
    SCALARS,
    Array,
    Kind,
    Map,
    Struct,
    Value,
    is_char,
    is_comparable,
    is_text,
    length_of,
)

CASE_BYTES: Final = 64 << 20
"""What the values of one case hold at most."""

_NULLS: Final = 0.12
_LONG: Final = 0.3
"""Of texts and bytes that are long."""

_HUGE: Final = 0.02
"""Of arrays and maps with many elements."""

_FIELDS: Final = ("a", "b", "C", "d e", "ü", "x.y", "value", "metadata", "element", "key")
_KEY_KINDS: Final = ("STRING", "INT", "BIGINT", "DATE", "DECIMAL(18,6)", "BINARY", "TIMESTAMP")


@dataclass(slots=True)
class Envelope:
    """A source of values, decided by `dice`.

    Attributes:
        left_bytes: what long values may still take; then only short ones are drawn.
        has_invalid_texts: whether some texts are not UTF-8.
        longest: no text has more characters, and no bytes more.
    """

    dice: random.Random
    left_bytes: int = CASE_BYTES
    has_invalid_texts: bool = False
    longest: int = LENGTHS[-1]

    # -- kinds -------------------------------------------------------------------------------------

    def scalar_kind(self) -> str:
        """A kind that can be compared."""
        return self.dice.choice(SCALARS)

    def kind(self, depth: int = 3, *, has_collations: bool = True) -> Kind:
        """Any kind, nested at most so deep."""
        if depth == 0 or self.dice.random() < 0.7:
            kind = "VARIANT" if self.dice.random() < 0.06 else self.scalar_kind()
            is_plain = has_collations or "COLLATE" not in kind
            return kind if is_plain else "STRING"
        roll = self.dice.random()
        if roll < 0.35:
            return Array(self.inner_kind(depth - 1))
        if roll < 0.6:
            return Map(self.inner_kind(depth - 1), self.dice.choice(_KEY_KINDS))
        return self.struct(depth)

    def struct(self, depth: int = 1) -> Struct:
        """A struct, some of whose fields are required."""
        names = self.dice.sample(_FIELDS, self.dice.choice([1, 1, 2, 2, 3, 5]))
        fields = tuple((name, self.inner_kind(depth - 1)) for name in names)
        required = frozenset(name for name in names if self.dice.random() < 0.2)
        return Struct(fields, required)

    def inner_kind(self, depth: int) -> Kind:
        """A kind for what is nested; lengths of texts in there are checked by Spark alone."""
        kind = self.kind(max(depth, 0), has_collations=False)
        return "STRING" if length_of(kind) is not None else kind

    # -- values ------------------------------------------------------------------------------------

    def values(self, kind: Kind, count: int, *, is_required: bool = False) -> list[Value]:
        """So many values; some are equal, or have a long beginning in common."""
        found: list[Value] = []
        for _ in range(count):
            if found and self.dice.random() < 0.15:
                found.append(self.dice.choice(found))
            else:
                found.append(self.value(kind, is_required=is_required))
        return (
            [self.value(kind, is_required=True) if v is None else v for v in found]
            if (is_required)
            else found
        )

    def different(self, kinds: Sequence[Kind], count: int) -> list[tuple[Value, ...]]:
        """At most so many tuples of values for keys: none equals another one."""
        found: dict[tuple[Value, ...], tuple[Value, ...]] = {}
        for _ in range(count):
            row = tuple(self.value(kind, is_required=True) for kind in kinds)
            found.setdefault(tuple(map(_folded, row, kinds)), row)
        return list(found.values())

    def value(self, kind: Kind, *, is_required: bool = False) -> Value:
        """One value, NULL now and then unless it is required."""
        if not is_required and self.dice.random() < _NULLS:
            return None
        match kind:
            case Struct(fields, required):
                return tuple(
                    self.value(inner, is_required=name in required) for name, inner in fields
                )
            case Array(element):
                return tuple(self._many(element, self._count(element)))
            case Map(value, key):
                count = self._count(value)
                if count > 8 and key in ("INT", "BIGINT"):
                    keys = [(number,) for number in range(count)]
                else:
                    keys = self.different([key], count)
                values = self._many(value, len(keys))
                return tuple((k, v) for (k,), v in zip(keys, values, strict=True))
        if is_text(kind):
            return self._text(kind)
        if kind == "BINARY" and self.dice.random() < _LONG:
            return self._long_bytes()
        if kind == "VARIANT" and self.dice.random() < 0.1:
            return _json(self._taken(self.dice.choice(LENGTHS)) * "v")
        return self.dice.choice(edges(kind))

    def _many(self, kind: Kind, count: int) -> list[Value]:
        if count <= 8:
            return [self.value(kind) for _ in range(count)]
        some = [self.value(kind) for _ in range(4)]
        return [some[place % 4] for place in range(count)]

    def _count(self, inner: Kind) -> int:
        is_short = isinstance(inner, str) and is_comparable(inner) and not _is_long(inner)
        if is_short and self.dice.random() < _HUGE:
            return self._taken(8 * self.dice.choice([255, 256, 256, 4096, 4096, 65_536])) // 8
        return self.dice.choice([0, 0, 1, 1, 2, 3, 8])

    def _taken(self, size: int) -> int:
        """The size of a value; it becomes small where nothing is left for large ones."""
        if 4 * size > self.left_bytes or size > self.longest:
            return min(size, self.longest, 32)
        self.left_bytes -= 4 * size
        return size

    def _text(self, kind: str) -> bytes:
        if self.has_invalid_texts and self.dice.random() < 0.2:
            return self.dice.choice(INVALID_TEXTS)
        limit = length_of(kind)
        if self.dice.random() >= _LONG:
            known: tuple[bytes, ...] = edges(kind)
            return self.dice.choice(known[: 4 if self.dice.random() < 0.3 else None])
        lengths = LENGTHS if self.dice.random() < 0.6 else SMALL_LENGTHS
        length = self._length(lengths) if limit is None else min(self._length(lengths), limit)
        fill = self.dice.choice(CHARACTERS)
        end = self.dice.choice(["", "a", "b", "é", "😀", "zz"])
        return fitted((fill * length)[: max(length - len(end), 0)] + end, kind)

    def _length(self, lengths: Sequence[int]) -> int:
        # Most are short enough for many to fit into a page.
        weights = [1 if length > 4096 else 4 for length in lengths]
        return self._taken(self.dice.choices(lengths, weights)[0])

    def _long_bytes(self) -> bytes:
        length = self._length(LENGTHS)
        end = self.dice.choice([b"", b"\x00", b"\xff", b"b"])
        return self.dice.choice([b"\xff", b"\x00", b"q"]) * max(length - len(end), 0) + end


def _is_long(kind: str) -> bool:
    return is_text(kind) or kind == "BINARY"


def _folded(value: Value, kind: Kind) -> Value:
    """What values have in common that are one key; in doubt more than necessary."""
    if isinstance(value, bytes) and is_text(kind):
        text = value.decode(errors="replace")
        if "COLLATE" in str(kind):
            return text.casefold().strip("\x00 \u0301")
        return text.rstrip(" ") if is_char(kind) else text
    return "0.0" if value == "-0.0" else value
