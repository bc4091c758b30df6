"""Brings rows of other formats into managed tables and out of them, by the formats' own readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, make_valid_utf8

from table_store.catalog.errors import DuplicateImportedKeyError
from table_store.catalog.names.identifier import Identifier, quoted, quoted_parts
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.export_manifest import (
    EXPORT_MANIFEST,
    ExportedFile,
    ExportManifest,
)
from table_store.catalog.planner.write.paimon_source import PaimonSource
from table_store.catalog.planner.write.spark_source import SparkSource
from table_store.catalog.shown.procedure_context import ExportTarget, ImportSource, Transferred
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_io.file_io import FileIO, FileStatus
from table_store.storage.file_io.path import join_path
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import AlreadyExistsError, InvalidOptionError
from table_store.storage.kernel.types import BINARY, STRING, TIMESTAMP
from table_store.storage.log_store.logged_table import open_logged

_STARTED: Final = "_STARTED"
_TAKEN_FOR_NULL: Final = ("", "__HIVE_DEFAULT_PARTITION__")
_NOT_AS_TEXT: Final = frozenset({STRING, BINARY, TIMESTAMP})
"""Types with values that their text does not bring back: no UTF-8, an hour that comes twice."""


def import_table(
    session: PlannerSession, access: CatalogAccess, source: ImportSource
) -> Transferred:
    """Make a table with the rows of `source`; it appears when all rows are there, or not at all.

    Raises:
        AlreadyExistsError: the table exists.
        InvalidSchemaError, UnsupportedTypeError: a column cannot be stored, or be the key.
        DuplicateImportedKeyError: two rows have the same key.
        LibraryNotInstalledError, ImportFailedError: the source cannot be read.
    """
    session.spark.sparkContext.setJobDescription(f"sys.import {source.format} {source.path}")
    copy_to: Callable[[ManagedTable, str], int]
    if source.format == "paimon":
        paimon = PaimonSource.open(source.path)
        definition, copy_to = paimon.definition, partial(paimon.copy_to, session)
    else:
        spark = SparkSource.open(session, source)
        definition, copy_to = spark.definition, spark.copy_to
    if source.primary_key is not None:
        definition = replace(definition, primary_key=source.primary_key)
    if source.partitioned_by is not None:
        definition = replace(definition, partition_keys=source.partitioned_by)
    lifecycle = access.lifecycle
    managed = lifecycle.create(
        source.identifier, definition, settings=session.confs("table-storage.")
    )
    try:
        rows = copy_to(managed, _full_name(access, managed.identifier))
        done = _imported(access, managed)
        key = managed.schema.primary_key
        if key and done.rows < rows:
            raise DuplicateImportedKeyError(
                table=str(source.identifier), columns=key, rows=rows - done.rows
            )
    except BaseException:  # whatever it is, nobody shall find half of the rows
        lifecycle.drop(source.identifier)
        raise
    return done


def export_table(
    session: PlannerSession,
    access: CatalogAccess,
    managed: ManagedTable,
    target: ExportTarget,
    version: str | None,
) -> Transferred:
    """Write one version of a table into a folder that does not exist yet.

    A file `_STARTED` is written first, which of several exports only one can do, and
    `_MANIFEST.json` last; it says what was exported and which files have it. If the export fails,
    the folder is removed.

    Raises:
        PathNotAllowedError: the folder cannot be reached, or is one of the warehouse or of a table.
        AlreadyExistsError: it exists.
        InvalidOptionError: the format cannot hold a value of a partition column.
    """
    access.warehouse.require_apart(target.path)
    path = plain_path(target.path)
    file_io = file_io_for(path)
    table = open_logged(managed.location, access.warehouse.places.file_io_of(managed.location))
    snapshot = table.tags.version(version) if version is not None else table.latest_snapshot()
    reader = session.spark.read
    if snapshot is not None:
        reader = reader.option("versionAsOf", str(snapshot.id))
    frame = reader.table(_full_name(access, managed.identifier))
    schema = managed.schema if snapshot is None else table.schema_store.get(snapshot.schema_id)
    session.spark.sparkContext.setJobDescription(f"sys.export {target.format} {target.path}")
    _check_partitions(frame, schema, target)
    if file_io.exists(path) or not file_io.write_new(join_path(path, _STARTED), b""):
        raise AlreadyExistsError(kind="folder", name=target.path, remedy="remove it")
    try:
        rows = _write_rows(session, frame, schema, target)
        manifest = ExportManifest(
            table=str(managed.identifier),
            snapshot_id=0 if snapshot is None else snapshot.id,
            format=target.format,
            rows=rows,
            columns=frame.schema.json(),
            time_zone=session.conf("spark.sql.session.timeZone") or "UTC",
            primary_key=schema.primary_key,
            partition_keys=schema.partition_keys,
            files=_exported_files(file_io, path),
        )
        file_io.write_new(join_path(path, EXPORT_MANIFEST), manifest.to_bytes())
    except BaseException:  # whatever it is, the folder is free again
        file_io.delete(path, recursive=True)
        raise
    return Transferred(snapshot_id=manifest.snapshot_id, rows=rows, files=len(manifest.files))


def _write_rows(
    session: PlannerSession, frame: DataFrame, schema: TableSchema, target: ExportTarget
) -> int:
    """Write the rows into the folder; return how many are in it now."""
    writer = frame.write.format(target.format).mode("append")
    writer.partitionBy(*schema.partition_keys).save(target.path)
    written = session.spark.read.format(target.format)
    if target.format == "parquet":  # which tells no columns where it has no file
        written = written.schema(frame.schema)
    return written.load(target.path).count()


def _check_partitions(frame: DataFrame, schema: TableSchema, target: ExportTarget) -> None:
    """Refuse values that the text of a folder's name, or of Delta's log, does not bring back.

    Of texts, only partitions with such a value are read; of the other types, the column is.
    """
    for field in schema.partition_fields:
        if field.type not in _NOT_AS_TEXT:
            continue
        column = col(quoted(field.name))
        if field.type == STRING:
            text, is_lost = column, column.isin(*_TAKEN_FOR_NULL)
        else:
            text = make_valid_utf8(column.cast("string"))
            is_lost = text.isin(*_TAKEN_FOR_NULL) | (text.cast(field.type.sql_name()) != column)
        found = frame.where(is_lost).select(text).first()
        if found is not None:
            raise InvalidOptionError(
                key="format",
                value=target.format,
                reason=f"partition column {field.name!r} has the value {found[0]!r}, which would "
                "be read as another one or as NULL; UPDATE it to another one, or INSERT the rows "
                "into a table that is not partitioned by this column and export that",
            )


def _imported(access: CatalogAccess, managed: ManagedTable) -> Transferred:
    table = open_logged(managed.location, access.warehouse.places.file_io_of(managed.location))
    latest = table.latest_snapshot()
    rows = table.scan([]).count()
    return Transferred(snapshot_id=0 if latest is None else latest.id, rows=rows, files=0)


def _full_name(access: CatalogAccess, identifier: Identifier) -> str:
    return quoted_parts((access.name, identifier.namespace, identifier.name))


def _exported_files(file_io: FileIO, folder: str) -> tuple[ExportedFile, ...]:
    found = sorted(_files_below(file_io, folder), key=lambda status: status.path)
    return tuple(
        ExportedFile(path=file.path.removeprefix(folder).lstrip("/"), size_bytes=file.size)
        for file in found
    )


def _files_below(file_io: FileIO, folder: str) -> Iterator[FileStatus]:
    """Yield the data files; what begins with `_` or `.` is the format's own."""
    for status in file_io.list(folder):
        if status.is_dir and not status.name.startswith(("_", ".")):
            yield from _files_below(file_io, status.path)
        elif not status.is_dir and status.name.endswith(".parquet"):
            yield status
