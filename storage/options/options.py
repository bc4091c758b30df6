"""Options: each declared once, with key, type, default, scope and the price of raising it."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.secrets import REDACTED

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

SESSION_PREFIX = "table-storage."


class OptionScope(enum.Enum):
    """Where an option may be given; the values are the words of the documentation."""

    SESSION = "session"
    TABLE = "table"
    READ = "read"
    WRITE = "write"


FOR_TABLE: Final = frozenset({OptionScope.TABLE})
FOR_READ: Final = frozenset({OptionScope.READ})
FOR_WRITE: Final = frozenset({OptionScope.WRITE})
FOR_TABLE_AND_READ: Final = FOR_TABLE | FOR_READ
FOR_TABLE_AND_WRITE: Final = FOR_TABLE | FOR_WRITE
FOR_SESSION_AND_TABLE: Final = FOR_TABLE | {OptionScope.SESSION}


@dataclass(frozen=True, slots=True)
class OptionType(Generic[T_co]):
    """How the text of an option becomes a value.

    `parse` raises ValueError with a text of what it takes ("a number from 1 up"). `allowed` is
    empty unless the values can be listed.
    """

    name: str
    parse: Callable[[str], T_co]
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[T]):
    """One declared option.

    `doc` says what it does and what raising it costs. An option that is not `mutable` is fixed
    when the table is created. `derived_default` describes a default that follows from something
    else.
    """

    key: str
    type: OptionType[T]
    default: T
    scopes: frozenset[OptionScope]
    doc: str
    mutable: bool = True
    derived_default: str | None = None

    def parse(self, text: str) -> T:
        """Return the value that `text` stands for.

        Raises:
            InvalidOptionError: `text` is no value of this option; the error says which are.
        """
        try:
            return self.type.parse(text)
        except ValueError as error:
            raise InvalidOptionError(key=self.key, value=text, reason=f"use {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionPrefix:
    """Keys that are passed on to another program as they are, without this prefix."""

    prefix: str
    scopes: frozenset[OptionScope]
    doc: str
    mutable: bool = True


class OptionValues:
    """The options that were given, as typed values with defaults; immutable."""

    __slots__ = ("_given", "text")

    def __init__(self, text: Mapping[str, str], given: Mapping[str, Any]) -> None:
        self.text = FrozenMap(text)
        self._given = FrozenMap(given)

    def get(self, option: Option[T]) -> T:
        """Return the option's value, or its default."""
        value: T = self._given.get(option.key, option.default)
        return value

    def is_given(self, option: Option[Any]) -> bool:
        """Return whether the option was given, and not left to its default."""
        return option.key in self._given

    def with_prefix(self, prefix: OptionPrefix) -> Mapping[str, str]:
        """Return the keys under the prefix, without it."""
        start = prefix.prefix
        return FrozenMap((k[len(start) :], v) for k, v in self.text.items() if k.startswith(start))


class OptionSet:
    """All declared options; keys are unique."""

    def __init__(
        self, options: Iterable[Option[Any]], prefixes: Iterable[OptionPrefix] = ()
    ) -> None:
        self._options = {o.key: o for o in options}
        self._prefixes = tuple(prefixes)
        own = [*self._options, *(prefix.prefix for prefix in self._prefixes), SESSION_PREFIX]
        self._namespaces = frozenset(key.split(".")[0] for key in own if "." in key)

    def __iter__(self) -> Iterator[Option[Any]]:
        return iter(self._options.values())

    @property
    def prefixes(self) -> tuple[OptionPrefix, ...]:
        """The declared prefixes of keys that are passed on."""
        return self._prefixes

    def find(self, key: str) -> Option[Any] | OptionPrefix:
        """Return what was declared for a key.

        Raises:
            UnknownOptionError: The key was not declared; the error names the nearest one.
        """
        option = self._options.get(key)
        if option is not None:
            return option
        for prefix in self._prefixes:
            if key.startswith(prefix.prefix) and len(key) > len(prefix.prefix):
                return prefix
        raise UnknownOptionError(key=key, nearest=self.nearest(key))

    def is_private(self, key: str) -> bool:
        """Return whether a table keeps `key` for somebody else, as tools write properties.

        It is like no declared key, and in no namespace of ours, so that no mistyped option is
        passed over.
        """
        if key in self._options:  # as most are; the rest of it looks through all of them
            return False
        plain = key.lower().replace("_", "-")
        return plain.split(".")[0] not in self._namespaces and self.nearest(key) is None

    def nearest(self, key: str) -> str | None:
        """Return the declared key most like `key`, or None when none is."""
        known = {k.lower(): k for k in self._options}
        plain = key.lower().removeprefix(SESSION_PREFIX).replace("_", "-")
        close = difflib.get_close_matches(plain, known, n=1, cutoff=0.6)
        return known[close[0]] if close else None

    def parse(self, given: Mapping[str, str], scope: OptionScope) -> OptionValues:
        """Return the typed values of options given in one place.

        A table's may have private ones among them, which are kept as text.

        Raises:
            UnknownOptionError: A key was not declared, and is none that a table keeps.
            InvalidOptionError: A value is not one of the option's, or the option can't be given
                in this place.
        """
        values: dict[str, Any] = {}
        for key, text in given.items():
            if scope is OptionScope.TABLE and self.is_private(key):
                continue
            declared = self.find(key)
            if scope not in declared.scopes:
                places = " or ".join(s.value for s in OptionScope if s in declared.scopes)
                raise InvalidOptionError(
                    key=key,
                    value=text,
                    reason=f"it is an option of a {places}, not of a {scope.value}",
                )
            if text == REDACTED:
                raise InvalidOptionError(
                    key=key, value=None, reason="this is shown in place of a secret, and is none"
                )
            if isinstance(declared, Option):
                values[key] = declared.parse(text)
        return OptionValues(given, values)

    def parse_session(self, settings: Mapping[str, str]) -> OptionValues:
        """Return the options among a session's settings: those that start with `table-storage.`.

        Keys of the result have no prefix. A new table gets these options unless its own definition
        says otherwise. Raises as `parse` does, with the keys of the session.
        """
        start = SESSION_PREFIX
        own = {k[len(start) :]: v for k, v in settings.items() if k.startswith(start)}
        try:
            return self.parse(own, OptionScope.SESSION)
        except UnknownOptionError as error:
            nearest = None if error.nearest is None else start + error.nearest
            raise UnknownOptionError(key=start + error.key, nearest=nearest) from error
        except InvalidOptionError as error:
            raise InvalidOptionError(
                key=start + error.key, value=error.value, reason=error.reason
            ) from error

    def check_change(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Check an ALTER that turns a table's options `before` into `after`.

        Raises:
            InvalidOptionError: An option that is fixed at creation would change.
        """
        for key in before.keys() | after.keys():
            if before.get(key) == after.get(key) or self.is_private(key) or self.find(key).mutable:
                continue
            option = self.find(key)
            if isinstance(option, Option):
                old = option.parse(before[key]) if key in before else option.default
                new = option.parse(after[key]) if key in after else option.default
                if old == new:
                    continue
            raise InvalidOptionError(
                key=key,
                value=after.get(key),
                reason="it is fixed when the table is created; make a new table and copy the rows",
            )


def _text(text: str) -> str:
    if not text or any(ord(c) < ord(" ") or c == "\x7f" for c in text):
        raise ValueError("a text without control characters")
    return text


def _boolean(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.strip().lower() not in known:
        raise ValueError("true or false")
    return known[text.strip().lower()]


def one_of(*values: str) -> OptionType[str]:
    """Return a type that takes exactly these words, in any case."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in values:
            raise ValueError(
                repr(values[0])
                if len(values) == 1
                else "one of " + ", ".join(repr(v) for v in values)
            )
        return word

    return OptionType("String", parse, values)


def whole_number(name: str, minimum: int, maximum: int) -> OptionType[int]:
    """Return a type that takes whole numbers from `minimum` to `maximum`."""
    digits_max = 20

    def parse(text: str) -> int:
        word = text.strip()
        if re.fullmatch(r"[+-]?[0-9]+", word) and len(word) <= digits_max:
            number = int(word)
            if minimum <= number <= maximum:
                return number
        raise ValueError(f"a whole number from {minimum} to {maximum}")

    return OptionType(name, parse)


INTEGER_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


def integer(minimum: int = 1, maximum: int = INTEGER_MAX) -> OptionType[int]:
    """Return the 32-bit type with bounds."""
    return whole_number("Integer", minimum, maximum)


def long(minimum: int = 0) -> OptionType[int]:
    """Return the 64-bit type with a lower bound."""
    return whole_number("Long", minimum, LONG_MAX)


_DURATION_UNITS = {
    timedelta(microseconds=1): ("us", "µs", "micro", "micros", "microsecond", "microseconds"),
    timedelta(milliseconds=1): ("ms", "milli", "millis", "millisecond", "milliseconds"),
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
}
_DURATION_UNIT = {word: unit for unit, words in _DURATION_UNITS.items() for word in words}
_ISO_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,6})?)S)?)?", re.IGNORECASE
)


def _duration(text: str) -> timedelta:
    """Read Flink's form ("7 d", "30 min"; a bare number is milliseconds) or ISO 8601's ("PT1H")."""
    wanted = ValueError("a time such as '30 s', '10 min', '1 h', '7 d' or ISO 'PT1H30M'")
    word = text.strip().lower()
    plain = re.fullmatch(r"(\d{1,18})\s*([a-zµ]*)", word)
    iso = _ISO_DURATION.fullmatch(word)
    try:
        if plain and (plain[2] or "ms") in _DURATION_UNIT:
            return int(plain[1]) * _DURATION_UNIT[plain[2] or "ms"]
        if iso and any(iso.groups()):
            days, hours, minutes, seconds = (float(g or 0) for g in iso.groups())
            return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise wanted from error
    raise wanted


_SIZE_SHIFT = {
    "": 0, "b": 0, "bytes": 0,
    "k": 10, "kb": 10, "kib": 10, "kibibytes": 10,
    "m": 20, "mb": 20, "mib": 20, "mebibytes": 20,
    "g": 30, "gb": 30, "gib": 30, "gibibytes": 30,
    "t": 40, "tb": 40, "tib": 40, "tebibytes": 40,
}  # fmt: skip


def memory_size(minimum: int = 1) -> OptionType[int]:
    """Return a type that takes "256 mb" and the like; the value is in bytes, units are of 1024."""

    def parse(text: str) -> int:
        found = re.fullmatch(r"(\d{1,18})\s*([a-z]*)", text.strip().lower())
        if found and found[2] in _SIZE_SHIFT:
            size = int(found[1]) << _SIZE_SHIFT[found[2]]
            if minimum <= size <= LONG_MAX:
                return size
        raise ValueError(f"a size such as '64 kb', '256 mb' or '1 gb', at least {minimum} bytes")

    return OptionType("MemorySize", parse)


TEXT: OptionType[str] = OptionType("String", _text)
BOOLEAN: OptionType[bool] = OptionType("Boolean", _boolean, ("true", "false"))
DURATION: OptionType[timedelta] = OptionType("Duration", _duration)
