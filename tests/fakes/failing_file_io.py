"""A file system that fails, or dies, at its n-th operation.

`Fault.KILL_*` raises `Killed`, which no code of ours may catch, and refuses every operation after
it, clean-up included: the process is dead. `Fault.ERROR_*` raises the error of a failing disk, once
or from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeVar

import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO, FileStatus, OutputFile
from table_store.storage.kernel.errors import FileAccessError

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


class FailingFileIO:
    """Implements `FileIO` over another one; operations count from 1, `fail_at` 0 is never."""

    def __init__(self, inner: FileIO, fail_at: int = 0, fault: Fault = Fault.KILL_BEFORE) -> None:
        self._inner = inner
        self._fail_at = fail_at
        self._fault = fault
        self._dead = False
        self.operations = 0

    @property
    def reached(self) -> bool:
        """Whether the fault happened."""
        return 0 < self._fail_at <= self.operations

    def _run(
        self,
        path: str,
        action: Callable[[], Result],
        torn: Callable[[], object] | None = None,
    ) -> Result:
        if self._dead:
            raise Killed
        self.operations += 1
        forever = self._fault is Fault.ERROR_FOREVER and self.reached
        if self.operations != self._fail_at and not forever:
            return action()
        match self._fault:
            case Fault.KILL_BEFORE:
                self._dead = True
                if torn is not None:
                    torn()
                raise Killed
            case Fault.KILL_AFTER:
                self._dead = True
                action()
                raise Killed
            case Fault.ERROR_AFTER:
                action()
        raise FileAccessError(path=path, operation="use", reason="Input/output error (EIO)")

    def read_bytes(self, path: str) -> bytes:
        return self._run(path, lambda: self._inner.read_bytes(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._run(path, lambda: self._inner.open_input(path))

    def write_bytes(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._run(path, lambda: self._inner.write_bytes(path, data, durable=durable))

    def write_files(self, files: Mapping[str, bytes]) -> None:
        def torn() -> None:
            """Leave the first half of the files, and the next one cut off."""
            half = len(files) // 2
            kept = dict(list(files.items())[:half])
            cut_path, cut = list(files.items())[half]
            self._inner.write_files({**kept, cut_path: cut[: len(cut) // 2]})

        self._run(next(iter(files)), lambda: self._inner.write_files(files), torn)

    def write_new(self, path: str, data: bytes) -> bool:
        return self._run(path, lambda: self._inner.write_new(path, data))

    def create_output(self, path: str) -> OutputFile:
        return self._run(path, lambda: self._inner.create_output(path))

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._run(path, lambda: self._inner.list(path))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        self._run(path, lambda: self._inner.delete(path, recursive=recursive))

    def exists(self, path: str) -> bool:
        return self._run(path, lambda: self._inner.exists(path))

    def size(self, path: str) -> int:
        return self._run(path, lambda: self._inner.size(path))

    def rename_dir(self, source: str, target: str) -> None:
        self._run(source, lambda: self._inner.rename_dir(source, target))

    def make_dirs(self, path: str) -> None:
        self._run(path, lambda: self._inner.make_dirs(path))
