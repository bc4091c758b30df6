"""Random expressions of what both Spark and plain Python evaluate, with edges as arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.values.edges import edges
from tests.values.kinds import Kind
from tests.values.sql_values import clock_text

COLUMNS: Final[dict[str, Kind]] = {
    "id": "BIGINT",
    "y": "TINYINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "x": "DOUBLE",
    "m": "DECIMAL(10,2)",
    "mm": "DECIMAL(38,10)",
    "s": "STRING",
    "c": "CHAR(5)",
    "v": "VARCHAR(9)",
    "b": "BOOLEAN",
    "d": "DATE",
    "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ",
}
"""What expressions may name."""

_NUMBERS: Final = ("y", "i", "l", "x", "m", "mm", "f")
_TEXTS: Final = ("s", "c", "v", "c")
_PLACES: Final = (-(2**31), -100, -9, -3, -2, -1, 0, 1, 2, 3, 5, 9, 100, 2**31 - 1)
_COMPARED: Final = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_NUMBER_TYPES: Final = ("TINYINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)")
_PATTERNS: Final = ("a%", "%a", "_", "%", "", "a_", "%b%", "A%", "€%", "_ %", "%  ")


@dataclass(frozen=True, slots=True)
class Expressions:
    """Draws expressions by what they give."""

    dice: random.Random

    def any(self, depth: int = 2) -> str:
        """An expression of any type."""
        kinds = [self.boolean, self.boolean, self.text, self.text, self.number, self.moment]
        return self.dice.choice(kinds)(depth)

    def text(self, depth: int) -> str:
        """A text."""
        if depth <= 0 or self.dice.random() < 0.2:
            return self.dice.choice([*_TEXTS, self.text_literal(), self.text_literal()])
        inner = self.text(depth - 1)
        return self._one(
            lambda: f"{self.dice.choice(['upper', 'lower', 'trim', 'ltrim', 'rtrim'])}({inner})",
            lambda: f"substring({inner}, {self._place()})",
            lambda: f"substring({inner}, {self._place()}, {self._place()})",
            lambda: f"left({inner}, {self._place()})",
            lambda: f"concat({inner}, {self.text(depth - 1)})",
            lambda: f"{inner} || {self.text(0)}",
            lambda: self._choice(self.text, depth),
            lambda: f"nullif({inner}, {self.text(depth - 1)})",
            lambda: f"CAST({self.dice.choice(['i', 'l', 'y', 'b', 'd', 'm'])} AS STRING)",
        )

    def number(self, depth: int) -> str:
        """A number."""
        if depth <= 0 or self.dice.random() < 0.2:
            return self.dice.choice([*_NUMBERS, self.number_literal()])
        inner = self.number(depth - 1)
        return self._one(
            lambda: f"({inner} {self.dice.choice('+-*/%')} {self.number(depth - 1)})",
            lambda: f"({inner} div {self.dice.choice(['2', '-3', 'i', 'y'])})",
            lambda: f"{self.dice.choice(['abs', '-'])}({inner})",
            lambda: f"length({self.text(depth - 1)})",
            lambda: f"{self.dice.choice(['year', 'month', 'day'])}({self.moment(depth - 1)})",
            lambda: f"CAST({inner} AS {self.dice.choice(_NUMBER_TYPES)})",
            lambda: self._choice(self.number, depth),
        )

    def moment(self, depth: int) -> str:
        """A date or timestamp."""
        if depth <= 0 or self.dice.random() < 0.4:
            return self.dice.choice(["d", "t", "n", self.moment_literal()])
        target = self.dice.choice(["DATE", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"])
        return self._one(
            lambda: f"CAST({self.moment(depth - 1)} AS {target})",
            lambda: f"coalesce({self.dice.choice('dtn')}, {self.moment_literal()})",
            lambda: f"nullif({self.dice.choice('dtn')}, {self.moment_literal()})",
        )

    def boolean(self, depth: int) -> str:
        """A condition."""
        if depth <= 0:
            return self.dice.choice(["b", "s IS NULL", "i IS NOT NULL", "b IS TRUE"])
        of = self.dice.choice([self.text, self.text, self.number, self.moment])
        one = of(depth - 1)
        return self._one(
            lambda: f"{one} {self.dice.choice(_COMPARED)} {of(depth - 1)}",
            lambda: f"{one} {self.dice.choice(_COMPARED)} {of(depth - 1)}",
            lambda: f"{one} {self.dice.choice(['', 'NOT '])}IN ({of(0)}, {of(depth - 1)})",
            lambda: f"{one} BETWEEN {of(0)} AND {of(0)}",
            lambda: f"{self.text(depth - 1)} LIKE '{self.dice.choice(_PATTERNS)}'",
            lambda: (
                f"{self.dice.choice(['startswith', 'endswith', 'contains'])}"
                f"({self.text(depth - 1)}, {self.text_literal()})"
            ),
            lambda: f"({one}) IS {self.dice.choice(['', 'NOT '])}NULL",
            lambda: f"NOT ({self.boolean(depth - 1)})",
            lambda: (
                f"(({self.boolean(depth - 1)}) {self.dice.choice(['AND', 'OR'])} "
                f"({self.boolean(depth - 1)}))"
            ),
        )

    def text_literal(self) -> str:
        """A text without a backslash."""
        texts = [text.decode() for text in edges("STRING")]
        text = self.dice.choice([t for t in texts if "\\" not in t and "\x00" not in t])
        quoted = text.replace("'", "")
        return f"'{quoted}'"

    def number_literal(self) -> str:
        """A number of any of the types of literals."""
        kind = self.dice.choice(["INT", "BIGINT", "DECIMAL(9,2)", "DECIMAL(38,10)", "SMALLINT"])
        value = self.dice.choice(edges(kind)[:12])
        text = f"{value:f}" if kind.startswith("DEC") else str(value)
        return self.dice.choice([text, text, text, "0", "2", "1e0", "NULL"])

    def moment_literal(self) -> str:
        """A date or timestamp of a year with four digits."""
        micros = self.dice.choice([at for at in edges("TIMESTAMP") if at > -62_135_596_800_000_000])
        text = clock_text(micros)
        return self.dice.choice(
            [f"DATE '{text[:10]}'", f"TIMESTAMP '{text}'", f"TIMESTAMP_NTZ '{text}'"]
        )

    def _place(self) -> str:
        return str(self.dice.choice(_PLACES))

    def _choice(self, of: Callable[[int], str], depth: int) -> str:
        one, other = of(depth - 1), of(depth - 1)
        return self._one(
            lambda: f"CASE WHEN {self.boolean(depth - 1)} THEN {one} ELSE {other} END",
            lambda: f"coalesce({one}, {other})",
            lambda: f"if({self.boolean(depth - 1)}, {one}, {other})",
        )

    def _one(self, *kinds: Callable[[], str]) -> str:
        return self.dice.choice(kinds)()
