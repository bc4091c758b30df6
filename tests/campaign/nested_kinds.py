"""Types of nested columns, and random values and conditions of them as SQL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.values.envelope import Envelope
from tests.values.kinds import Array, Kind, Map, Struct, Value, is_comparable
from tests.values.sql_values import sql_value

_KEYS: Final = ("k", "j", "a b")
_LONGEST: Final = 4_096


def literal(dice: random.Random, kind: Kind) -> str:
    """A value of exactly this type, perhaps NULL, or empty, or with NULLs in it."""
    return sql_value(
        _with_known_keys(dice, Envelope(dice, longest=_LONGEST).value(kind), kind), kind
    )


def _with_known_keys(dice: random.Random, value: Value, kind: Kind) -> Value:
    """The value whose maps have the keys for which conditions ask."""
    if value is None:
        return None
    match kind:
        case Struct(fields):
            return tuple(
                _with_known_keys(dice, item, inner)
                for item, (_, inner) in zip(value, fields, strict=True)
            )
        case Array(element):
            return tuple(_with_known_keys(dice, item, element) for item in value)
        case Map(of):
            keys = dice.sample(_KEYS, min(len(value), len(_KEYS)))
            items = (_with_known_keys(dice, item, of) for _, item in value)
            return tuple((key.encode(), item) for key, item in zip(keys, items, strict=False))
    return value


def parts(expression: str, kind: Kind) -> Iterator[tuple[str, Kind]]:
    """An expression of a kind, and what is inside of its value."""
    yield expression, kind
    match kind:
        case Struct(fields):
            for name, inner in fields:
                yield from parts(f"{expression}.{name}", inner)
        case Array(element):
            yield from parts(f"get({expression}, 0)", element)
            yield f"get({expression}, 2)", element
        case Map(value):
            yield from parts(f"{expression}['{_KEYS[0]}']", value)
            yield f"element_at({expression}, '{_KEYS[2]}')", value


def structs(path: str, kind: Kind) -> Iterator[tuple[str, Struct]]:
    """The structs in a column, by their paths in ALTER TABLE."""
    match kind:
        case Struct(fields):
            yield path, kind
            for name, inner in fields:
                yield from structs(f"{path}.{name}", inner)
        case Array(element):
            yield from structs(f"{path}.element", element)
        case Map(value):
            yield from structs(f"{path}.value", value)


def changed(kind: Kind, path: Sequence[str], change: Callable[[Struct], Struct]) -> Kind:
    """The kind in which the struct at a path is another one."""
    if not path:
        assert isinstance(kind, Struct)
        return change(kind)
    match kind:
        case Array(element):
            return Array(changed(element, path[1:], change))
        case Map(value):
            return Map(changed(value, path[1:], change))
        case Struct(fields):
            return Struct(
                tuple(
                    (name, changed(inner, path[1:], change) if name == path[0] else inner)
                    for name, inner in fields
                )
            )
    raise AssertionError(path)


def condition(dice: random.Random, values: Sequence[tuple[str, Kind]], depth: int = 2) -> str:
    """A condition about some of the values, each an expression of a kind."""
    if depth and dice.random() < 0.4:
        both = (condition(dice, values, depth - 1) for _ in range(2))
        return f"({dice.choice([' AND ', ' OR ']).join(both)})"
    if depth and dice.random() < 0.15:
        return f"NOT ({condition(dice, values, depth - 1)})"
    inside = [part for value in values for part in parts(*value)]
    return _test(dice, *dice.choice(inside), depth)


def _test(dice: random.Random, value: str, kind: Kind, depth: int) -> str:
    if dice.random() < 0.25:
        return f"{value} IS {dice.choice(['', 'NOT '])}NULL"
    match kind:
        case Array(element) if dice.random() < 0.7:
            inner = f"x{depth}"
            test = condition(dice, [(inner, element)], max(depth - 1, 0))
            return f"{dice.choice(['exists', 'forall'])}({value}, {inner} -> {test})"
        case Map() if dice.random() < 0.5:
            return f"map_contains_key({value}, '{dice.choice(_KEYS)}')"
    if not is_comparable(kind) or (isinstance(kind, Array) and dice.random() < 0.5):
        size = f"size({value})" if not isinstance(kind, Struct) else f"length(to_json({value}))"
        return f"{size} {dice.choice(['>', '='])} {dice.randrange(3)}"
    if dice.random() < 0.2:
        return f"{value} IN ({literal(dice, kind)}, {literal(dice, kind)})"
    operator = dice.choice(["=", "<=>", "<>", "<", ">="])
    return f"{value} {operator} {literal(dice, kind)}"
