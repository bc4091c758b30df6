"""`'connector' = 'filesystem'`: new rows become files of a folder.

A file is named by the table, by the snapshot whose rows it has, and by a number. It gets its name
when it is whole. Who brings out a snapshot once more, after a death, writes the same rows in the
same order, and so replaces each file by an equal one.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_io.resolve import file_io_for, named_path
from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_rows import ChangeKind
from table_store.storage.file_store.model.partition_path import partition_folders
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.formats.avro_container_rows import container_of
from table_store.storage.log_store.encoding.avro_rows import AvroEncoder
from table_store.storage.log_store.encoding.json_encoding import TEXT, concat_text
from table_store.storage.log_store.encoding.row_encoding import RowEncoder
from table_store.storage.log_store.sinks.row_encoders import row_encoder
from table_store.storage.log_store.sinks.sink import changed_rows
from table_store.storage.options.avro_format_options import AVRO_CODEC
from table_store.storage.options.filesystem_options import (
    COMMIT_POLICY,
    FILE_SIZE,
    PATH,
    SUCCESS_FILE,
)
from table_store.storage.options.kafka_source_options import FORMAT
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_INSERT: Final = ChangeKind.INSERT.name.lower()
_HELD_FILES: Final = 2
"""As many files of full size are in memory at the same time, however many partitions there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemSink:
    """Writes new rows below a folder.

    Attributes:
        root: the folder.
        columns: those in the files.
        partitions: those in the path of a file, from the outside in.
        format: the end of the files' names.
        encoder: of lines, or of Avro's records; None: the files are Parquet.
        codec: of Avro's blocks.
        marker: the name of the file that marks a partition; None: nothing does.
        size_bytes: rows of so many bytes in memory become a file.
        forgets: see `Sink`; no later change needs the rows.
    """

    root: str
    columns: tuple[str, ...]
    partitions: tuple[str, ...]
    format: str
    encoder: RowEncoder | None
    codec: str
    marker: str | None
    size_bytes: int
    forgets: bool = True

    @classmethod
    def of(cls, schema: TableSchema) -> FilesystemSink:
        """Return the sink of a table whose definition was checked."""
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        path, name = options.get(PATH), options.get(FORMAT)
        assert path is not None, "it was checked"
        assert name is not None, "it was checked"
        physical = [field.name for field in schema.fields if field.generated is None]
        columns = tuple(n for n in physical if n not in schema.partition_keys)
        return cls(
            root=named_path(path).rstrip("/"),
            columns=columns,
            partitions=schema.partition_keys,
            format=name,
            encoder=None
            if name == "parquet"
            else row_encoder(options, name, [schema.field_named(n) for n in columns]),
            codec=options.get(AVRO_CODEC),
            marker=None if options.get(COMMIT_POLICY) is None else options.get(SUCCESS_FILE),
            size_bytes=options.get(FILE_SIZE),
        )

    def check_ready(self) -> None:
        """See `Sink`."""
        file_io_for(self.root).exists(self.root)

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        """See `Sink`."""
        own_id = hashlib.sha256(f"{table.path} {table.created_ms}".encode()).hexdigest()[:16]
        for snapshot in snapshots:
            files = _NewFiles(self, file_io_for(self.root), f"part-{own_id}-{snapshot.id}")
            for changes in changed_rows(table, snapshot):
                rows = changes.filter(pc.equal(changes[CHANGE_TYPE], _INSERT))
                for folder, part in partitioned(rows, self.partitions):
                    files.add(folder, part.select(self.columns))
            files.finish()

    def content(self, rows: pa.Table) -> bytes:
        """Return a file with rows."""
        if self.encoder is None:
            sink = pa.BufferOutputStream()
            pq.write_table(rows, sink, compression="zstd")
            return bytes(sink.getvalue())
        if isinstance(self.encoder, AvroEncoder):
            values = (self.encoder.encoded(batch.columns) for batch in rows.to_batches())
            return container_of(self.encoder.schema, values, self.codec)
        encoded = [self.encoder.encoded(batch.columns).cast(TEXT) for batch in rows.to_batches()]
        return b"".join(_joined(concat_text(lines, pa.scalar("\n", TEXT))) for lines in encoded)


@dataclass(slots=True)
class _NewFiles:
    """The files of one snapshot.

    Attributes:
        sink: says how to write.
        file_io: of its folder.
        prefix: of the names.
        held: rows that are not written yet, by folder.
        sizes: of these, in bytes, by folder.
        size_bytes: of all of them.
        counts: of the files that are written, by folder.
    """

    sink: FilesystemSink
    file_io: FileIO
    prefix: str
    held: dict[tuple[str, ...], list[pa.RecordBatch]] = field(default_factory=dict)
    sizes: defaultdict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))
    size_bytes: int = 0
    counts: defaultdict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, folder: tuple[str, ...], rows: pa.RecordBatch) -> None:
        """Take rows, and write what has become large enough."""
        self.held.setdefault(folder, []).append(rows)
        self.sizes[folder] += rows.nbytes
        self.size_bytes += rows.nbytes
        if self.sizes[folder] >= self.sink.size_bytes:
            self._write(folder)
        elif self.size_bytes >= _HELD_FILES * self.sink.size_bytes:
            self._write(max(self.held, key=lambda held: self.sizes[held]))

    def finish(self) -> None:
        """Write the rest, and then the marks."""
        for folder in list(self.held):
            self._write(folder)
        for folder in self.counts:
            # Another version of this program may have made more files of the same rows.
            while self.file_io.exists(self._path(folder)):
                self.file_io.delete(self._path(folder))
                self.counts[folder] += 1
            if self.sink.marker is not None:
                self.file_io.write_bytes(join_path(self.sink.root, *folder, self.sink.marker), b"")

    def _write(self, folder: tuple[str, ...]) -> None:
        rows = pa.Table.from_batches(self.held.pop(folder))
        self.size_bytes -= self.sizes.pop(folder)
        self.file_io.write_bytes(self._path(folder), self.sink.content(rows))
        self.counts[folder] += 1

    def _path(self, folder: tuple[str, ...]) -> str:
        name = f"{self.prefix}-{self.counts[folder]}.{self.sink.format}"
        return join_path(self.sink.root, *folder, name)


def partitioned(
    rows: pa.RecordBatch, keys: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """Yield the rows of each partition, in their order, with the names of its folders."""
    if not rows.num_rows:
        return
    if not keys:
        yield (), rows
        return
    numbers = np.zeros(rows.num_rows, np.int64)
    for key in keys:
        codes = rows[key].dictionary_encode("encode").indices.to_numpy()
        _, numbers = np.unique(numbers * (int(codes.max()) + 1) + codes, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], rows.num_rows], strict=True):
        part = rows.take(pa.array(order[start:end]))
        yield partition_folders(keys, [part[key][0].as_py() for key in keys]), part


def _joined(lines: pa.LargeStringArray) -> bytes:
    whole = pa.ListArray.from_arrays([0, len(lines)], lines)
    return bytes(pc.binary_join(whole, pa.scalar("", TEXT))[0].as_buffer())
