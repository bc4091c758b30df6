"""Files of a POSIX file system."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa

from table_store.storage.file_io.counted_output import CountedOutput
from table_store.storage.file_io.file_io import HARMLESS, TEMP_PREFIX, FileStatus, OutputFile
from table_store.storage.file_io.path import check_segments, path_in_uri
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    FileAccessError,
    MissingFileError,
    PathNotAllowedError,
)

_BUFFER_BYTES: Final = 1 << 20


def local_path(path: str) -> str:
    """Return the absolute path that `path`, or a `file:` URI, names.

    Raises:
        PathNotAllowedError: it is relative, climbs, holds NUL, or names another host.
    """
    if path.startswith("file:"):
        path = path_in_uri(path)
    check_segments(path)
    if not path.startswith("/"):
        raise PathNotAllowedError(path=path, reason="it is not absolute")
    return path


@dataclass(frozen=True, slots=True)
class LocalFileIO:
    """Files below `root`; symbolic links that lead out of it are refused.

    A new name is published by `link`, which fails where the name exists: atomic on every POSIX
    file system, NFS included. Content goes to disk by `fsync`, names by `fsync` of the folder.
    """

    root: str = "/"

    def read_bytes(self, path: str) -> bytes:
        """See `FileIO.read_bytes`."""
        with _translated(path, "read"), open(self._checked(path), "rb") as file:
            return file.read()

    def open_input(self, path: str) -> pa.NativeFile:
        """See `FileIO.open_input`."""
        with _translated(path, "open"):
            return pa.OSFile(self._checked(path), mode="r")

    def write_bytes(
        self, path: str, data: bytes, *, durable: bool = True, private: bool = False
    ) -> None:
        """See `FileIO.write_bytes`."""
        target = self._checked(path)
        with _translated(path, "replace"):
            temp = _write_temp(target, data, durable=durable, mode=_mode(private))
            try:
                os.replace(temp, target)
            except OSError:
                _discard(temp)
                raise
            if durable:
                _sync_directory(os.path.dirname(target))

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """See `FileIO.write_files`."""
        targets = {self._checked(path): data for path, data in files.items()}
        handles: list[int] = []
        with _translated(next(iter(files), ""), "write"):
            try:
                # All content is written first, so that the first fsync carries most of it along.
                for target, data in targets.items():
                    handles.append(_open_new(target))
                    _write_all(handles[-1], data)
                for handle in handles:
                    os.fsync(handle)
            finally:
                for handle in handles:
                    os.close(handle)
            for folder in sorted({os.path.dirname(target) for target in targets}):
                _sync_directory(folder)

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        """See `FileIO.write_new`."""
        target = self._checked(path)
        with _translated(path, "write"):
            if os.path.lexists(target):
                return False
            temp = _write_temp(target, data, durable=True, mode=_mode(private))
        with _translated(path, "create"):
            try:
                os.link(temp, target)
            except FileExistsError:
                # NFS may repeat a request whose answer was lost. If the temporary file has two
                # names, the link that exists is the one made here.
                if os.stat(temp).st_nlink < 2:
                    return False
            finally:
                _discard(temp)
            _sync_directory(os.path.dirname(target))
            return True

    def create_output(self, path: str) -> OutputFile:
        """See `FileIO.create_output`."""
        target = self._checked(path)
        with _translated(path, "write"):
            try:
                return _LocalOutput(path, os.fdopen(_open_new(target), "wb", _BUFFER_BYTES))
            except FileExistsError as error:
                raise AlreadyExistsError(kind="file", name=path) from error

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """See `FileIO.list`. A link that leads nowhere is left out."""
        with _translated(path, "list"):
            try:
                entries = sorted(os.scandir(self._checked(path)), key=lambda e: e.name)
            except FileNotFoundError:
                return ()
            return tuple(s for e in entries if (s := _status(e, path)) is not None)

    def names(self, path: str) -> tuple[str, ...]:
        """See `FileIO.names`. A link that leads nowhere is among them."""
        with _translated(path, "list"):
            try:
                return tuple(sorted(os.listdir(self._checked(path))))
            except FileNotFoundError:
                return ()

    def list_below(self, path: str) -> tuple[FileStatus, ...] | None:  # noqa: ARG002
        """See `FileIO.list_below`."""
        return None

    def folder_mark(self, path: str) -> str | None:
        """See `FileIO.folder_mark`."""
        with _translated(path, "look at"):
            try:
                found = os.stat(self._checked(path))
            except FileNotFoundError:
                return None
        return f"{found.st_dev} {found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns}"

    def statuses(self, paths: Collection[str]) -> dict[str, FileStatus]:
        """See `FileIO.statuses`."""
        there = {}
        for path in paths:
            with _translated(path, "look at"):
                try:
                    found = os.stat(self._checked(path))
                except (FileNotFoundError, NotADirectoryError):
                    continue
            if stat.S_ISREG(found.st_mode):
                there[path] = FileStatus(
                    name=os.path.basename(path),
                    path=path,
                    size=found.st_size,
                    modified_ms=found.st_mtime_ns // 1_000_000,
                    is_dir=False,
                )
        return there

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """See `FileIO.delete`."""
        # The link itself is deleted, not its target, so the folder of the link is checked.
        target = local_path(path).rstrip("/")
        if target == self._real_root() or not target:
            self._checked(path)
        else:
            self._checked(os.path.dirname(target))
        with _translated(path, "delete"), suppress(FileNotFoundError):
            if os.path.islink(target) or not os.path.isdir(target):
                os.unlink(target)
            elif recursive:
                shutil.rmtree(target)
            else:
                os.rmdir(target)

    def delete_files(self, paths: Collection[str], *, durable: bool = False) -> None:
        """See `FileIO.delete_files`."""
        for path in paths:
            self.delete(path)
        folders = {os.path.dirname(local_path(path)) for path in paths} if durable else ()
        for folder in sorted(folders):
            with _translated(folder, "delete"), suppress(FileNotFoundError):
                _sync_directory(folder)

    def exists(self, path: str) -> bool:
        """See `FileIO.exists`."""
        return os.path.exists(self._checked(path))

    def missing(self, paths: Collection[str]) -> tuple[str, ...]:
        """See `FileIO.missing`."""
        return tuple(path for path in paths if not self.exists(path))

    def size(self, path: str) -> int:
        """See `FileIO.size`."""
        with _translated(path, "look at"):
            return os.stat(self._checked(path)).st_size

    def rename_dir(self, source: str, target: str) -> None:
        """See `FileIO.rename_dir`."""
        old, new = self._checked(source), self._checked(target)
        with _translated(source, "rename"):
            if os.path.lexists(new):
                raise AlreadyExistsError(kind="folder", name=target)
            _make_directories(os.path.dirname(new))
            os.rename(old, new)
            for folder in sorted({os.path.dirname(old), os.path.dirname(new)}):
                _sync_directory(folder)

    def _real_root(self) -> str:
        return os.path.realpath(local_path(self.root))

    def _checked(self, path: str) -> str:
        """Return the plain path; links are resolved only to see that they stay below the root."""
        plain = local_path(path)
        root = _known_root(self.root)
        if root == "/" or (
            _is_below(plain, self.root) and not _has_link(plain, len(self.root) + 1)
        ):
            return plain
        real = os.path.realpath(plain)
        if not _is_below(real, root) and not _is_below(real, self._real_root()):
            raise PathNotAllowedError(path=path, reason=f"it lies outside of {self.root!r}")
        return plain


@lru_cache(maxsize=256)
def _known_root(root: str) -> str:
    """Return the real path that a root had at its first use: resolving costs a small read."""
    return os.path.realpath(local_path(root))


def _is_below(real: str, root: str) -> bool:
    return real == root or real.startswith(root + "/")


def _has_link(path: str, start: int) -> bool:
    """Whether a name behind offset `start` is a symbolic link; cheaper than resolving the path."""
    while (end := path.find("/", start)) != -1:
        if os.path.islink(path[:end]):
            return True
        start = end + 1
    return os.path.islink(path)


class _LocalOutput(CountedOutput):
    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        with _translated(self.path, "write"):
            return super().write(data)

    def close(self) -> None:
        if self.file.closed:
            return
        with _translated(self.path, "write"):
            try:
                self.file.flush()
                os.fsync(self.file.fileno())
            finally:
                self.file.close()
            _sync_directory(os.path.dirname(local_path(self.path)))

    def abort(self) -> None:
        if self.file.closed:
            return
        with suppress(OSError):  # what could not be flushed is thrown away anyway
            self.file.close()
        _discard(local_path(self.path))


@contextmanager
def _translated(path: str, operation: str) -> Iterator[None]:
    """Turn errors of the operating system into ours."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingFileError(path=path) from error
    except OSError as error:
        if operation in ("read", "open") and os.path.isdir(path):  # as in S3, a folder is no file
            raise MissingFileError(path=path) from error
        reason = error.strerror or str(error)
        if error.errno is not None:
            reason = f"{reason} ({errno.errorcode.get(error.errno, error.errno)})"
        raise FileAccessError(
            path=path,
            operation=operation,
            reason=reason,
            may_have_happened=operation not in HARMLESS,
        ) from error


def _mode(private: bool) -> int:
    return 0o600 if private else 0o666


def _open_new(target: str, mode: int = 0o666) -> int:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    try:
        return os.open(target, flags, mode)
    except FileNotFoundError:
        _make_directories(os.path.dirname(target))
        return os.open(target, flags, mode)


def _write_temp(target: str, data: bytes, *, durable: bool, mode: int) -> str:
    folder, name = os.path.split(target)
    # The name may be cut, because only the prefix matters and that nobody else has the name.
    temp = os.path.join(folder, f"{TEMP_PREFIX}{uuid.uuid4().hex}-{name[:100]}")
    handle = _open_new(temp, mode)
    try:
        _write_all(handle, data)
        if durable:
            os.fsync(handle)
    except OSError:
        _discard(temp)
        raise
    finally:
        os.close(handle)
    return temp


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest.nbytes:
        rest = rest[os.write(handle, rest) :]


def _discard(path: str) -> None:
    """Delete a temporary file; if that fails, the removal of orphans finds it later."""
    with suppress(OSError):
        os.unlink(path)


def _sync_directory(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_directories(folder: str) -> None:
    """Create missing folders from the top, each name durable before the next one."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        # Another writer may have made the folder since it was found missing.
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise FileExistsError(errno.EEXIST, "a file is where a folder should be", folder)
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        with suppress(FileExistsError):  # another writer made it first
            os.mkdir(path)
        _sync_directory(os.path.dirname(path))


def _status(entry: os.DirEntry[str], folder: str) -> FileStatus | None:
    is_dir = entry.is_dir()
    try:
        found = entry.stat()
    except FileNotFoundError:
        if entry.is_symlink():
            return None
        size, modified_ns = 0, time.time_ns()
    else:
        if not is_dir and not stat.S_ISREG(found.st_mode):
            return None  # a pipe or socket
        size, modified_ns = found.st_size, found.st_mtime_ns
    return FileStatus(
        name=entry.name,
        path=f"{folder.rstrip('/')}/{entry.name}",
        size=0 if is_dir else size,
        modified_ms=modified_ns // 1_000_000,
        is_dir=is_dir,
    )
