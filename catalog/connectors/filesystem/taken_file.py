"""Files of a folder outside, as they were when a table took them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from table_store.storage.file_store.model.partition_path import NULL_PARTITION

FILE_BYTES: Final = 200
"""About so much memory one of them takes."""

_BYTES_EACH: Final = 16
"""About so many bytes of a file count as a row."""


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file: its path below the folder, with `/`, and by what it is known to be the same."""

    path: str
    size_bytes: int
    modified_ms: int

    @property
    def weight(self) -> int:
        """About how many rows it has, at least one; the same for the same file."""
        return 1 + self.size_bytes // _BYTES_EACH

    @property
    def folder(self) -> str:
        """The path of its folder below the root, which itself is empty."""
        return self.path.rpartition("/")[0]

    def below(self, root: str) -> str:
        """Return its whole path, with that of the folder."""
        return f"{root.rstrip('/')}/{self.path}"  # names that others give may have any character

    def partition_value(self, column: str) -> str | None:
        """Return the text of a partition column in its path; None is NULL.

        Raises:
            ValueError: the path does not have the column.
        """
        has_column, text = text_in_path(self.path.split("/")[:-1], column)
        if not has_column:
            raise ValueError(f"its path has no folder '{column}=…' for the partition column")
        return text


def text_in_path(folders: Sequence[str], column: str) -> tuple[bool, str | None]:
    """Return whether a folder is named `column=…`, and what stands behind it; None is NULL."""
    for name, is_one, value in (folder.partition("=") for folder in folders):
        if is_one and unquote(name) == column:
            return True, None if value == NULL_PARTITION else unquote(value)
    return False, None


@dataclass(frozen=True, slots=True)
class FilePart:
    """Files that one task reads; of a single large one only each `shares`-th part of it."""

    files: tuple[TakenFile, ...]
    share: int = 0
    shares: int = 1

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        files = [[file.path, file.size_bytes, file.modified_ms] for file in self.files]
        return json.dumps([files, self.share, self.shares]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> FilePart:
        """Return the part that `to_bytes` has written."""
        files, share, shares = json.loads(data)
        return cls(tuple(TakenFile(*file) for file in files), share, shares)


def parts_of(
    files: Sequence[TakenFile], parallelism: int, share_bytes: int | None
) -> Iterator[FilePart]:
    """Yield files for so many tasks, or for more where one is larger than `share_bytes`."""
    whole = []
    for file in files:
        shares = 1 if share_bytes is None else -(-file.size_bytes // share_bytes)
        if shares > 1:
            yield from (FilePart((file,), share, shares) for share in range(shares))
        else:
            whole.append(file)
    most = -(-sum(file.weight for file in whole) // max(1, parallelism))
    held: list[TakenFile] = []
    weight = 0
    for file in whole:
        if held and weight + file.weight > most:
            yield FilePart(tuple(held))
            held, weight = [], 0
        held.append(file)
        weight += file.weight
    if held:
        yield FilePart(tuple(held))
