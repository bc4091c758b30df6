"""A file system that fails, or dies, at its n-th operation.

`Fault.KILL_*` raises `Killed`, which no code of ours may catch, and refuses every operation after
it, clean-up included: the process is dead. `Fault.ERROR_*` raises the error of a failing disk, once
or from then on. `Fault.LATE` raises it as well, and what was to be written lands when `land` is
called: a request that a network has kept back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from enum import Enum
from typing import TypeVar

import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO, FileStatus, OutputFile
from table_store.storage.kernel.errors import FileAccessError, TableStoreError

Result = TypeVar("Result")


class Killed(BaseException):
    """The process ended here."""


class Fault(Enum):
    """What happens at the chosen operation."""

    KILL_BEFORE = "killed before it"
    KILL_AFTER = "killed after it"
    ERROR_BEFORE = "refused, without effect"
    ERROR_AFTER = "took effect, but reports an error"
    ERROR_FOREVER = "refused, like everything after it"
    OUTAGE = "took effect, but reports an error, and everything after it is refused"
    LATE = "reports an error, and takes effect when it is called for"


class FailingFileIO:
    """Implements `FileIO` over another one.

    Args:
        inner: where everything happens.
        fail_at: the number of the operation with the fault, from 1; 0 is never.
        fault: what happens there.
        counts_writes: whether each write to an output file is an operation, not only its first.
        fail_in: the fault is at the first creation, if absent, of a file whose path holds this.
    """

    def __init__(
        self,
        inner: FileIO,
        fail_at: int = 0,
        fault: Fault = Fault.KILL_BEFORE,
        *,
        counts_writes: bool = False,
        fail_in: str = "",
    ) -> None:
        self._inner = inner
        self.counts_writes = counts_writes
        self._fail_at = fail_at
        self._fault = fault
        self._fail_in = fail_in
        self.is_dead = False
        self.operations = 0
        self._late: Callable[[], object] | None = None

    @property
    def reached(self) -> bool:
        """Whether the fault happened."""
        return 0 < self._fail_at <= self.operations

    def land(self) -> object:
        """Let a write that is late take effect, on what is there by now; what it would have said.

        None where there is none, or it fails: nobody is there to be told.
        """
        late, self._late = self._late, None
        if late is not None:
            with suppress(TableStoreError):
                return late()
        return None

    def drop_late(self) -> None:
        """Forget a write that is late: its file is given up."""
        self._late = None

    def run(
        self,
        path: str,
        action: Callable[[], Result],
        torn: Callable[[], object] | None = None,
    ) -> Result:
        """Do one operation, or what happens instead; `torn` is what being killed leaves of it."""
        if self.is_dead:
            raise Killed
        self.operations += 1
        begins = self.operations == self._fail_at
        lasts = self._fault in (Fault.ERROR_FOREVER, Fault.OUTAGE) and self.reached
        if not begins and not lasts:
            return action()
        match self._fault:
            case Fault.KILL_BEFORE:
                self.is_dead = True
                if torn is not None:
                    torn()
                raise Killed
            case Fault.KILL_AFTER:
                self.is_dead = True
                action()
                raise Killed
            case Fault.ERROR_AFTER:
                action()
            case Fault.OUTAGE if begins:
                action()
            case Fault.LATE:
                self._late = action
                raise FileAccessError(path=path, operation="use", reason="timeout")
        raise FileAccessError(path=path, operation="use", reason="Input/output error (EIO)")

    def read_bytes(self, path: str) -> bytes:
        return self.run(path, lambda: self._inner.read_bytes(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return self.run(path, lambda: self._inner.open_input(path))

    def write_bytes(
        self, path: str, data: bytes, *, durable: bool = True, private: bool = False
    ) -> None:
        self.run(
            path, lambda: self._inner.write_bytes(path, data, durable=durable, private=private)
        )

    def write_files(self, files: Mapping[str, bytes]) -> None:
        def torn() -> None:
            """Leave the first half of the files, and the next one cut off."""
            half = len(files) // 2
            kept = dict(list(files.items())[:half])
            cut_path, cut = list(files.items())[half]
            self._inner.write_files({**kept, cut_path: cut[: len(cut) // 2]})

        self.run(next(iter(files)), lambda: self._inner.write_files(files), torn)

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        if self._fail_in and self._fail_in in path:
            self._fail_in, self._fail_at = "", self.operations + 1
        return self.run(path, lambda: self._inner.write_new(path, data, private=private))

    def create_output(self, path: str) -> OutputFile:
        opened: list[OutputFile] = []

        def create() -> OutputFile:
            opened.append(self._inner.create_output(path))
            return opened[0]

        try:
            return _CountedOutput(self, path, self.run(path, create))
        except FileAccessError:
            for output in opened:
                output.abort()
            raise

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self.run(path, lambda: self._inner.list(path))

    def names(self, path: str) -> tuple[str, ...]:
        return self.run(path, lambda: self._inner.names(path))

    def list_below(self, path: str) -> tuple[FileStatus, ...] | None:
        return self.run(path, lambda: self._inner.list_below(path))

    def folder_mark(self, path: str) -> str | None:
        return self.run(path, lambda: self._inner.folder_mark(path))

    def statuses(self, paths: Collection[str]) -> dict[str, FileStatus]:
        return self.run(next(iter(paths), ""), lambda: self._inner.statuses(paths))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        self.run(path, lambda: self._inner.delete(path, recursive=recursive))

    def delete_files(self, paths: Collection[str], *, durable: bool = False) -> None:
        def delete(path: str) -> None:
            self.run(path, lambda: self._inner.delete_files((path,), durable=durable))

        for path in paths:  # each may be the last
            delete(path)

    def missing(self, paths: Collection[str]) -> tuple[str, ...]:
        return self.run(next(iter(paths), ""), lambda: self._inner.missing(paths))

    def exists(self, path: str) -> bool:
        return self.run(path, lambda: self._inner.exists(path))

    def size(self, path: str) -> int:
        return self.run(path, lambda: self._inner.size(path))

    def rename_dir(self, source: str, target: str) -> None:
        self.run(source, lambda: self._inner.rename_dir(source, target))


class _CountedOutput:
    """A file being written: its writes, torn when killed, and its close are operations."""

    def __init__(self, owner: FailingFileIO, path: str, inner: OutputFile) -> None:
        self._owner = owner
        self._path = path
        self._inner = inner

    @property
    def closed(self) -> bool:
        return self._inner.closed

    @property
    def checksum(self) -> int:
        return self._inner.checksum

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        if self._inner.tell() and not self._owner.counts_writes:
            return self._inner.write(data)
        half = bytes(memoryview(data)[: memoryview(data).nbytes // 2])
        return self._owner.run(
            self._path, lambda: self._inner.write(data), lambda: self._inner.write(half)
        )

    def tell(self) -> int:
        return self._inner.tell()

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._owner.run(self._path, self._inner.close)

    def abort(self) -> None:
        """Free the file's handle, whatever the disk does; a dead process frees nothing."""
        self._owner.drop_late()
        if not self._owner.is_dead:
            self._inner.abort()
