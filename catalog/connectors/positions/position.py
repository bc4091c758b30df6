"""Up to where the rows of a source are out: how many, which only rises.

The positions of a source are a chain of files `position/<place>` in the table's directory, from 1
on. Each is created once, only if nobody else was faster, and before a barrier names its rows; the
last one counts. So all jobs agree which rows are out, whoever has looked, and an epoch that is
repeated after a crash reads the same.

A number of rows says nothing of where a topic was by then. So positions of a topic have its last
cuts, and each `CUTS_MAX`-th of them stays: a job finds the offsets of the cut at which it is, if
that is not older than `CUTS_MAX` times `_PAGES_KEPT` cuts. A database's log counts as a topic
here: the offsets of a cut are the number of its file and the position in it, or the latter alone.
Files of a folder are kept as a list in the order in which they were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import FileAccessError, MissingFileError

POSITION_FOLDER: Final = "position"
POSITION_VERSION: Final = 5
STRETCHES_MAX: Final = 1_000
CUTS_MAX: Final = 256
_KEPT: Final = 3
_PAGES_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """From the row `first` on, rows come one after the other; the first one at `begin_ms`."""

    first: int
    begin_ms: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the partitions of a topic were, by number, when so many rows were out.

    Attributes:
        rows: how many.
        offsets: of each partition.
        mark: what else says where that was: of a database's log, its server and transactions.
    """

    rows: int
    offsets: tuple[int, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCuts:
    """A topic as far as it is out.

    Attributes:
        id: of the topic: another one if it is deleted and created again.
        start: the offsets of the first rows; partitions that came later begin at 0.
        cuts: the last ones, rising; never empty.
        mark: of the first rows; see `Cut`.
    """

    id: str
    start: tuple[int, ...]
    cuts: tuple[Cut, ...]
    mark: str = ""

    def begin(self) -> Cut:
        """Return the cut before the first row."""
        return Cut(0, self.start, self.mark)

    def cut(self, rows: int) -> Cut | None:
        """Return the one with so many rows; None if it is not among them."""
        if not rows:
            return self.begin()
        return next((cut for cut in reversed(self.cuts) if cut.rows == rows), None)


@dataclass(frozen=True, slots=True)
class FilePage:
    """A part of a list of files: a page of this name, with so many files, which count as `rows`."""

    name: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """Files that are taken: those of pages, one after the other.

    Attributes:
        pages: in their order.
        replaced: names of pages that others have taken the place of, and that are not deleted yet.
    """

    pages: tuple[FilePage, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """As how many rows they count."""
        return sum(page.rows for page in self.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position.

    Attributes:
        rows: how many rows are out; those of a smaller position are among them. Of a topic it is
            how many offsets: some have no record.
        at_ms: when it was looked, ms since 1970.
        stretches: of rows that are made: from which row on they came without a pause, rising.
        topic: of rows that are in a topic.
        files: of rows that are in files.
    """

    rows: int
    at_ms: int
    stretches: tuple[Stretch, ...] = ()
    topic: TopicCuts | None = None
    files: FileList | None = None

    def to_bytes(self) -> bytes:
        """Return the content of the file; `from_bytes` is its inverse."""
        stretches = [[stretch.first, stretch.begin_ms] for stretch in self.stretches]
        topic = None if self.topic is None else _topic_to_json(self.topic)
        files = None if self.files is None else _files_to_json(self.files)
        item = {
            "rows": self.rows,
            "at": self.at_ms,
            "stretches": stretches,
            "topic": topic,
            "files": files,
        }
        return to_checked_json(item, version=POSITION_VERSION)

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> Position:
        """Return what `to_bytes` wrote.

        Raises:
            CorruptFileError: it is no position, or not as it was written.
            FormatVersionError: it was written by a newer version.
        """
        return from_checked_json(
            data, _from_json, path=path, version=POSITION_VERSION, noun="position"
        )


@dataclass(frozen=True, slots=True)
class PositionStore:
    """The positions of the source whose table is in a directory."""

    file_io: FileIO
    path: str

    def last(self) -> Position | None:
        """Return the last position; None before the first one. Costs a list and a read.

        Raises:
            CorruptFileError: it is damaged.
            FormatVersionError: a newer version of the table store wrote it.
        """
        return self._last()[1]

    def advanced(self, following: Callable[[Position | None], Position | None]) -> Position | None:
        """Publish what follows the last position, durable, and return what is the last one then.

        It is asked once more only if somebody else was faster: rows may come all the while. Fails
        as `last`.

        Args:
            following: takes the last position; None if it stays the last one.
        """
        while True:
            place, last = self._last()
            new = following(last)
            if new is None:
                return last
            if self.file_io.write_new(self._path(place + 1), new.to_bytes()):
                old = [at for at in self._places() if at <= place + 1 - _KEPT]
                pages = () if new.topic is None else [at for at in old if not at % CUTS_MAX]
                kept = pages[-_PAGES_KEPT:]
                old_paths = [self._path(at) for at in old if at not in kept]
                with suppress(FileAccessError):  # the next one deletes them, too
                    self.file_io.delete_files(old_paths)
                # Else others are ahead: this process may have slept while its place came and went.
                if self._places()[-1:] == [place + 1]:
                    return new

    def cut(self, rows: int) -> Cut | None:
        """Return where a topic was when so many rows were out; None if that is not kept.

        Costs a list and a read, and some more reads for a cut of long ago.
        """
        last = self.last()
        if last is None or last.topic is None:
            return None
        found = last.topic.cut(rows)
        places = () if found is not None else [at for at in self._places() if not at % CUTS_MAX]
        low, high = 0, len(places)
        while low < high:
            middle = (low + high) // 2
            path = self._path(places[middle])
            try:
                page = Position.from_bytes(self.file_io.read_bytes(path), path=path)
            except MissingFileError:  # it was one of the oldest
                low = middle + 1
                continue
            if page.rows >= rows:
                found = None if page.topic is None else page.topic.cut(rows)
                high = middle
            else:
                low = middle + 1
        return found

    def _last(self) -> tuple[int, Position | None]:
        while places := self._places():
            path = self._path(places[-1])
            with suppress(MissingFileError):  # later ones have come meanwhile
                return places[-1], Position.from_bytes(self.file_io.read_bytes(path), path=path)
        return 0, None

    def _places(self) -> list[int]:
        names = self.file_io.names(join_path(self.path, POSITION_FOLDER))
        return sorted(int(name) for name in names if name.isdecimal())

    def _path(self, place: int) -> str:
        return join_path(self.path, POSITION_FOLDER, f"{place:012d}")


def _topic_to_json(topic: TopicCuts) -> dict[str, Any]:
    cuts = [[cut.rows, list(cut.offsets), *([cut.mark] if cut.mark else [])] for cut in topic.cuts]
    return {"id": topic.id, "start": list(topic.start), "mark": topic.mark, "cuts": cuts}


def _from_json(item: Mapping[str, Any]) -> Position:
    stretches = tuple(Stretch(int(first), int(begin_ms)) for first, begin_ms in item["stretches"])
    topic = None if item["topic"] is None else _topic_from_json(item["topic"])
    files = None if item["files"] is None else _files_from_json(item["files"])
    if not stretches and topic is None and files is None:
        raise ValueError("it has neither stretches nor a topic nor files")
    return Position(
        rows=int(item["rows"]),
        at_ms=int(item["at"]),
        stretches=stretches,
        topic=topic,
        files=files,
    )


def _files_to_json(files: FileList) -> dict[str, Any]:
    pages = [[page.name, page.files, page.rows] for page in files.pages]
    return {"pages": pages, "replaced": list(files.replaced)}


def _files_from_json(item: Mapping[str, Any]) -> FileList:
    pages = tuple(FilePage(str(name), int(n), int(rows)) for name, n, rows in item["pages"])
    return FileList(pages=pages, replaced=tuple(map(str, item["replaced"])))


def _topic_from_json(item: Mapping[str, Any]) -> TopicCuts:
    cuts = tuple(
        Cut(int(rows), tuple(map(int, offsets)), "".join(mark))
        for rows, offsets, *mark in item["cuts"]
    )
    if not cuts:
        raise ValueError("its topic has no cuts")
    start = tuple(map(int, item["start"]))
    return TopicCuts(id=str(item["id"]), start=start, cuts=cuts, mark=str(item.get("mark", "")))
