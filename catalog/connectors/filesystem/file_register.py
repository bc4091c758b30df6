"""Which files of a folder a table has taken, in the order in which it took them.

The list only grows, so a number of rows says which files these are, whoever counts. It is kept in
pages, files `files/<unique name>` in the table's directory that never change; a position names
those that make up its list. Where pages at the end have no more files than come behind them, one
takes their place: so there are few of them, and a file is written again few times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.connectors.filesystem.taken_file import FILE_BYTES, TakenFile
from table_store.catalog.connectors.positions.position import FileList, FilePage
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.ids import IdSource

FILES_FOLDER: Final = "files"
FILES_VERSION: Final = 2
_REPLACED_KEPT: Final = 8

_pages: BoundedCache[tuple[TakenFile, ...]] = BoundedCache(
    256 << 20, lambda files: FILE_BYTES * (1 + len(files))
)


def files_of_page(file_io: FileIO, path: str) -> tuple[TakenFile, ...]:
    """Return the files that a page names.

    Raises:
        MissingFileError: there is no such page.
        CorruptFileError: it is damaged.
    """
    return from_checked_json(
        file_io.read_bytes(path), _from_json, path=path, version=FILES_VERSION, noun="list of files"
    )


@dataclass(frozen=True, slots=True)
class FileRegister:
    """The pages of the table in a directory."""

    file_io: FileIO
    path: str
    ids: IdSource

    def files(self, taken: FileList) -> list[TakenFile]:
        """Return the files of a list, in its order.

        Raises:
            MissingFileError: the list was followed by others long ago.
            CorruptFileError: a page is damaged.
        """
        return [file for page in taken.pages for file in self._read(page)]

    def extended(self, taken: FileList, new: Sequence[TakenFile]) -> FileList:
        """Return the list with more files at its end; whoever publishes it has read `taken`.

        Raises:
            MissingFileError: as `files`.
        """
        kept, added = list(taken.pages), list(new)
        replaced = []
        while kept and kept[-1].files <= len(added):
            page = kept.pop()
            added = [*self._read(page), *added]
            replaced.append(page.name)
        name = self.ids.unique()
        content = [[file.path, file.size_bytes, file.modified_ms] for file in added]
        data = to_checked_json({"files": content}, version=FILES_VERSION)
        self.file_io.write_bytes(self._path(name), data)
        # Who goes by a list of before may still read its pages; this one may never be published.
        old = (*taken.replaced, *replaced)
        rest = min(len(taken.replaced), max(0, len(old) - _REPLACED_KEPT))
        self.file_io.delete_files([self._path(gone) for gone in old[:rest]])
        return FileList(
            pages=(*kept, FilePage(name, len(added), sum(file.weight for file in added))),
            replaced=old[rest:],
        )

    def _read(self, page: FilePage) -> tuple[TakenFile, ...]:
        path = self._path(page.name)
        held = _pages.get(path)
        if held is None:
            held = files_of_page(self.file_io, path)
            _pages.put(path, held)
        return held

    def _path(self, name: str) -> str:
        return join_path(self.path, FILES_FOLDER, name)


def _from_json(item: Mapping[str, Any]) -> tuple[TakenFile, ...]:
    return tuple(TakenFile(str(path), int(size), int(ms)) for path, size, ms in item["files"])
