"""A disk whose power may be cut: what was not synchronised is lost, torn, or kept, as it likes.

It stands below `LocalFileIO`, in the place of its `os`: calls go to the real file system, so that
readers see what they wrote, and are written down. From that `survivor` makes the folder that a cut
at any moment may leave. Nothing is promised but what POSIX promises: content after `fsync` of the
file, names after `fsync` of their folder. `Journal.ORDERED` adds what journaling file systems do:
names change in order, so that with a change all those before it are kept.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias
from unittest import mock

from table_store.storage.file_io import local_file_io


class Journal(Enum):
    """Which changes of names a cut may leave."""

    ORDERED = "the first ones, up to any"
    NONE = "any"


@dataclass(eq=False, slots=True)
class File:
    """A file, under however many names."""

    data: bytearray = field(default_factory=bytearray)


@dataclass(eq=False, slots=True)
class Folder:
    """A folder; `entries` are those of the beginning, which are durable."""

    entries: dict[str, Node] = field(default_factory=dict)


Node: TypeAlias = File | Folder
Name: TypeAlias = tuple[Folder, str]


@dataclass(frozen=True, slots=True)
class Change:
    """Names that are set in one step; None takes a name away."""

    names: tuple[tuple[Name, Node | None], ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes added to a file."""

    file: File
    data: bytes


@dataclass(frozen=True, slots=True)
class Sync:
    """All of a file's bytes, or of a folder's names, are durable from here on."""

    node: Node


Event: TypeAlias = Change | Write | Sync


class CutDisk:
    """Records what is done below `root` while it is `in_use`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = _loaded(root)
        self._now: dict[str, Node] = dict(_walked(str(root), self._folder))
        self.events: list[Event] = []
        self._handles: dict[int, Node] = {}

    @contextmanager
    def in_use(self) -> Iterator[CutDisk]:
        """Let every `LocalFileIO` of this process use this disk."""
        with mock.patch.object(local_file_io, "os", self):
            yield self

    def survivor(self, moment: int, journal: Journal, rng: random.Random, target: Path) -> None:
        """Make at `target` what may be left when the power is cut after `moment` events."""
        events = self.events[:moment]
        choose = _ordered if journal is Journal.ORDERED else _any
        names = choose(events, rng)
        contents = _contents(events, rng)
        _make(self._folder, names, contents, target)

    # -- what LocalFileIO asks of `os` ------------------------------------------------------------

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        handle = os.open(path, flags, mode)
        if flags & os.O_CREAT:
            self._set((path, File()))
        self._handles[handle] = self._now[path]
        return handle

    def fdopen(self, handle: int, mode: str, buffering: int) -> io.BufferedWriter:
        return io.BufferedWriter(_RawFile(self, handle), buffering)

    def write(self, handle: int, data: memoryview | bytes) -> int:
        file = self._handles[handle]
        assert isinstance(file, File)
        written = os.write(handle, data)
        self.events.append(Write(file, bytes(data[:written])))
        return written

    def fsync(self, handle: int) -> None:
        self.events.append(Sync(self._handles[handle]))

    def close(self, handle: int) -> None:
        del self._handles[handle]
        os.close(handle)

    def link(self, source: str, target: str) -> None:
        os.link(source, target)
        self._set((target, self._now[source]))

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)
        self._set((source, None), (target, self._now[source]))

    def unlink(self, path: str) -> None:
        os.unlink(path)
        self._set((path, None))

    def mkdir(self, path: str) -> None:
        os.mkdir(path)
        self._set((path, Folder()))

    def rmdir(self, path: str) -> None:
        os.rmdir(path)
        self._set((path, None))

    def _set(self, *values: tuple[str, Node | None]) -> None:
        names: list[tuple[Name, Node | None]] = []
        for path, node in values:
            folder = self._now[os.path.dirname(path)]
            assert isinstance(folder, Folder)
            names.append(((folder, os.path.basename(path)), node))
        for path, node in values:
            self._now.pop(path, None)
            if node is not None:
                self._now[path] = node
        self.events.append(Change(tuple(names)))


class _RawFile(io.RawIOBase):
    """What a buffered file writes to."""

    def __init__(self, disk: CutDisk, handle: int) -> None:
        self._disk = disk
        self._handle = handle

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def write(self, data: object) -> int:
        return self._disk.write(self._handle, bytes(memoryview(data)))  # type: ignore[arg-type]

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._disk.close(self._handle)


_Names: TypeAlias = dict[Name, Node | None]


def _ordered(events: list[Event], rng: random.Random) -> _Names:
    changes: list[Change] = []
    durable = 0
    for event in events:
        if isinstance(event, Change):
            changes.append(event)
        elif isinstance(event, Sync) and isinstance(event.node, Folder):
            touched = [
                place
                for place, change in enumerate(changes, 1)
                if any(folder is event.node for (folder, _), _ in change.names)
            ]
            durable = max(durable, *touched, 0)
    kept = rng.choice((durable, rng.randint(durable, len(changes)), len(changes)))
    return {name: node for change in changes[:kept] for name, node in change.names}


def _any(events: list[Event], rng: random.Random) -> _Names:
    """Return for each name one of the values that it had since its folder was synchronised."""
    values: dict[Name, list[Node | None]] = {}
    for event in events:
        if isinstance(event, Change):
            for name, node in event.names:
                values.setdefault(name, [name[0].entries.get(name[1])]).append(node)
        elif isinstance(event, Sync):
            for name, had in values.items():
                if name[0] is event.node:
                    del had[:-1]
    return {name: rng.choice(had) for name, had in values.items()}


def _contents(events: list[Event], rng: random.Random) -> dict[File, bytes]:
    """Return what is left of the files that were written to."""
    written: dict[File, bytearray] = {}
    durable: dict[File, int] = {}
    for event in events:
        if isinstance(event, Write):
            written.setdefault(event.file, bytearray()).extend(event.data)
        elif isinstance(event, Sync) and isinstance(event.node, File):
            durable[event.node] = len(written.get(event.node, b""))
    left: dict[File, bytes] = {}
    for file, data in written.items():
        sure = durable.get(file, 0)
        torn = rng.randint(sure, len(data))
        zeros = bytes(len(data) - sure)
        left[file] = bytes(rng.choice((data, data[:sure], data[:torn], data[:sure] + zeros)))
    return left


def _make(folder: Folder, names: _Names, contents: dict[File, bytes], target: Path) -> None:
    target.mkdir()
    entries = dict(folder.entries) | {n: node for (of, n), node in names.items() if of is folder}
    for name, node in entries.items():
        if isinstance(node, Folder):
            _make(node, names, contents, target / name)
        elif node is not None:
            (target / name).write_bytes(contents.get(node, bytes(node.data)))


def _loaded(root: Path) -> Folder:
    folder = Folder()
    for path in root.iterdir():
        folder.entries[path.name] = (
            _loaded(path) if path.is_dir() else File(bytearray(path.read_bytes()))
        )
    return folder


def _walked(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    yield path, node
    if isinstance(node, Folder):
        for name, below in node.entries.items():
            yield from _walked(f"{path}/{name}", below)
