"""The rows of files in a folder outside, read in workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.connector_errors import (
    SourceFileChangedError,
    UnreadableSourceFileError,
)
from table_store.catalog.connectors.dead_letters import DeadLetters
from table_store.catalog.connectors.filesystem.filesystem_definition import (
    PARQUET,
    FilesystemDefinition,
)
from table_store.catalog.connectors.filesystem.parquet_rows import parquet_rows
from table_store.catalog.connectors.filesystem.partition_filter import typed_value
from table_store.catalog.connectors.filesystem.taken_file import FilePart, TakenFile
from table_store.catalog.connectors.filesystem.text_lines import text_lines
from table_store.catalog.connectors.formats.checked_column import checked_column
from table_store.catalog.connectors.formats.message_formats import BadValue, MessageFormat
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.source_read import SKIPPED
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.model.schema import Field
from table_store.storage.formats.avro_container_rows import avro_rows
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.kernel.row_batch import batch_of
from table_store.storage.kernel.types import arrow_field, to_arrow

_REASON_LENGTH_MAX: Final = 300
_CODECS: Final = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileReader(PartReader):
    """Reads files as rows.

    Attributes:
        definition: of the folder.
        dead_letters: takes lines that are no rows; None: the definition says what happens.
    """

    definition: FilesystemDefinition
    dead_letters: DeadLetters | None = None

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a `FilePart`, the same each time.

        Raises:
            SourceFileChangedError: a file is gone, or not what it was when it was taken.
            UnreadableSourceFileError: a file does not hold rows of the table.
        """
        root = self.definition.root
        file_io = file_io_for(root)
        found = FilePart.from_bytes(part)
        files = there_unchanged(file_io, root, found.files)
        for file in set(found.files).difference(files):
            _log.warning("%s is left out, for somebody has put it aside", file.below(root))
        for file in files:
            try:
                yield from self._rows(file_io, file, columns, found)
            except MissingFileError:
                raise SourceFileChangedError(path=file.below(root), reason="was deleted") from None
            except _UNREADABLE as error:
                there_unchanged(file_io, root, [file])
                raise self._unreadable(file, str(error)) from error
        # What was replaced while it was read counts for nothing.
        if there_unchanged(file_io, root, files) != files:
            raise SourceFileChangedError(path=files[0].below(root), reason="was put aside")

    def _rows(
        self, file_io: FileIO, file: TakenFile, columns: Sequence[str], part: FilePart
    ) -> Iterator[pa.RecordBatch]:
        in_path = {field.name: field for field in self.definition.partitions}
        fields = {field.name: field for field in self.definition.columns}
        constants = {
            name: typed_value(file.partition_value(name), to_arrow(in_path[name].type))
            for name in columns
            if name in in_path
        }
        for name, value in constants.items():
            if not value.is_valid and not in_path[name].nullable:
                raise ValueError(f"column {name} is NOT NULL, and has no value in its path")
        names = [name for name in columns if name not in in_path]
        text = self.definition.text
        if text is not None and (self.definition.skips_bad or self.dead_letters is not None):
            # Which lines are bad does not depend on what a query reads.
            names = list(text.names)
        with closing(file_io.open_input(file.below(self.definition.root))) as source:
            if text is not None:
                found = self._text_rows(source, file, names, text)
            elif self.definition.format == PARQUET:
                found = parquet_rows(source, [fields[name] for name in names], part)
            else:
                found = self._avro_rows(source, [fields[name] for name in names])
            for arrays, count in found:
                known = dict(zip(names, arrays, strict=True))
                for name, value in constants.items():
                    known[name] = pa.repeat(value, count)
                yield batch_of({name: known[name] for name in columns}, count)

    def _avro_rows(
        self, source: pa.NativeFile, fields: Sequence[Field]
    ) -> Iterator[tuple[Sequence[pa.Array], int]]:
        asked = [arrow_field(field.name, field.type) for field in fields]
        for arrays, count in avro_rows(source, asked, self.definition.time_unit):
            yield [checked_column(*pair) for pair in zip(arrays, fields, strict=True)], count

    def _text_rows(
        self, source: pa.NativeFile, file: TakenFile, names: Sequence[str], text: MessageFormat
    ) -> Iterator[tuple[Sequence[pa.Array], int]]:
        codec = _CODECS.get(file.path.rpartition(".")[2])
        stream = source if codec is None else pa.CompressedInputStream(source, codec)
        line = skipped = 0
        letters = None if self.dead_letters is None else self.dead_letters.begin()
        path = file.below(self.definition.root)
        for lines in text_lines(stream, text.field_delimiter):
            bad: list[BadValue] = []
            for found in text.parsed(lines, names):
                if isinstance(found, BadValue):
                    if letters is None and not self.definition.skips_bad:
                        reason = f"line {line + found.place + 1}, empty ones not counted: "
                        raise self._unreadable(file, reason + found.reason)
                    bad.append(found)
                    continue
                yield found.columns, found.count
            if letters is not None and bad:
                letters.add(_letters(path, line, lines, bad))
            skipped += len(bad)
            line += len(lines)
        if letters is not None:
            letters.commit()
        if skipped:
            SKIPPED.add(skipped)
            _log.warning("%d lines of %s were left out, for they are no rows", skipped, path)

    def _unreadable(self, file: TakenFile, reason: str) -> UnreadableSourceFileError:
        return UnreadableSourceFileError(
            path=file.below(self.definition.root), reason=reason[:_REASON_LENGTH_MAX].rstrip(".")
        )


def _letters(
    path: str, line: int, lines: pa.LargeBinaryArray, bad: Sequence[BadValue]
) -> dict[str, pa.Array]:
    """Return bad ones of some lines, behind so many others, as the table for these has them."""
    places = np.array([one.place for one in bad], np.int64)
    return {
        "path": pa.repeat(path, len(bad)),
        "line": pa.array(line + places + 1),
        "value": lines.take(pa.array(places)),
        "reason": pa.array([one.reason for one in bad], pa.string()),
    }


def there_unchanged(
    file_io: FileIO, root: str, files: Sequence[TakenFile]
) -> tuple[TakenFile, ...]:
    """Return files but for those that somebody has put aside: with `_` in front of their names.

    Raises:
        SourceFileChangedError: one is gone, or not as it was when it was taken.
    """
    paths = [file.below(root) for file in files]
    statuses = file_io.statuses(paths)
    there = []
    for file, path in zip(files, paths, strict=True):
        status = statuses.get(path)
        if status is None:
            folder, _, name = path.rpartition("/")
            if not file_io.exists(f"{folder}/_{name}"):
                raise SourceFileChangedError(path=path, reason="was deleted")
            continue
        if (status.size, status.modified_ms) != (file.size_bytes, file.modified_ms):
            raise SourceFileChangedError(path=path, reason="was written or replaced")
        there.append(file)
    return tuple(there)
