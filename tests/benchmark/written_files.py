"""How many bytes of files appear in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

_Identity = tuple[str, int, int]


@dataclass(slots=True)
class WrittenFiles:
    """Counts the bytes of the files under `folder` that appeared or changed since the last look.

    A file that came and went between two looks is not seen.
    """

    folder: Path
    _known: set[_Identity] = field(default_factory=set)

    def new_bytes(self) -> int:
        """Return the bytes of what is new since the last look."""
        found = _files(str(self.folder))
        size_bytes = sum(size for file, size in found.items() if file not in self._known)
        self._known = set(found)
        return size_bytes


def size_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(_files(str(folder)).values())


def _files(folder: str) -> dict[_Identity, int]:
    found: dict[_Identity, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                status = os.stat(path)
            except FileNotFoundError:
                continue
            found[path, status.st_ino, status.st_mtime_ns] = status.st_size
    return found
