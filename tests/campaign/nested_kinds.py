"""Types of nested columns, and random values and conditions of them as SQL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_NULLS: Final = 0.15
_SCALARS: Final[Mapping[str, Sequence[str]]] = {
    "INT": ("0", "1", "2", "3", "-7"),
    "BIGINT": ("0L", "1L", "2L", "30000000000L"),
    "DOUBLE": ("0.5D", "1.5D", "-2.0D", "double('NaN')"),
    "STRING": ("'x'", "'Y'", "''", "'it''s'"),
}
_KEYS: Final = ("k", "j", "a b")


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields by name, in their order."""

    fields: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one kind."""

    element: Kind


@dataclass(frozen=True, slots=True)
class Map:
    """Values of one kind by keys, which are texts."""

    value: Kind


Kind: TypeAlias = str | Struct | Array | Map
"""A text is the SQL name of a scalar type."""


def sql(kind: Kind) -> str:
    """The type's name in SQL."""
    match kind:
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{name}: {sql(inner)}' for name, inner in fields)}>"
        case Array(element):
            return f"ARRAY<{sql(element)}>"
        case Map(value):
            return f"MAP<STRING, {sql(value)}>"
    return kind


def literal(dice: random.Random, kind: Kind) -> str:
    """A value of exactly this type, perhaps NULL, or empty, or with NULLs in it."""
    if dice.random() < _NULLS:
        return f"CAST(NULL AS {sql(kind)})"
    match kind:
        case Struct(fields):
            inner = (f"'{name}', {literal(dice, of)}" for name, of in fields)
            return f"named_struct({', '.join(inner)})"
        case Array(element):
            values = [literal(dice, element) for _ in range(dice.randrange(4))]
            return f"CAST(array({', '.join(values)}) AS {sql(kind)})"
        case Map(value):
            keys = dice.sample(_KEYS, dice.randrange(3))
            pairs = (f"'{key}', {literal(dice, value)}" for key in keys)
            return f"CAST(map({', '.join(pairs)}) AS {sql(kind)})"
    return dice.choice(_SCALARS[kind])


def is_comparable(kind: Kind) -> bool:
    """Whether values can be compared, grouped and joined: no map can."""
    match kind:
        case Struct(fields):
            return all(is_comparable(inner) for _, inner in fields)
        case Array(element):
            return is_comparable(element)
    return not isinstance(kind, Map)


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
