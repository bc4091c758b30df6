"""What the output files of every store have in common."""

from __future__ import annotations

import zlib
from typing import IO

import pyarrow as pa


class CountedOutput:
    """A binary file that is written from front to back, and knows its length and checksum.

    It has every method that Arrow calls on a file which it writes to. Each store says in a
    subclass how its files are made durable or thrown away: see `OutputFile`.
    """

    def __init__(self, path: str, file: IO[bytes]) -> None:
        self.path = path
        self.file = file
        self._size_bytes = 0
        self._checksum = 0

    @property
    def closed(self) -> bool:
        """See `OutputFile.closed`."""
        return self.file.closed

    @property
    def checksum(self) -> int:
        """See `OutputFile.checksum`."""
        return self._checksum

    def write(self, data: bytes | memoryview | pa.Buffer) -> int:
        """See `OutputFile.write`.

        Raises:
            OSError: the file refused the bytes.
        """
        with memoryview(data) as view:
            self.file.write(view)
            self._checksum = zlib.crc32(view, self._checksum)
            self._size_bytes += view.nbytes
            return view.nbytes

    def tell(self) -> int:
        """See `OutputFile.tell`."""
        return self._size_bytes

    def flush(self) -> None:
        """See `OutputFile.flush`."""

    def readable(self) -> bool:
        """Return False: Arrow asks whether it may read the file."""
        return False

    def writable(self) -> bool:
        """Return True: Arrow asks whether it may write to the file."""
        return True

    def seekable(self) -> bool:
        """Return False: Arrow asks whether it may go back in the file."""
        return False
