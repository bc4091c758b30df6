"""A process that stands still at one of its file operations, while others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.fakes.failing_file_io import FailingFileIO

Result = TypeVar("Result")


class PausingFileIO(FailingFileIO):
    """Runs `meanwhile` once, before an operation.

    Args:
        root: of the files.
        meanwhile: what others do.
        at: the operation's number from 1; 0 to go by the path.
        path_part: it is the first creation of a file, if absent, whose path holds this.
    """

    def __init__(
        self, root: str, meanwhile: Callable[[], object], *, at: int = 0, path_part: str = ""
    ) -> None:
        super().__init__(LocalFileIO(root))
        self._meanwhile = meanwhile
        self._at = at
        self._path_part = path_part
        self.has_paused = False

    def run(
        self,
        path: str,
        action: Callable[[], Result],
        torn: Callable[[], object] | None = None,
    ) -> Result:
        if self.operations + 1 == self._at:
            self._pause()
        return super().run(path, action, torn)

    def write_new(self, path: str, data: bytes, *, private: bool = False) -> bool:
        if self._path_part and self._path_part in path:
            self._pause()
        return super().write_new(path, data, private=private)

    def _pause(self) -> None:
        if not self.has_paused:
            self.has_paused = True
            self._meanwhile()
