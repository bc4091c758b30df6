"""Data files without a table around them: one folder, written and read directly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.data.data_file_reader import DataFileReader
from table_store.storage.file_store.data.data_file_writer import DataFileWriter
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.data_file import DataFile
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.storage_settings import DataFileOptions
from table_store.storage.kernel.types import DataType
from table_store.storage.kernel.values import Value
from tests.fakes.counting_ids import CountingIds
from tests.fakes.manual_clock import ManualClock


def make_schema(
    columns: dict[str, DataType], key: Sequence[str] = (), partition_keys: Sequence[str] = ()
) -> TableSchema:
    """Return the first schema of a table with these columns."""
    return new_schema(
        fields=[Field(id=0, name=name, type=kind) for name, kind in columns.items()],
        primary_key=key,
        partition_keys=partition_keys,
        time_ms=0,
    )


def later_schema(schema: TableSchema, fields: Sequence[Field]) -> TableSchema:
    """Return the next schema, with these fields."""
    highest = max(schema.highest_field_id, *(f.id for f in fields))
    return replace(schema, id=schema.id + 1, fields=tuple(fields), highest_field_id=highest)


@dataclass(frozen=True, slots=True)
class DataFileFolder:
    """Folder of a table that has schemas and data files only."""

    path: str
    file_io: FileIO
    schemas: SchemaStore

    @classmethod
    def create(cls, folder: Path, *schemas: TableSchema) -> DataFileFolder:
        file_io = LocalFileIO(str(folder))
        store = SchemaStore(file_io, str(folder))
        for schema in schemas:
            assert store.publish(schema)
        return cls(str(folder), file_io, store)

    def writer(
        self,
        schema: TableSchema,
        options: DataFileOptions | None = None,
        *,
        file_io: FileIO | None = None,
        partition: tuple[Value, ...] = (),
    ) -> DataFileWriter:
        return DataFileWriter(
            file_io=file_io or self.file_io,
            table_path=self.path,
            schema=schema,
            partition=partition,
            bucket=0,
            level=0,
            options=options or DataFileOptions(),
            clock=ManualClock(),
            ids=CountingIds(),
        )

    def write(
        self,
        schema: TableSchema,
        rows: pa.Table,
        options: DataFileOptions | None = None,
        kinds: np.ndarray | None = None,
    ) -> tuple[DataFile, ...]:
        writer = self.writer(schema, options)
        writer.write(rows, kinds=kinds, sequences=0)
        return writer.close()

    def reader(self, schema: TableSchema) -> DataFileReader:
        return DataFileReader(
            file_io=self.file_io, table_path=self.path, schema_store=self.schemas, schema=schema
        )

    def file_path(self, file: DataFile) -> Path:
        return Path(self.path) / "bucket-0" / file.name
