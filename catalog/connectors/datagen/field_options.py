"""`fields.<column>.<option>`: how `datagen` makes the values of a column.

A field of a STRUCT is `fields.<column>.<field>.…`, the elements of an ARRAY are
`fields.<column>.element.…`, and those of a MAP `….key.…` and `….value.…`, as in Flink.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar

from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.connector_options import FIELDS
from table_store.storage.options.options import (
    BOOLEAN,
    DURATION,
    OptionType,
    one_of,
    whole_number,
)

T = TypeVar("T")


def _number(text: str) -> Decimal:
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise ValueError("a number")
    return found


def _rate(text: str) -> float:
    found = _number(text)
    if not 0 <= found <= 1:
        raise ValueError("a number from 0 to 1")
    return float(found)


NUMBER: Final = OptionType("Number", _number)
LENGTH: Final = whole_number("Integer", 1, 10_000_000)
RATE: Final = OptionType("Float", _rate)
KIND: Final = one_of("random", "sequence")
COUNT: Final = whole_number("Long", -(2**63), 2**63 - 1)

SUFFIXES: Final[Mapping[str, OptionType[Any]]] = FrozenMap(
    {
        "kind": KIND,
        "min": NUMBER,
        "max": NUMBER,
        "max-past": DURATION,
        "length": LENGTH,
        "var-len": BOOLEAN,
        "start": COUNT,
        "end": COUNT,
        "null-rate": RATE,
    }
)


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options of one field, by what follows its path.

    Attributes:
        path: `fields.<column>`, and what is inside.
        given: texts by the last part of their keys.
    """

    path: str
    given: Mapping[str, str]

    def get(self, suffix: str, kind: OptionType[T], default: T) -> T:
        """Return an option's value.

        Raises:
            InvalidOptionError: the text is none.
        """
        text = self.given.get(suffix)
        if text is None:
            return default
        try:
            return kind.parse(text)
        except ValueError as error:
            raise self.refusal(suffix, f"use {error}") from error

    def refusal(self, suffix: str, reason: str) -> InvalidOptionError:
        """Return the error about one of the options."""
        return InvalidOptionError(
            key=f"{self.path}.{suffix}", value=self.given.get(suffix), reason=reason
        )

    def check_only(self, allowed: Iterable[str], why: str) -> None:
        """Check that no other options are given.

        Raises:
            InvalidOptionError: one is; `why` says why that cannot be.
        """
        for suffix in sorted(self.given.keys() - set(allowed)):
            raise self.refusal(suffix, why)


@dataclass(frozen=True, slots=True)
class AllFieldOptions:
    """The options of all fields; columns by their names in any case."""

    given: Mapping[str, str]

    def of(self, path: str) -> FieldOptions:
        """Return those of a field: of a column, or of `<column>.<field>`."""
        start = f"{FIELDS.prefix}{path}.".lower()
        found = {
            key[len(start) :].lower(): text
            for key, text in self.given.items()
            if key.lower().startswith(start) and key[len(start) :].lower() in SUFFIXES
        }
        return FieldOptions(f"{FIELDS.prefix}{path}", found)

    def unused(self, paths: Iterable[str]) -> list[str]:
        """Return the keys that are of no field of `paths`.

        Raises:
            UnknownOptionError: what a key says of a field is no option.
        """
        known = {path.lower() for path in paths}
        found = []
        for key in sorted(self.given):
            path, _, suffix = key[len(FIELDS.prefix) :].rpartition(".")
            if suffix.lower() not in SUFFIXES:
                near = difflib.get_close_matches(suffix.lower(), SUFFIXES, n=1, cutoff=0.6)
                nearest = f"{FIELDS.prefix}{path}.{near[0]}" if near and path else None
                raise UnknownOptionError(key=key, nearest=nearest)
            if path.lower() not in known:
                found.append(key)
        return found
