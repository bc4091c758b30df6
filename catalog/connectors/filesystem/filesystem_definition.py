"""What the definition of a table `WITH ('connector' = 'filesystem')` says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.formats.message_formats import MessageFormat
from table_store.catalog.connectors.formats.named_format import check_formats, message_format
from table_store.catalog.connectors.physical_columns import physical_columns
from table_store.storage.file_io.object_file_io import IN_MEMORY
from table_store.storage.file_io.resolve import file_io_for, named_path
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    PathNotAllowedError,
    UnsupportedTypeError,
)
from table_store.storage.kernel.types import (
    BINARY,
    ArrayType,
    MapType,
    StructType,
    holds_variant,
)
from table_store.storage.log_store.sinks.row_encoders import row_encoder, time_unit
from table_store.storage.options.avro_format_options import AVRO
from table_store.storage.options.connector_options import needed
from table_store.storage.options.dead_letter_options import DEAD_LETTER_TABLE
from table_store.storage.options.filesystem_options import MONITOR_INTERVAL, PATH
from table_store.storage.options.kafka_source_options import FORMAT
from table_store.storage.options.message_format_options import (
    CSV_IGNORE_ERRORS,
    JSON_IGNORE_ERRORS,
    VALUE_PART,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

FILESYSTEM: Final = "filesystem"
PARQUET: Final = "parquet"
_FORMATS: Final = (PARQUET, AVRO, "json", "csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemDefinition:
    """A folder of files as rows.

    Attributes:
        root: the folder.
        columns: those in the files, in their order.
        partitions: those in the path of a file.
        format: of the files.
        text: how lines hold the columns; None: they are no files of text.
        time_unit: of a TIMESTAMP that Avro has as a mere number.
        skips_bad: whether lines that are no rows are left out.
        interval_ms: how long no others are looked for after new files; None: they have an end.
    """

    root: str
    columns: tuple[Field, ...]
    partitions: tuple[Field, ...]
    format: str
    text: MessageFormat | None
    time_unit: str
    skips_bad: bool
    interval_ms: int | None

    @classmethod
    def of(cls, schema: TableSchema) -> FilesystemDefinition:
        """Return what a table's definition says; nobody looks at the folder.

        Raises:
            InvalidOptionError: an option is missing, or is not valid with the others.
            InvalidSchemaError: files cannot have such columns.
            UnsupportedTypeError: the format has no values of a column's type.
        """
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        path, name = needed(options, PATH), needed(options, FORMAT)
        if name not in _FORMATS:
            reason = f"files have {', '.join(map(repr, _FORMATS))}"
            raise InvalidOptionError(key=FORMAT.key, value=name, reason=reason)
        check_formats(options, name)
        letters = options.get(DEAD_LETTER_TABLE)
        if letters is not None and name in (PARQUET, AVRO):
            reason = f"a file of the format {name!r} has no lines that could be put there"
            raise InvalidOptionError(key=DEAD_LETTER_TABLE.key, value=letters, reason=reason)
        physical = physical_columns(schema)
        columns = tuple(field for field in physical if field.name not in schema.partition_keys)
        partitions = tuple(field for field in physical if field.name in schema.partition_keys)
        if not columns:
            raise InvalidSchemaError(reason="files have at least one column besides the partitions")
        _check_partitions(partitions, schema)
        for field in columns:
            if holds_variant(field.type):
                raise UnsupportedTypeError(type_name=field.type.sql_name(), column=field.name)
        if name == AVRO:
            row_encoder(options, name, columns)  # it names a column that there cannot be
        interval = options.get(MONITOR_INTERVAL)
        return cls(
            root=_folder(path),
            columns=columns,
            partitions=partitions,
            format=name,
            text=None if name in (PARQUET, AVRO) else message_format(options, name, columns),
            time_unit=time_unit(options, AVRO, VALUE_PART),
            skips_bad=options.get(JSON_IGNORE_ERRORS) or options.get(CSV_IGNORE_ERRORS),
            interval_ms=None if interval is None else interval // timedelta(milliseconds=1),
        )


def is_filesystem(schema: TableSchema) -> bool:
    """Return whether the rows of a table are in files of a folder."""
    return connector_of(schema) == FILESYSTEM


def _folder(path: str) -> str:
    try:
        file_io_for(path)
    except PathNotAllowedError as error:
        raise InvalidOptionError(key=PATH.key, value=path, reason=str(error)) from error
    if path.startswith(IN_MEMORY):
        reason = "it is in the memory of one process, and others cannot read it"
        raise InvalidOptionError(key=PATH.key, value=path, reason=reason)
    return named_path(path).rstrip("/") or "/"


def _check_partitions(partitions: tuple[Field, ...], schema: TableSchema) -> None:
    computed = {field.name for field in schema.fields if field.generated is not None}
    for name in schema.partition_keys:
        if name in computed:
            reason = "a folder of files is partitioned by what stands in its path, not by a "
            raise InvalidSchemaError(column=name, reason=reason + "computed column")
    for field in partitions:
        if isinstance(field.type, ArrayType | MapType | StructType) or field.type == BINARY:
            raise UnsupportedTypeError(type_name=field.type.sql_name(), column=field.name)
