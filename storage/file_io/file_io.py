"""The interface to a file system or object store; implementations stand beside it.

Contract, checked for every implementation by tests/contract/test_file_io_contract.py:

- Paths are full paths (or URIs) below the root that the implementation was made for; anything
  else raises `PathNotAllowedError` and touches nothing.
- "Durable" means: the content and the name survive a power cut once the call has returned.
- A missing file raises `MissingFileError`; every other refusal `FileAccessError`. After an error
  of a writing call the effect is unknown: the file may be there, complete, or not.
- No call leaves a half-written file under its final name, but for `create_output`, whose file
  nobody may read before `close` returned.
- All implementations can be pickled, for they travel to worker processes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

TEMP_PREFIX: Final = ".tmp-"
"""Beginning of the names of unfinished files; an old one is left over from a crash."""

HARMLESS: Final = frozenset({"read", "open", "list", "look at", "write"})
"""Operations, as errors call them, whose failure surely changes nothing that anybody reads.

"write" is among them because it makes a file to which nothing refers yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """One entry of a folder. `path` is full; directories have size 0."""

    name: str
    path: str
    size: int
    modified_ms: int
    is_dir: bool


class OutputFile(Protocol):
    """A new file being written from front to back; fits where Arrow wants a file to write to."""

    @property
    def closed(self) -> bool:
        """Whether `close` or `abort` was called."""
        ...

    @property
    def checksum(self) -> int:
        """CRC-32 of everything written so far."""
        ...

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        """Append `data`; return its length in bytes."""
        ...

    def tell(self) -> int:
        """Return the bytes written so far."""
        ...

    def flush(self) -> None:
        """Exist for Arrow, which calls it; only `close` promises anything to readers."""
        ...

    def close(self) -> None:
        """Make the file durable; a second call does nothing."""
        ...

    def abort(self) -> None:
        """Throw the file away; after `close`, nothing happens."""
        ...


class FileIO(Protocol):
    """Reads, writes, lists and deletes files below one root."""

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content.

        Raises:
            MissingFileError: there is no such file.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Return the file opened for reading at any position; the caller closes it.

        Raises:
            MissingFileError: there is no such file.
        """
        ...

    def write_bytes(
        self, path: str, data: bytes, *, durable: bool = True, private: bool = False
    ) -> None:
        """Write or replace a file in one step; readers see the old or the new content.

        With `durable=False` it does not wait for the disk, which is right only for hints that may
        be lost. `private` is as for `write_new`, and does not hide the content that is replaced.
        """
        ...

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write several new files whose names nobody else uses, all durable on return.

        Cheaper than one by one: each folder is synchronised once. After an error some of
        them may be there, also incomplete; nothing may refer to them before this returns.
        """
        ...

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        """Create a file, durable, only if it is absent; return whether this call created it.

        Of any number of callers at once, on any machines, exactly one gets True. A `private` file
        can at no moment be read by another user of the file system. An object store has no users
        of single objects; there the rights to the bucket say who reads.
        """
        ...

    def create_output(self, path: str) -> OutputFile:
        """Return a new file to write to, with missing folders made.

        Raises:
            AlreadyExistsError: the file exists; some stores notice only when it is closed.
        """
        ...

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the entries of one folder by name; a folder that is not there is empty.

        They are those of one moment, so that of files of which each goes when the next is there
        one is always seen. An entry that is deleted meanwhile is among them, as empty and new.
        """
        ...

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names of the entries of one folder in order, as `list` does; it asks no more.

        On a file system the entries are not looked at one by one.
        """
        ...

    def list_below(self, path: str) -> tuple[FileStatus, ...] | None:
        """Return the files in a folder and in those below it, at any depth.

        None where that costs as much as to list each folder by itself, which it does on a file
        system. The files of an object store are not those of one moment.
        """
        ...

    def folder_mark(self, path: str) -> str | None:
        """Return what changes when a name comes to a folder itself or leaves it; costs one look.

        Two changes within one tick of the file system's clock may leave the same mark behind.
        None: an object store has no such thing, or there is no folder.
        """
        ...

    def statuses(self, paths: Collection[str]) -> dict[str, FileStatus]:
        """Return those of several files that are there, by path; folders are not among them."""
        ...

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Delete a file, or with `recursive` a folder and all below; it may be absent.

        Without `recursive` a folder goes only when it is empty (else `FileAccessError`).
        A symbolic link is removed, never followed.
        """
        ...

    def delete_files(self, paths: Collection[str], *, durable: bool = False) -> None:
        """Delete several files; absent ones are fine. Cheaper than one by one.

        With `durable=True` none of them is back after a power cut; else nothing waits for the disk.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at `path`."""
        ...

    def missing(self, paths: Collection[str]) -> tuple[str, ...]:
        """Return those of several files that are not there, in their order."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes.

        Raises:
            MissingFileError: there is no such file.
        """
        ...

    def rename_dir(self, source: str, target: str) -> None:
        """Move a folder, durable. One step on a file system; file by file on an object store.

        Raises:
            MissingFileError: `source` is not there.
            AlreadyExistsError: `target` is there.
        """
        ...
