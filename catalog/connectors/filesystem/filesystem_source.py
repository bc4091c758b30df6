"""`'connector' = 'filesystem'`: the files of a folder as rows.

Options and meanings are those of Flink's connector of this name. A look takes the files that are
new, in the order of their times, and they stay taken: a file that changes afterwards is refused,
and one that goes after its rows are in is nobody's concern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from table_store.catalog.connectors.connector_errors import (
    SourceFileChangedError,
    SourceFolderNotFoundError,
    SourcePositionLostError,
)
from table_store.catalog.connectors.filesystem.file_register import FileRegister
from table_store.catalog.connectors.filesystem.file_rows import FileReader
from table_store.catalog.connectors.filesystem.filesystem_definition import (
    PARQUET,
    FilesystemDefinition,
)
from table_store.catalog.connectors.filesystem.folder_listing import (
    files_below,
    files_now,
    has_folder,
)
from table_store.catalog.connectors.filesystem.partition_filter import PartitionFilter
from table_store.catalog.connectors.filesystem.taken_file import FILE_BYTES, TakenFile, parts_of
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import FileList, Position, PositionStore
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.options.filesystem_options import MONITOR_INTERVAL

_SHARE_BYTES: Final = 128 << 20
_MANY: Final = 1_000_000
"""How many rows a file of columns, or a compressed one, counts at least: its size does not say."""

_TEXT_ENDS: Final = (".json", ".jsonl", ".csv", ".tsv", ".txt")


@dataclass(frozen=True, slots=True)
class _NothingNew:
    """All `files` of a folder, as one look has found them, are in the list `taken`."""

    files: tuple[TakenFile, ...]
    taken: FileList


_nothing_new: BoundedCache[_NothingNew] = BoundedCache(
    256 << 20, lambda found: FILE_BYTES * (1 + len(found.files))
)


@dataclass(frozen=True, slots=True)
class FilesystemSource:
    """The rows of a table whose definition names a folder."""

    definition: FilesystemDefinition
    register: FileRegister

    @property
    def bound(self) -> str:
        """The option without which a job ends; a batch query needs none."""
        return MONITOR_INTERVAL.key

    def rows_max(self, last: Position | None) -> int | None:
        """Return how many rows there will be; None: new files may come."""
        return last.rows if self.definition.interval_ms is None and last is not None else None

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position with the new files; None if it is still the last one.

        Raises:
            SourceFolderNotFoundError: there is no such folder.
            SourceFileChangedError: a file is not what it was when it was taken.
        """
        del pause_ms, moment  # files come also while nobody looks
        interval_ms = self.definition.interval_ms
        if last is not None and (
            interval_ms is None or last.at_ms <= now_ms < last.at_ms + interval_ms
        ):
            return None
        taken = FileList() if last is None or last.files is None else last.files
        root = self.definition.root
        there = self._checked(files_now(file_io_for(root), root))
        held = _nothing_new.get(self.register.path)
        if held is not None and held.files is there and held.taken == taken:
            return None
        try:
            new = self._new(there, taken)
            if not new:
                _nothing_new.put(self.register.path, _NothingNew(there, taken))
                return Position(rows=0, at_ms=now_ms, files=taken) if last is None else None
            taken = self.register.extended(taken, new)
        except MissingFileError:  # others have gone on long since, and know better
            return None
        return Position(rows=taken.rows, at_ms=now_ms, files=taken)

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead:
        """Return how to read rows: of all files now, or of those that a job takes at a barrier.

        Raises:
            SourceFolderNotFoundError: there is no such folder.
            SourcePositionLostError: the position from which, or up to which, is not known.
        """
        partitions = PartitionFilter.of(self.definition.partitions, asked.predicate)
        if asked.last is None:
            files: Sequence[TakenFile] = self._files(partitions)
        else:
            files = self._between(asked, positions, partitions)
        is_parquet = self.definition.format == PARQUET
        rows = sum(
            file.size_bytes
            if self.definition.text is not None and file.path.endswith(_TEXT_ENDS)
            else max(file.weight, _MANY)
            for file in files
        )
        parts = parts_of(files, asked.parallelism, _SHARE_BYTES if is_parquet else None)
        return SourceRead(
            reader=FileReader(self.definition, asked.dead_letters),
            parts=tuple(part.to_bytes() for part in parts),
            rows=rows,
        )

    def _new(self, there: Sequence[TakenFile], taken: FileList) -> list[TakenFile]:
        """Return the files that a list does not have, in the order of their times."""
        known = {file.path: file for file in self.register.files(taken)}
        for file in there:
            if known.get(file.path, file) != file:
                path = file.below(self.definition.root)
                raise SourceFileChangedError(path=path, reason="was written or replaced")
        new = [file for file in there if file.path not in known]
        return sorted(new, key=lambda file: (file.modified_ms, file.path))

    def _files(self, partitions: PartitionFilter) -> tuple[TakenFile, ...]:
        root = self.definition.root
        return self._checked(files_below(file_io_for(root), root, partitions))

    def _checked(self, found: tuple[TakenFile, ...]) -> tuple[TakenFile, ...]:
        """Return files that were found; without any, there must at least be a folder."""
        root = self.definition.root
        if not found and not has_folder(file_io_for(root), root):
            raise SourceFolderNotFoundError(path=root)
        return found

    def _between(
        self, asked: AskedRows, positions: PositionStore, partitions: PartitionFilter
    ) -> Sequence[TakenFile]:
        assert asked.last is not None, "it was checked"
        taken = self._taken(positions)
        places = {
            rows: place
            for place, rows in enumerate(accumulate((f.weight for f in taken), initial=0))
        }
        first, last = places.get(asked.first), places.get(asked.last)
        if first is None or last is None:
            number = asked.first if first is None else asked.last
            raise SourcePositionLostError(
                table=asked.table, reason=f"its position {number} is not known"
            )
        found = partitions.files(taken[first:last])
        if asked.first or not found:
            return found
        # A job that begins asks for what the folder still has, not for what it had.
        there = {file.path for file in self._files(partitions)}
        return [file for file in found if file.path in there]

    def _taken(self, positions: PositionStore) -> list[TakenFile]:
        last = positions.last()
        while last is not None and last.files is not None:
            try:
                return self.register.files(last.files)
            except MissingFileError:
                newer = positions.last()
                if newer == last:
                    raise
                last = newer
        return []
