"""A table's options as the numbers that reading and writing need."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.storage.file_store.compaction_picker import PickerOptions
from table_store.storage.file_store.data_file_writer import DataFileOptions
from table_store.storage.file_store.schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The options of one table definition that the FileStore acts on."""

    bucket_count: int
    write_buffer_bytes: int
    split_target_bytes: int
    is_write_only: bool
    files: DataFileOptions
    picker: PickerOptions

    @classmethod
    def of(cls, schema: TableSchema) -> StorageSettings:
        """Read the options that a table was created or altered with; they were checked then."""
        options = schema.options
        return cls(
            bucket_count=int(options.get("bucket", "1")),
            write_buffer_bytes=256 << 20,
            split_target_bytes=128 << 20,
            is_write_only=options.get("write-only", "false") == "true",
            files=DataFileOptions(format=options.get("file.format", "parquet")),
            picker=PickerOptions(),
        )
