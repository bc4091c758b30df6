"""A file to write to for C++ writers that cannot bear an error of the file."""

from __future__ import annotations

import pyarrow as pa

from table_store.storage.file_io.file_io import OutputFile


class ErrorKeepingSink:
    """Passes bytes to `sink` until that fails; keeps the error for `check` and drops the rest.

    ORC's C++ writer writes in a destructor and ends the whole process when that raises; Parquet's
    turns some errors into others. The format's writer calls `check` after each call instead.
    """

    def __init__(self, sink: OutputFile) -> None:
        self._sink = sink
        self._error: BaseException | None = None
        self._is_dropped = False
        self.closed = False

    def check(self) -> None:
        """Raise the error that `sink` raised, if it did."""
        if self._error is not None:
            raise self._error

    def drop(self) -> None:
        """Throw away everything that is written from now on."""
        self._is_dropped = True

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        """Append `data`; never fails."""
        if not self._is_dropped:
            try:
                return self._sink.write(data)
            except BaseException as error:  # noqa: BLE001 - an edge to C++; `check` raises it
                self._error = error
                self._is_dropped = True
        return memoryview(data).nbytes

    def tell(self) -> int:
        """Return the bytes written so far."""
        return self._sink.tell()

    def flush(self) -> None:
        """Do nothing: the owner of the sink makes the file durable."""

    def close(self) -> None:
        """Close this object; the sink stays open."""
        self.closed = True

    def readable(self) -> bool:
        """Asked by Arrow."""
        return False

    def writable(self) -> bool:
        """Asked by Arrow."""
        return True

    def seekable(self) -> bool:
        """Asked by Arrow."""
        return False
