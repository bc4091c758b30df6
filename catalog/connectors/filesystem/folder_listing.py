"""The files in a folder and below it, without hidden ones.

Hidden is what begins with `.`, or with `_` unless it is a partition such as `_day=7`, and what is
in a hidden folder.

A job looks at its folder again and again, and mostly there is nothing new. A file system tells by
the time of a folder whether names came or went, so a folder is listed again only if that has
changed. Its clock is coarse: a name that comes within the same tick as the one before changes
nothing. So what was listed is believed only if the folder was listed once more some time after its
mark was first seen, by this machine's own clock, and never for long: not every file system keeps
the time of a folder, and a file that is written in its place does not change it. Objects are listed
each time, a thousand by one request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from table_store.catalog.connectors.filesystem.partition_filter import NO_FILTER, PartitionFilter
from table_store.catalog.connectors.filesystem.taken_file import FILE_BYTES, TakenFile
from table_store.storage.file_io.file_io import FileIO, FileStatus
from table_store.storage.kernel.bounded_cache import BoundedCache

_SETTLED_S: Final = 2.0
"""So long after a mark was first seen, no change can leave the same mark behind."""

_BELIEVED_S: Final = 60.0
_FOLDER_BYTES: Final = 500


@dataclass(frozen=True, slots=True)
class FolderEntries:
    """What stands in one folder: its files, and its folders by their paths below the root."""

    files: tuple[TakenFile, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SeenFolder:
    """A folder as it was listed.

    Attributes:
        entries: what stood in it.
        mark: it had before it was listed.
        marked_s: when this mark was first seen.
        listed_s: when it was listed.
    """

    entries: FolderEntries
    mark: str | None
    marked_s: float
    listed_s: float

    def is_believed(self, mark: str | None, now_s: float) -> bool:
        """Return whether nothing can have changed since, if the folder has this mark now."""
        is_settled = mark == self.mark and self.listed_s - self.marked_s >= _SETTLED_S
        return is_settled and now_s - self.listed_s < _BELIEVED_S


@dataclass(frozen=True, slots=True)
class _Look:
    folders: Mapping[str, _SeenFolder] = field(default_factory=dict)
    files: tuple[TakenFile, ...] = ()

    @property
    def size_bytes(self) -> int:
        return _FOLDER_BYTES * (1 + len(self.folders)) + FILE_BYTES * len(self.files)


_looks: BoundedCache[_Look] = BoundedCache(256 << 20, lambda look: look.size_bytes)


def has_folder(file_io: FileIO, root: str) -> bool:
    """Return whether files can be looked for; a folder of objects is there before the first one."""
    return file_io.exists(root) or file_io.list_below(root) is not None


def files_below(
    file_io: FileIO, root: str, partitions: PartitionFilter = NO_FILTER
) -> tuple[TakenFile, ...]:
    """Return the files, by path; of partitions that are left out, folders are not even listed."""
    found: list[TakenFile] = []
    level, depth = [""], 0
    while level:
        entries = [_entries(file_io, root, folder, depth >= partitions.depth) for folder in level]
        found += [file for entry in entries for file in entry.files]
        level = partitions.folders([below for entry in entries for below in entry.folders])
        depth += 1
    return tuple(sorted(partitions.files(found), key=lambda file: file.path))


def files_now(
    file_io: FileIO, root: str, clock: Callable[[], float] = time.monotonic
) -> tuple[TakenFile, ...]:
    """Return the files, by path; the same tuple as before if nothing has changed since.

    Args:
        file_io: of the folder.
        root: the folder.
        clock: in seconds, never set back.
    """
    if file_io.folder_mark(root) is None:
        return files_below(file_io, root)
    held = _looks.get(root) or _Look()
    seen = dict(_seen_folders(file_io, root, held, clock))
    is_same = seen.keys() == held.folders.keys() and all(
        now.entries is held.folders[folder].entries for folder, now in seen.items()
    )
    files = held.files if is_same else _by_path(seen)
    _looks.put(root, _Look(seen, files))
    return files


def _seen_folders(
    file_io: FileIO, root: str, held: _Look, clock: Callable[[], float]
) -> Iterator[tuple[str, _SeenFolder]]:
    pending = [""]
    while pending:
        folder = pending.pop()
        mark = file_io.folder_mark(_path(root, folder))
        old = held.folders.get(folder)
        seen = old
        if old is None or not old.is_believed(mark, clock()):
            marked_s = old.marked_s if old is not None and old.mark == mark else clock()
            listed_s = clock()
            entries = _entries(file_io, root, folder, is_whole=False)
            if old is not None and entries == old.entries:
                entries = old.entries
            seen = _SeenFolder(entries, mark, marked_s, listed_s)
        assert seen is not None, "it was there or was made"
        yield folder, seen
        pending += seen.entries.folders


def _entries(file_io: FileIO, root: str, folder: str, is_whole: bool) -> FolderEntries:
    """Return what stands in a folder; all files below it as its own, if `is_whole` costs less."""
    path = _path(root, folder)
    below = file_io.list_below(path) if is_whole else None
    if below is not None:
        return FolderEntries(tuple(_taken(root, path, below)), ())
    entries = file_io.list(path)
    files = [status for status in entries if not status.is_dir]
    empty = [status.path for status in files if not status.size]
    there = file_io.statuses(empty) if empty else {}  # one that goes meanwhile is listed as empty
    kept = [status for status in files if status.size or status.path in there]
    folders = [
        f"{folder}/{status.name}" if folder else status.name
        for status in entries
        if status.is_dir and not _is_hidden(status.name)
    ]
    return FolderEntries(tuple(_taken(root, path, kept)), tuple(folders))


def _taken(root: str, folder: str, found: Sequence[FileStatus]) -> Iterator[TakenFile]:
    start = len(root.rstrip("/")) + 1
    cut = len(folder.rstrip("/")) + 1
    for status in found:
        if not any(map(_is_hidden, status.path[cut:].split("/"))):
            yield TakenFile(status.path[start:], status.size, status.modified_ms)


def _by_path(seen: Mapping[str, _SeenFolder]) -> tuple[TakenFile, ...]:
    files = (file for folder in seen.values() for file in folder.entries.files)
    return tuple(sorted(files, key=lambda file: file.path))


def _path(root: str, folder: str) -> str:
    return f"{root.rstrip('/')}/{folder}" if folder else root


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
