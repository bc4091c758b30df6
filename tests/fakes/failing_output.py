"""A file system whose n-th write to an output file, or close of one, is refused: a full disk."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import FileAccessError


class FullDiskFileIO(LocalFileIO):
    """A local file system; operations on outputs count from 1."""

    def __init__(self, folder: Path, fail_at: int) -> None:
        super().__init__(str(folder))
        object.__setattr__(self, "countdown", [fail_at])

    @property
    def was_full(self) -> bool:
        return bool(self.countdown[0] <= 0)  # type: ignore[attr-defined]

    def create_output(self, path: str) -> OutputFile:
        return _FailingOutput(super().create_output(path), path, self)

    def count(self, path: str) -> None:
        self.countdown[0] -= 1  # type: ignore[attr-defined]
        if self.countdown[0] == 0:  # type: ignore[attr-defined]
            raise FileAccessError(path=path, operation="write", reason="ENOSPC")


class _FailingOutput:
    def __init__(self, inner: OutputFile, path: str, file_io: FullDiskFileIO) -> None:
        self._inner = inner
        self._path = path
        self._file_io = file_io

    @property
    def closed(self) -> bool:
        return self._inner.closed

    @property
    def checksum(self) -> int:
        return self._inner.checksum

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        self._file_io.count(self._path)
        return self._inner.write(data)

    def tell(self) -> int:
        return self._inner.tell()

    def flush(self) -> None:
        return

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._file_io.count(self._path)
        self._inner.close()

    def abort(self) -> None:
        self._inner.abort()
