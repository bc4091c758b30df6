"""Objects of S3, Google Cloud Storage, Azure, or (for tests) of this process's memory.

Uses the optional package `obstore`. Creating an object only if it is absent is one conditional put,
which all of these stores have; folders exist only as parts of names.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import IO, Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from table_store.storage.file_io.counted_output import CountedOutput
from table_store.storage.file_io.file_io import HARMLESS, FileStatus, OutputFile
from table_store.storage.file_io.path import base_name, check_segments
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    FileAccessError,
    MissingFileError,
    PathNotAllowedError,
    TableStoreError,
)

SCHEMES: Final = ("s3", "s3a", "gs", "az", "abfs", "abfss", "memory")
IN_MEMORY: Final = "memory:"

_WHOLE_BYTES_MAX: Final = 16 << 20
"""Up to this size an unfinished object is kept in memory and put by one request.

A larger one is collected in a temporary file and put in parts."""

_PART_BYTES: Final = 8 << 20
_PARALLEL_PARTS: Final = 4
"""Parts that are sent at the same time; one part more than that is in memory."""

_PARALLEL_REQUESTS: Final = 8
_DELETE_BATCH: Final = 1000

_CLIENT_OPTIONS: Final = frozenset({"allow_http", "timeout", "connect_timeout"})


@cache
def _obstore() -> ModuleType:
    # The package is heavy and optional, so it is loaded only when an object store is opened.
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError as error:
        raise TableStoreError(
            "Object stores need the package 'obstore': pip install 'spark-table-store[objects]'."
        ) from error
    return obstore


@cache
def _store_of(bucket: str, options: tuple[tuple[str, str], ...]) -> Any:
    """Return the one client of a bucket; there is one because it keeps its connections."""
    store = _obstore().store
    if bucket.startswith(IN_MEMORY):
        return store.MemoryStore()
    client = {
        key: value == "true" if key == "allow_http" else value
        for key, value in options
        if key in _CLIENT_OPTIONS
    }
    config = {key: value for key, value in options if key not in _CLIENT_OPTIONS}
    return store.from_url(bucket, config=config, client_options=client or None)


@dataclass(frozen=True, slots=True)
class ObjectFileIO:
    """Objects whose URI begins with `root`, e.g. `s3://bucket/warehouse`.

    `options` are those of obstore's stores (`endpoint`, `region`, `access_key_id`, …), sorted;
    they may hold secrets and are not shown. `memory://name` is a store of this process.
    """

    root: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def read_bytes(self, path: str) -> bytes:
        """See `FileIO.read_bytes`."""
        with _translated(path, "read"):
            return bytes(self._store.get(self._key(path)).bytes())

    def open_input(self, path: str) -> pa.NativeFile:
        """See `FileIO.open_input`. Every read is one request for just that range."""
        key = self._key(path)
        return pa.PythonFile(_ObjectInput(self._store, key, path, self.size(path)), mode="r")

    def write_bytes(
        self,
        path: str,
        data: bytes,
        *,
        durable: bool = True,  # noqa: ARG002 - a put always is
        private: bool = False,  # noqa: ARG002 - an object is as private as its bucket
    ) -> None:
        """See `FileIO.write_bytes`."""
        with _translated(path, "replace"):
            self._store.put(self._key(path), data)

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """See `FileIO.write_files`; the puts run side by side."""
        store, keys = self._store, [self._key(path) for path in files]
        pool = ThreadPoolExecutor(_PARALLEL_REQUESTS)
        with _translated(next(iter(files), ""), "write"), pool:
            list(pool.map(store.put, keys, files.values()))

    def write_new(
        self,
        path: str,
        data: bytes,
        *,
        private: bool = False,  # noqa: ARG002 - an object is as private as its bucket
    ) -> bool:
        """See `FileIO.write_new`."""
        return self._put_new(path, data)

    def create_output(self, path: str) -> OutputFile:
        """See `FileIO.create_output`; the object is put when it is closed.

        At most some 40 MiB are held in memory. If the process is killed while it puts a large
        object in parts, those parts stay, and no listing shows them: the bucket's own rule for
        incomplete multipart uploads removes them. The call checks that the object is absent, but
        its creation is not conditional, so nobody else may use its name.
        """
        self._key(path)
        return _ObjectOutput(self, path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """See `FileIO.list`; folders have no time."""
        base = path.rstrip("/")
        with _translated(path, "list"):
            found = self._store.list_with_delimiter(self._key(path) or None)
        folders = (base_name(prefix) for prefix in found["common_prefixes"])
        entries = [
            FileStatus(name=name, path=f"{base}/{name}", size=0, modified_ms=0, is_dir=True)
            for name in folders
        ]
        own = self._key(path)  # an object of the folder's own name marks it as made, in consoles
        entries += [
            _status(f"{base}/{base_name(item['path'])}", item)
            for item in found["objects"]
            if item["path"] != own
        ]
        return tuple(sorted(entries, key=lambda e: e.name))

    def list_below(self, path: str) -> tuple[FileStatus, ...] | None:
        """See `FileIO.list_below`: one request for each thousand objects."""
        base, cut = path.rstrip("/"), len(self._key(path))
        with _translated(path, "list"):
            batches = list(self._store.list(self._key(path) or None))
        found = [
            _status(f"{base}/{item['path'][cut:].lstrip('/')}", item)
            for batch in batches
            for item in batch
            if len(item["path"]) > cut
        ]
        # The client hides the slash by which an empty object marks a folder.
        there = self.statuses([status.path for status in found if not status.size])
        return tuple(status for status in found if status.size or status.path in there)

    def folder_mark(self, path: str) -> str | None:  # noqa: ARG002
        """See `FileIO.folder_mark`."""
        return None

    def statuses(self, paths: Collection[str]) -> dict[str, FileStatus]:
        """See `FileIO.statuses`; the requests run side by side."""
        if len(paths) < 2:  # as for `missing`
            found = [self._status(path) for path in paths]
        else:
            with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
                found = list(pool.map(self._status, paths))
        return {status.path: status for status in found if status is not None}

    def names(self, path: str) -> tuple[str, ...]:
        """See `FileIO.names`."""
        return tuple(status.name for status in self.list(path))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        """See `FileIO.delete`; without `recursive` there is no folder that could be deleted."""
        key = self._key(path)
        with _translated(path, "delete"), suppress(FileNotFoundError):
            if not recursive:
                self._store.delete(key)
                return
            self._delete_keys([*self._keys_below(key)])

    def delete_files(
        self,
        paths: Collection[str],
        *,
        durable: bool = False,  # noqa: ARG002 - a deletion always is
    ) -> None:
        """See `FileIO.delete_files`; a request for each thousand."""
        keys = [self._key(path) for path in paths]
        with _translated(next(iter(paths), ""), "delete"):
            self._delete_keys(keys)

    def exists(self, path: str) -> bool:
        """See `FileIO.exists`."""
        key = self._key(path)
        with _translated(path, "look at"):
            try:
                self._store.head(key)
            except FileNotFoundError:
                return next(iter(self._keys_below(key)), None) is not None
            return True

    def missing(self, paths: Collection[str]) -> tuple[str, ...]:
        """See `FileIO.missing`; the requests run side by side."""
        if len(paths) < 2:  # the usual case, in which a thread would cost as much as the request
            return tuple(path for path in paths if not self.exists(path))
        with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
            found = list(pool.map(self.exists, paths))
        return tuple(path for path, is_there in zip(paths, found, strict=True) if not is_there)

    def size(self, path: str) -> int:
        """See `FileIO.size`."""
        with _translated(path, "look at"):
            return int(self._store.head(self._key(path))["size"])

    def rename_dir(self, source: str, target: str) -> None:
        """See `FileIO.rename_dir`. A crash in between leaves objects under both names."""
        old, new = self._key(source), self._key(target)
        with _translated(source, "rename"):
            keys = [*self._keys_below(old)]
            if not keys:
                raise MissingFileError(path=source)
            if next(iter(self._keys_below(new)), None) is not None:
                raise AlreadyExistsError(kind="folder", name=target)
            for key in keys:
                self._store.copy(key, new + key[len(old) :])
            self._store.delete(keys)

    @property
    def _bucket(self) -> str:
        parts = urlsplit(self.root)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def _store(self) -> Any:
        return _store_of(self._bucket, self.options)

    def _key(self, path: str) -> str:
        check_segments(path)
        root = self.root.rstrip("/")
        if path.rstrip("/") != root and not path.startswith(root + "/"):
            raise PathNotAllowedError(path=path, reason=f"it lies outside of {self.root!r}")
        return path[len(self._bucket) :].strip("/")

    def _status(self, path: str) -> FileStatus | None:
        with _translated(path, "look at"):
            try:
                return _status(path, self._store.head(self._key(path)))
            except FileNotFoundError:
                return None

    def _delete_keys(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), _DELETE_BATCH):
            batch = keys[start : start + _DELETE_BATCH]
            try:
                self._store.delete(batch)
            except FileNotFoundError:  # Google and Azure stop at the first absent object
                for key in batch:
                    with suppress(FileNotFoundError):
                        self._store.delete(key)

    def _keys_below(self, key: str) -> Iterator[str]:
        for batch in self._store.list(key or None):
            yield from (item["path"] for item in batch)

    def _put_new(self, path: str, data: object) -> bool:
        with _translated(path, "create"):
            try:
                self._store.put(self._key(path), data, mode="create", use_multipart=False)
            except _obstore().exceptions.AlreadyExistsError:
                return False
            return True

    def _put_new_in_parts(self, path: str, file: IO[bytes]) -> bool:
        key = self._key(path)
        with _translated(path, "create"):
            try:
                self._store.head(key)
            except FileNotFoundError:
                # If this fails, the client removes the parts that it has already put.
                self._store.put(
                    key,
                    file,
                    use_multipart=True,
                    chunk_size=_PART_BYTES,
                    max_concurrency=_PARALLEL_PARTS,
                )
                return True
            return False


def _status(path: str, item: Mapping[str, Any]) -> FileStatus:
    """Return the status of an object; a request for it alone tells the time in whole seconds."""
    return FileStatus(
        name=base_name(path),
        path=path,
        size=item["size"],
        modified_ms=int(item["last_modified"].timestamp()) * 1000,
        is_dir=False,
    )


class _ObjectInput(io.RawIOBase):
    """Random access to an object by ranges."""

    def __init__(self, store: Any, key: str, path: str, size_bytes: int) -> None:
        super().__init__()
        self._store = store
        self._key = key
        self._path = path
        self._size_bytes = size_bytes
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}
        self._position = start[whence] + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._size_bytes - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        if length == 0:
            return b""
        with _translated(self._path, "read"):
            data = bytes(self._store.get_range(self._key, start=self._position, length=length))
        self._position += len(data)
        return data


class _ObjectOutput(CountedOutput):
    def __init__(self, file_io: ObjectFileIO, path: str) -> None:
        # `close` or `abort` closes it, because it is needed after this function.
        super().__init__(path, tempfile.SpooledTemporaryFile(_WHOLE_BYTES_MAX))  # noqa: SIM115
        self._file_io = file_io

    def close(self) -> None:
        if self.file.closed:
            return
        try:
            self.file.seek(0)
            if self.tell() <= _WHOLE_BYTES_MAX:
                is_new = self._file_io._put_new(self.path, self.file.read())
            else:
                is_new = self._file_io._put_new_in_parts(self.path, self.file)
            if not is_new:
                raise AlreadyExistsError(kind="file", name=self.path)
        finally:
            self.file.close()

    def abort(self) -> None:
        self.file.close()


@contextmanager
def _translated(path: str, operation: str) -> Iterator[None]:
    """Turn errors of the store into ours."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFileError(path=path) from error
    except (_obstore().exceptions.BaseError, OSError) as error:
        # The first line says what happened; the rest is the client's internal structure.
        reason = str(error).strip().split("\n", 1)[0]
        raise FileAccessError(
            path=path,
            operation=operation,
            reason=reason,
            may_have_happened=operation not in HARMLESS,
        ) from error
