"""Goal: no row is lost when a table takes another one's place, whoever writes or dies meanwhile.

Method: a model of the protocol of `catalog/tables/succession.py`, in which each step is one
operation on storage, is taken through all interleavings of two writers, an owner that may die at
any step and whose copy is then cleared away, and a stranger who loads the table. Each rule of the
protocol is also left out once, and then the model has to fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import pytest

RULES: Final = frozenset({"refuse", "fence", "look"})


@dataclass(frozen=True, slots=True)
class World:
    """What is on storage.

    Attributes:
        old: the snapshots of the old table: the writer whose row came, or None for a fence.
        schemas: of the old table: the snapshot that is copied where a successor is announced.
        new: the snapshots of the tables that were copied, by the order of their making.
        name: which of them the name has; -1 for the old one.
        gone: the copies that were cleared away.
        done: the writers whose commit has succeeded.
    """

    old: tuple[int | None, ...] = ()
    schemas: tuple[tuple[int, int] | None, ...] = (None,)
    new: tuple[tuple[int | None, ...], ...] = ()
    name: int = -1
    gone: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()

    def rows(self) -> frozenset[int]:
        seen = self.old if self.name < 0 else self.new[self.name]
        return frozenset(row for row in seen if row is not None)


Step: TypeAlias = tuple[str, *tuple[int, ...]] | None
"""What an actor does next, with numbers that it has kept in mind; None at its end."""

ACTORS: Final[tuple[Step, ...]] = (
    ("open", 1),
    ("open", 2),
    ("copy", 2),
    ("find", 0),
    ("sweep",),
)


def after(
    world: World, step: tuple[str, *tuple[int, ...]], rules: frozenset[str]
) -> tuple[World, Step]:
    """One operation on storage, and what comes next."""
    match step:
        # A writer opens the table by name, and commits until it has succeeded or is refused.
        case ("open", writer):
            if world.name < 0:
                return world, ("schema", writer, len(world.old))
            return world, ("insert", writer, world.name)
        case ("schema", writer, base):
            if world.schemas[-1] is not None and "refuse" in rules:
                return world, None
            return world, ("publish", writer, base)
        case ("publish", writer, base):
            if len(world.old) != base:
                return world, ("schema", writer, len(world.old))
            old = (*world.old, writer)
            return replace(world, old=old, done=world.done | {writer}), None
        case ("insert", writer, table):
            grown = (*world.new[table], writer)
            new = (*world.new[:table], grown, *world.new[table + 1 :])
            return replace(world, new=new, done=world.done | {writer}), None
        # The owner copies and announces; `left` attempts are left to it.
        case ("copy", left):
            if left == 0 or world.name >= 0 or world.schemas[-1] is not None:
                return world, None
            kept = (len(world.new), len(world.old), len(world.schemas))
            return replace(world, new=(*world.new, world.old)), ("announce", *kept, left)
        case ("announce", copy, at, schemas, left):
            if len(world.schemas) != schemas:
                return world, None
            announced = (*world.schemas, (copy, at))
            return replace(world, schemas=announced), ("find", left - 1)
        # Whoever finds a successor settles it; with attempts left, the owner may begin again.
        case ("find", left):
            found = world.schemas[-1]
            if found is None or world.name >= 0:
                return world, ("copy", left)
            return world, ("fence" if "fence" in rules else "look", *found, left)
        case ("fence", copy, at, left):
            return replace(world, old=(*world.old, None)), ("look", copy, at, left)
        case ("look", copy, at, left):
            has_changed = any(row is not None for row in world.old[at:])
            is_kept = has_changed and "look" in rules
            return world, ("forget" if is_kept else "swap", copy, at, left)
        case ("swap", copy, at, left):
            if world.name >= 0:
                return world, ("copy", left)
            if copy in world.gone:
                return world, ("forget", copy, at, left)
            return replace(world, name=copy), None
        case ("forget", copy, at, left):
            if world.schemas[-1] != (copy, at):
                return world, ("copy", left)
            return replace(world, schemas=(*world.schemas, None)), ("copy", left)
        case _:  # copies without a name are cleared away, as if their owner had died
            unnamed = {number for number in range(len(world.new)) if number != world.name}
            return replace(world, gone=world.gone | unnamed), None


def worlds(rules: frozenset[str]) -> Iterator[World]:
    """Yield each world that an interleaving passes; an actor that stops anywhere has died."""
    known = {(World(), ACTORS)}
    waiting = list(known)
    while waiting:
        world, actors = waiting.pop()
        yield world
        for at, step in enumerate(actors):
            if step is None:
                continue
            changed, following = after(world, step, rules)
            found = (changed, (*actors[:at], following, *actors[at + 1 :]))
            if found not in known:
                known.add(found)
                waiting.append(found)


def loses_a_row(rules: frozenset[str]) -> bool:
    return any(world.rows() != world.done for world in worlds(rules))


def test_no_row_is_lost() -> None:
    assert not loses_a_row(RULES)
    assert any(world.name >= 0 and world.done == {1, 2} for world in worlds(RULES))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_is_needed(rule: str) -> None:
    assert loses_a_row(RULES - {rule})
