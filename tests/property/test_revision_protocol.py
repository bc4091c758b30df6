"""Goal: a revision is never seen half done, nothing is doubled, and no barrier is taken back.

Method: a model of the protocol of `catalog/meta_service/revision.py`, in which each step is one
operation on storage, is taken through all interleavings of two jobs in two programs, a revision
that may die at any step and is run again, and an expiry. After each step a reader looks at all
barriers with the real code. Job `a` has the rows of root `r`, job `b` those of `r` and `a`, each
by adding what has changed to what is there; so a row that is taken twice is one too many for ever.
Each rule of the protocol is also left out once, and then the model has to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, TypeAlias

import pytest

from table_store.catalog.jobs.ledger import Barrier, Head, Root
from table_store.catalog.jobs.progress import Taken, Track
from table_store.catalog.meta_service.revision import Revision
from table_store.catalog.meta_service.topology import Topology, snapshots_at
from table_store.storage.kernel.frozen_map import FrozenMap

SOURCES: Final = FrozenMap({"a": frozenset({"r"}), "b": frozenset({"a", "r"})})
WEIGHTS: Final = {"r": 1, "a": 10}
"""What a row of a source counts in a job's table."""

ABOVE: Final = Topology(SOURCES).above("r")
HELD: Final = Revision(
    number=1, table="r", name="r", request="", tables=frozenset("rab"), holder=None
)


@dataclass(frozen=True, slots=True)
class Snap:
    """A snapshot: how many rows, of which snapshots of the sources, and the commit's number."""

    rows: int
    followed: tuple[tuple[str, int], ...] = ()
    identifier: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """What is on storage; snapshots and barriers are numbered from 1 on."""

    r: tuple[Snap, ...]
    a: tuple[Snap, ...]
    b: tuple[Snap, ...]
    roots: tuple[tuple[tuple[str, int], ...], ...]
    tracks: tuple[tuple[tuple[int, int, tuple[tuple[str, int], ...]], ...], ...]
    is_open: bool = False
    held: tuple[tuple[str, int], ...] = ()
    floors: tuple[tuple[str, int], ...] = ()

    def snaps(self, table: str) -> tuple[Snap, ...]:
        return {"r": self.r, "a": self.a, "b": self.b}[table]

    def with_snap(self, table: str, snap: Snap) -> World:
        grown = (*self.snaps(table), snap)
        match table:
            case "r":
                return replace(self, r=grown)
            case "a":
                return replace(self, a=grown)
        return replace(self, b=grown)

    def head(self, table: str) -> int:
        return len(self.snaps(table))

    def identifier(self, table: str) -> int:
        return max(snap.identifier for snap in self.snaps(table))

    def cut(self, heads: Mapping[str, int]) -> World:
        return replace(
            self, roots=(*self.roots, tuple(sorted({**dict(self.roots[-1]), **heads}.items())))
        )

    def taken(self, table: str, barrier: int, snapshot: int) -> World:
        """The job's progress, with the end of its track; a later one stays.

        Here it is one step: between the look at the file and its write is no other operation.
        """
        at = ABOVE.index(table)
        if self.tracks[at] and self.tracks[at][-1][0] > barrier:
            return self
        entry = (barrier, snapshot, self.snaps(table)[snapshot - 1].followed)
        tracks = list(self.tracks)
        tracks[at] = (*(t for t in tracks[at] if t[0] < barrier), entry)
        return replace(self, tracks=tuple(tracks))

    # -- what readers see ----------------------------------------------------------------------

    def barrier(self, number: int) -> Barrier:
        roots = {
            table: Root(head=Head(snapshot=at, created_ms=1), position=number)
            for table, at in self.roots[number - 1]
        }
        return Barrier(number=number, position=number, id="", previous="", roots=roots)

    def seen(self, number: int) -> Mapping[str, int]:
        tracks = {
            table: Track(
                tuple(Taken(barrier=n, snapshot=s, sources=dict(f)) for n, s, f in entries)
            )
            for table, entries in zip(ABOVE, self.tracks, strict=True)
        }
        return snapshots_at(self.barrier(number), "rab", tracks, lambda _, one, other: one == other)

    def rows(self, table: str, at: int) -> int:
        return self.snaps(table)[at - 1].rows if at else 0


def result(rows: int, table: str) -> int:
    """What a table is where the root has so many rows."""
    if table == "r":
        return rows
    return sum(WEIGHTS[source] * result(rows, source) for source in SOURCES[table])


Local: TypeAlias = tuple[Any, ...]
Step: TypeAlias = Callable[[World, Local], Iterator[tuple[World, Local]]]


def incremented(world: World, table: str, new: Mapping[str, int]) -> Snap:
    """The next snapshot of a job's table: what is there, and what has changed in the sources."""
    last = world.snaps(table)[-1]
    rows = last.rows
    for source, old in last.followed:
        rows += WEIGHTS[source] * (world.rows(source, new[source]) - world.rows(source, old))
    return Snap(rows, tuple(sorted(new.items())))


def job(table: str, flaw: str) -> Step:
    """Cut a barrier, compute, commit, note; local: epochs that are left, the place, and more."""

    def step(world: World, local: Local) -> Iterator[tuple[World, Local]]:
        left, place, *known = local
        if not left:
            return
        match place:
            case "begin" if flaw == "looks first":
                yield world, (left, "begin" if world.is_open else "end of ledger")
            case "begin" | "end of ledger":
                after = "heads" if flaw in ("looks first", "never looks") else "look"
                yield world, (left, after, len(world.roots))
            case "look":
                is_held = world.is_open and HELD.holds(table, SOURCES[table])
                yield world, (left, "begin") if is_held else (left, "heads", *known)
            case "heads":
                heads = tuple((source, world.head(source)) for source in sorted(SOURCES[table]))
                yield world, (left, "cut", *known, heads)
            case "cut":
                last, heads = known
                if len(world.roots) != last:
                    yield world, (left, "begin")
                else:
                    yield world.cut(dict(heads)), (left, "compute", last + 1, heads)
            case "compute":
                number, heads = known
                snap = incremented(world, table, dict(heads))
                base = world.snaps(table)[-1]
                if snap.followed == base.followed:
                    yield world, (left - 1, "begin")
                else:
                    change = snap.rows - base.rows
                    yield world, (left, "commit", number, heads, change, world.identifier(table))
            case "commit":
                number, heads, change, previous = known
                last = world.identifier(table)
                if last >= number or last != previous:
                    yield world, (left - 1, "begin")
                else:
                    snap = Snap(world.snaps(table)[-1].rows + change, heads, number)
                    yield (
                        world.with_snap(table, snap),
                        (left, "note", number, world.head(table) + 1),
                    )
            case "note":
                number, snapshot = known
                yield world.taken(table, number, snapshot), (left - 1, "begin")

    return step


def revision(flaw: str) -> Step:
    """The root gets back its first snapshot; local: lives left, place, what is known."""

    def steps(world: World, place: str, known: tuple[Any, ...]) -> Iterator[tuple[World, Local]]:
        match place:
            case "open":
                yield replace(world, is_open=True), ("correct",)
            case "correct":
                first: Local = (
                    ("end", "fence") if flaw != "no fence" else ("base", 0, len(world.roots) + 1)
                )
                is_done = world.identifier("r") > 0
                now = world.rows("r", world.head("r"))
                if not is_done or flaw == "corrects twice":
                    # What has come since the first snapshot goes.
                    new = world.with_snap("r", Snap(now - 1, (), 1))
                else:
                    new = world if flaw == "no mark" else world.with_snap("r", Snap(now))
                yield new, first
            case "end":
                yield world, ("cut", known[0], len(world.roots), world.head("r"))
            case "cut":
                what, last, head = known
                number = last + 1
                if len(world.roots) != last:
                    yield world, ("end", what)
                else:
                    following = ("base", 0, number) if what == "fence" else ("compute", 0, number)
                    yield world.cut({"r": head}), following
            case "base" | "compute" if known[0] == len(ABOVE):
                yield world, ("end", "follow") if place == "base" else ("close",)
            case "base":
                at, fence = known
                yield world, ("set back", at, fence, world.head(ABOVE[at]))
            case "set back":
                at, fence, base = known
                table = ABOVE[at]
                if world.head(table) != base:
                    yield world, ("base", at, fence)
                elif world.identifier(table) >= fence:
                    yield world, ("base", at + 1, fence)
                else:
                    if dict(world.floors).get(table, 0) > 1:
                        yield world, ("base", at + 1, fence)
                        return
                    target = world.snaps(table)[0]
                    number = fence if flaw != "no name" else world.identifier(table)
                    yield (
                        world.with_snap(table, replace(target, identifier=number)),
                        ("note", "base", at, fence, base + 1),
                    )
            case "compute":
                at, number = known
                table = ABOVE[at]
                heads = {"r": dict(world.roots[number - 1])["r"]}
                if at:
                    heads["a"] = world.head("a")
                snap = incremented(world, table, heads)
                base = world.snaps(table)[-1]
                if snap.followed == base.followed:
                    yield world, ("compute", at + 1, number)
                else:
                    change = snap.rows - base.rows
                    work = (at, number, snap.followed, change)
                    yield world, ("commit", *work, world.identifier(table))
            case "commit":
                at, number, followed, change, previous = known
                table = ABOVE[at]
                if world.identifier(table) != previous:
                    yield world, ("compute", at, number)
                else:
                    snap = Snap(world.snaps(table)[-1].rows + change, followed, number)
                    yield (
                        world.with_snap(table, snap),
                        ("note", "compute", at, number, world.head(table) + 1),
                    )
            case "note":
                following, at, number, snapshot = known
                yield world.taken(ABOVE[at], number, snapshot), (following, at + 1, number)
            case "close":
                yield replace(world, is_open=False), ("over",)

    def step(world: World, local: Local) -> Iterator[tuple[World, Local]]:
        lives, place, *known = local
        for after, following in steps(world, place, tuple(known)):
            yield after, (lives, *following)
        if lives > 1 and place not in ("open", "over"):
            yield world, (lives - 1, "correct")

    return step


def expiry(flaw: str) -> Step:
    """Note the snapshots of the last sealed barrier, then let those before them go."""

    def step(world: World, local: Local) -> Iterator[tuple[World, Local]]:
        match local[0]:
            case "note":
                seen = world.seen(max(sealed(world)))
                yield replace(world, held=tuple(sorted(seen.items()))), ("expire",)
            case "expire":
                heads = tuple((table, world.head(table)) for table in "abr")
                floors = heads if flaw == "forgets barriers" else world.held
                yield replace(world, floors=floors), ("over",)

    return step


def first_world() -> World:
    """All tables at the first barrier, and a row that has come since."""
    followed = {table: tuple((source, 1) for source in sorted(SOURCES[table])) for table in ABOVE}
    world = World(
        r=(Snap(1), Snap(2)),
        a=(Snap(result(1, "a"), followed["a"], 1),),
        b=(Snap(result(1, "b"), followed["b"], 1),),
        roots=((("r", 1),),),
        tracks=((), ()),
    )
    return world.taken("a", 1, 1).taken("b", 1, 1)


class WrongError(Exception):
    """The model has met what must not be."""


def sealed(world: World) -> dict[int, dict[str, int]]:
    """The rows of all tables at each barrier at which all are valid; checks those that are."""
    found = {}
    for number in range(1, len(world.roots) + 1):
        seen = world.seen(number)
        rows = {table: world.rows(table, at) for table, at in seen.items()}
        for table, count in rows.items():
            if count != result(rows["r"], table):
                raise WrongError(f"{table} has {count} rows at barrier {number}, {rows}")
        if len(rows) == len(WEIGHTS) + 1:
            found[number] = rows
            last = seen
    if any(last[table] < floor for table, floor in world.floors):
        raise WrongError(f"what is read at the last barrier has expired: {last} {world.floors}")
    return found


def explored(flaw: str = "", epochs: int = 1, lives: int = 2, *, expires: bool = False) -> int:
    """Go through all interleavings; return how many states there are.

    Raises:
        WrongError: in one of them something is wrong.
    """
    actors = (job("a", flaw), job("b", flaw), revision(flaw), expiry(flaw))
    worlds = [first_world()]
    numbers = {worlds[0]: 0}
    readable = [sealed(worlds[0])]

    def numbered(world: World) -> int:
        if world not in numbers:
            numbers[world] = len(worlds)
            worlds.append(world)
            readable.append(sealed(world))
        return numbers[world]

    @cache
    def moves(at: int, actor: int, local: Local) -> list[tuple[int, Local]]:
        found = []
        for after, following in actors[actor](worlds[at], local):
            number = numbered(after)
            if any(readable[number].get(n) != rows for n, rows in readable[at].items()):
                raise WrongError(f"a barrier was taken back: {readable[at]} {readable[number]}")
            found.append((number, following))
        return found

    first = (
        0,
        (epochs, "begin"),
        (epochs, "begin"),
        (lives, "open"),
        ("note" if expires else "over",),
    )
    known: set[Local] = {first}
    left = [first]
    ends = set()
    while left:
        at, *locals_ = left.pop()
        for actor, local in enumerate(locals_):
            for number, following in moves(at, actor, local):
                state: Local = (number, *locals_[:actor], following, *locals_[actor + 1 :])
                if state not in known:
                    known.add(state)
                    left.append(state)
        if locals_[2][1] == "over" and not locals_[0][0] and not locals_[1][0]:
            if at not in ends:
                check_end(worlds[at])
            ends.add(at)
    assert ends
    return len(known)


def check_end(world: World) -> None:
    """A last barrier of both jobs: all have what the corrected root gives."""
    heads = {"r": world.head("r")}
    world = world.cut(heads)
    number = len(world.roots)
    for table in ABOVE:
        new = {source: heads[source] for source in SOURCES[table]}
        snap = replace(incremented(world, table, new), identifier=number)
        world = world.with_snap(table, snap).taken(table, number, world.head(table) + 1)
        heads = {**heads, table: world.head(table)}
    rows = {table: world.rows(table, world.head(table)) for table in "rab"}
    if rows != {table: result(1, table) for table in "rab"}:
        raise WrongError(f"in the end there are {rows}")
    if number not in sealed(world):
        raise WrongError("the last barrier is not sealed")


def test_all_interleavings_with_a_death() -> None:
    assert explored() > 100_000


def test_all_interleavings_with_an_expiry() -> None:
    assert explored(lives=1, expires=True) > 10_000


@pytest.mark.parametrize(
    "flaw",
    ["never looks", "looks first", "no fence", "no name", "corrects twice", "no mark"],
)
def test_each_rule_is_needed(flaw: str) -> None:
    with pytest.raises(WrongError):
        explored(flaw, epochs=1 if flaw == "corrects twice" else 2)


def test_barriers_must_be_held() -> None:
    with pytest.raises(WrongError, match="has expired"):
        explored("forgets barriers", expires=True)
