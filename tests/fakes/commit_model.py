"""A model of commits, expiry, rollback and readers, small enough to look at every interleaving.

Each step of a process is one operation on storage, as in `SnapshotStore`, `CommitAttempt`,
`SnapshotExpiry` and `Pins`. A process that stands still, or dies, is one that takes no further
step: what is true in every state is true beside it. The file LATEST is left out; instead a
process may begin at any snapshot there ever was, as if LATEST held anything.

Files of data are bits of an integer: the live files of a snapshot are one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

SEED = 1  # the file that the first snapshot has


class Weakness(Enum):
    """A part of the protocol that is left out, to see that the model would notice."""

    WRITERS_IGNORE_FLOOR = "a writer does not look at the floor after it has created a snapshot"
    READERS_IGNORE_FLOOR = "who looks for the latest snapshot does not look at the floor"
    FLOOR_SINKS = "the floor is what was written last"
    NO_PIN = "a rollback does not pin"
    PIN_AFTER_LOOK = "a rollback looks whether its snapshot counts, and then pins"
    PINS_READ_FIRST = "an expiry reads the pins before it lets snapshots expire"
    FILES_FIRST = "an expiry deletes data files before it reads what was published"


class Snap(NamedTuple):
    """A snapshot: who made it, and its live files."""

    author: str
    files: int


class Store(NamedTuple):
    """What is on storage; `history` is what has ever been committed, by id from 1, for the checks.

    `snaps` are the snapshot files by id from 1; None where there is none.
    """

    snaps: tuple[Snap | None, ...]
    history: tuple[Snap, ...]
    floor: int
    pins: frozenset[int]
    files: int

    def at(self, snapshot_id: int) -> Snap | None:
        """Return the file of an id, if there is one."""
        return self.snaps[snapshot_id - 1] if snapshot_id <= len(self.snaps) else None

    def put(self, snapshot_id: int, snap: Snap | None) -> Store:
        """Return the store with another file, or none, at an id."""
        snaps = [*self.snaps, *[None] * (snapshot_id - len(self.snaps))]
        snaps[snapshot_id - 1] = snap
        return self._replace(snaps=tuple(snaps))


class Process(NamedTuple):
    """Where a process is: the step it takes next, and what it remembers.

    `base` is the id of the latest snapshot it has found, `files` what that holds; `fresh` the
    newest id when it began to look. `left` counts the commits it still has to make.
    """

    role: str
    step: str
    base: int = 0
    files: int = 0
    fresh: int = 0
    ids: tuple[int, ...] = ()
    gone: int = 0
    left: int = 0
    outcome: str = ""


_LOCAL = {"again", "done", "pinned", "b_found", "c_found", "r_found"}


class BrokenError(Exception):
    """Something is true that must never be."""


Moves = Iterator[tuple[Store, Process]]


@dataclass(frozen=True)
class Model:
    """What each role does at each step; `weakness` is left out of it."""

    weakness: Weakness | None = None

    def moves(self, store: Store, process: Process) -> Moves:
        """Yield what may happen next to storage and to the process.

        Steps in which a process looks at nothing but itself belong to the step before.
        """
        if not process.step:
            return
        for after, moved in getattr(self, f"_{process.step}")(store, process):
            while moved.step in _LOCAL:
                ((after, moved),) = getattr(self, f"_{moved.step}")(after, moved)
            yield after, moved if moved.step else _forget(moved)

    # -- finding the latest snapshot: SnapshotStore.latest

    def _find(self, store: Store, me: Process) -> Moves:
        me = me._replace(fresh=len(store.history))
        yield store, me._replace(step="list")
        for snapshot_id in range(1, len(store.snaps) + 1):
            if store.at(snapshot_id + 1) is None:
                yield store, me._replace(step="read", base=snapshot_id)

    def _read(self, store: Store, me: Process) -> Moves:
        found = store.at(me.base)
        if found is None:
            yield store, me._replace(step="list")
        else:
            yield store, me._replace(step="check", files=found.files)

    def _check(self, store: Store, me: Process) -> Moves:
        if me.base < store.floor and self.weakness is not Weakness.READERS_IGNORE_FLOOR:
            yield store, me._replace(step="list")
            return
        # What is found must be the latest snapshot of some moment since it began to look.
        if me.base < me.fresh or store.history[me.base - 1].files != me.files:
            raise BrokenError(f"{me.role} finds snapshot {me.base} with {me.files:b}")
        yield store, me._replace(step=f"{me.role[0]}_found", fresh=0)

    def _list(self, store: Store, me: Process) -> Moves:
        ids = tuple(i for i in range(1, len(store.snaps) + 1) if store.at(i) is not None)
        yield store, me._replace(step="list_floor", ids=ids)

    def _list_floor(self, store: Store, me: Process) -> Moves:
        counting = [i for i in me.ids if i >= store.floor]
        step = "read" if counting else "list"
        yield store, me._replace(step=step, base=max(counting, default=0), ids=())

    # -- a reader

    def _r_found(self, store: Store, me: Process) -> Moves:
        yield store, me._replace(step="", outcome="read")

    # -- a committer: CommitAttempt; the first replaces all files, the others add one

    def _c_found(self, store: Store, me: Process) -> Moves:
        own = _own_file(me)
        files = own if me.role == "c1" and me.left == 2 else me.files | own
        yield store, me._replace(step="floor_before", files=files)

    def _floor_before(self, store: Store, me: Process) -> Moves:
        step = "again" if me.base + 1 < store.floor else "create"
        yield store, me._replace(step=step)

    def _create(self, store: Store, me: Process) -> Moves:
        new, snap = me.base + 1, Snap(_author(me), me.files)
        if store.at(new) is not None:
            yield store, me._replace(step="again")
            return
        store = store.put(new, snap)
        if new == len(store.history) + 1:
            store = store._replace(history=(*store.history, snap))
        elif new > len(store.history):
            raise BrokenError(f"{me.role} leaves a gap before {new}")
        yield store, me._replace(step="floor_after")

    def _floor_after(self, store: Store, me: Process) -> Moves:
        new = me.base + 1
        if new < store.floor and self.weakness is not Weakness.WRITERS_IGNORE_FLOOR:
            yield store, me._replace(step="take_back")
        else:
            if store.history[new - 1].author != _author(me):
                raise BrokenError(f"{me.role} takes snapshot {new} for its own")
            yield store, me._replace(step="done", outcome="committed")

    def _take_back(self, store: Store, me: Process) -> Moves:
        yield store.put(me.base + 1, None), me._replace(step="", outcome="unknown")

    def _again(self, store: Store, me: Process) -> Moves:
        if any(_author(me) == snap.author for snap in store.history):
            raise BrokenError(f"{me.role} commits again what it has committed")
        yield store, _forget(me)._replace(step="pinned" if me.role[0] == "b" else "find")

    def _done(self, store: Store, me: Process) -> Moves:
        if me.role[0] == "b":
            yield store, me._replace(step="unpin")
        elif me.left > 1:
            yield store, _forget(me)._replace(step="find", left=me.left - 1)
        else:
            yield store, me._replace(step="")

    # -- a rollback, which brings back snapshot 1: TableCommit.rollback

    def _pin(self, store: Store, me: Process) -> Moves:
        if self.weakness is Weakness.NO_PIN:
            yield store, me._replace(step="pinned")
        elif self.weakness is Weakness.PIN_AFTER_LOOK:
            yield store, me._replace(step="look")
        else:
            yield store._replace(pins=store.pins | {1}), me._replace(step="pinned")

    def _pinned(self, store: Store, me: Process) -> Moves:
        yield store, me._replace(step="find")

    def _b_found(self, store: Store, me: Process) -> Moves:
        yield store, me._replace(step="look")

    def _look(self, store: Store, me: Process) -> Moves:
        target = store.at(1)
        if target is None:
            yield store, me._replace(step="unpin", outcome="expired")
        else:
            yield store, me._replace(step="look_floor", files=target.files)

    def _look_floor(self, store: Store, me: Process) -> Moves:
        if store.floor > 1:
            yield store, me._replace(step="unpin", outcome="expired")
        elif self.weakness is Weakness.PIN_AFTER_LOOK and not me.base:
            yield store, me._replace(step="late_pin")
        else:
            yield store, me._replace(step="floor_before")

    def _late_pin(self, store: Store, me: Process) -> Moves:
        store = store._replace(pins=store.pins | {1})
        yield store, me._replace(step="find_late")

    def _find_late(self, store: Store, me: Process) -> Moves:
        # The look came first: what follows is the search for the base, and the publication.
        yield (
            store,
            me._replace(step="floor_before", base=len(store.history), fresh=len(store.history)),
        )

    def _unpin(self, store: Store, me: Process) -> Moves:
        yield store._replace(pins=store.pins - {1}), me._replace(step="")

    # -- an expiry of all but the latest snapshot: SnapshotExpiry.expire

    def _e_found(self, store: Store, me: Process) -> Moves:
        gone = 0
        for snapshot_id in range(max(1, store.floor), me.base):
            snap = store.at(snapshot_id)
            gone |= 0 if snap is None else snap.files
        me = me._replace(gone=gone & ~me.files, files=0)
        step = "expire_floor"
        if self.weakness is Weakness.PINS_READ_FIRST:
            step = "expire_pins"
        yield store, me._replace(step=step)

    def _expire_floor(self, store: Store, me: Process) -> Moves:
        sinks = self.weakness is Weakness.FLOOR_SINKS
        floor = me.base if sinks else max(me.base, store.floor)
        yield store._replace(floor=floor), me._replace(step="expire_snaps")

    def _expire_snaps(self, store: Store, me: Process) -> Moves:
        there = [i for i in range(1, me.base) if store.at(i) is not None]
        if there:
            yield store.put(there[0], None), me
            return
        early = self.weakness is Weakness.FILES_FIRST
        is_known = self.weakness is Weakness.PINS_READ_FIRST
        step = "expire_files" if early else "expire_published" if is_known else "expire_pins"
        yield store, me._replace(step=step)

    def _expire_pins(self, store: Store, me: Process) -> Moves:
        pinned = SEED if 1 in store.pins else 0
        is_first = self.weakness is Weakness.PINS_READ_FIRST
        step = "expire_floor" if is_first else "expire_published"
        yield store, me._replace(step=step, gone=me.gone & ~pinned)

    def _expire_published(self, store: Store, me: Process) -> Moves:
        gone = me.gone
        for snapshot_id in range(me.base, len(store.snaps) + 1):
            snap = store.at(snapshot_id)
            gone &= ~(0 if snap is None else snap.files)
        yield store, me._replace(step="expire_files", gone=gone)

    def _expire_files(self, store: Store, me: Process) -> Moves:
        if me.gone:
            bit = me.gone & -me.gone
            yield store._replace(files=store.files & ~bit), me._replace(gone=me.gone & ~bit)
        else:
            step = "find" if me.left > 1 else ""
            yield store, _forget(me)._replace(step=step, left=me.left - 1)


def check(store: Store) -> None:
    """Raise `BrokenError` where a snapshot that counts is not there, or lacks a file."""
    for snapshot_id in range(max(1, store.floor), len(store.history) + 1):
        snap = store.history[snapshot_id - 1]
        if store.at(snapshot_id) != snap:
            raise BrokenError(f"snapshot {snapshot_id} is {store.at(snapshot_id)}, and was {snap}")
        if snap.files & ~store.files:
            raise BrokenError(f"snapshot {snapshot_id} lacks files")


def explore(model: Model, processes: tuple[Process, ...]) -> tuple[int, set[tuple[str, ...]]]:
    """Look at every state that any interleaving leads to.

    Returns:
        How many states there are, and the outcomes of the processes where all have ended.

    Raises:
        BrokenError: in one of them something is wrong.
    """
    own = 0
    for process in processes:
        for left in range(1, process.left + 1):
            own |= _own_file(process._replace(left=left)) if process.role[0] == "c" else 0
    first = Snap("seed", SEED)
    begin = (Store((first,), (first,), 0, frozenset(), SEED | own), processes)
    seen, waiting = {begin}, [begin]
    outcomes: set[tuple[str, ...]] = set()
    while waiting:
        store, at = waiting.pop()
        has_ended = True
        for place, process in enumerate(at):
            for after, moved in model.moves(store, process):
                has_ended = False
                state = (after, (*at[:place], moved, *at[place + 1 :]))
                if state not in seen:
                    if after is not store:
                        check(after)
                    seen.add(state)
                    waiting.append(state)
        if has_ended:
            outcomes.add(tuple(process.outcome for process in at))
    return len(seen), outcomes


def _author(process: Process) -> str:
    return f"{process.role}.{process.left}"


def _own_file(process: Process) -> int:
    return 1 << (3 * int(process.role[1:]) + process.left)


def _forget(process: Process) -> Process:
    return process._replace(base=0, files=0, fresh=0, gone=0, ids=())
