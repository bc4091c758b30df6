"""A folder that Spark reads, whose rows a new table gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from table_store.catalog.definition.table_definition import TableDefinition, columns_from_spark
from table_store.catalog.errors import ImportFailedError
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.export_manifest import EXPORT_MANIFEST, ExportManifest
from table_store.catalog.shown.procedure_context import ImportSource
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.model.errors import NullKeyError

_KEPT_METADATA: Final = frozenset({"comment"})


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A folder that Spark reads, and what is known of the table in it."""

    source: ImportSource
    frame: DataFrame
    definition: TableDefinition

    @staticmethod
    def open(session: PlannerSession, source: ImportSource) -> SparkSource:
        """Return the source at a path; an error of the analysis is Spark's.

        Raises:
            CorruptFileError: the folder is an export whose manifest is damaged.
            ImportFailedError: a file cannot be read.
        """
        reader = session.spark.read.format(source.format)
        if source.format == "parquet":
            manifest = _manifest(session, source.path)
            if manifest is not None and manifest.format == source.format:
                reader = reader.schema(StructType.fromJson(_plain(manifest.columns)))
                reader = reader.option("timeZone", manifest.time_zone)
        with _reading(source):
            frame = reader.load(source.path)
        definition = TableDefinition(
            columns=columns_from_spark(json.dumps(_plain(frame.schema.json()))),
            partition_keys=_partition_keys(session, source),
        )
        return SparkSource(source, frame, definition)

    def copy_to(self, managed: ManagedTable, name: str) -> int:
        """Write all rows into a new table; return how many there were, if it has a key.

        Args:
            managed: the table.
            name: its name in SQL.

        Raises:
            ImportFailedError: a file cannot be read.
            NullKeyError: there is a NULL in a column of the key.
        """
        with _reading(self.source):
            self.frame.writeTo(name).append()
            return self.frame.count() if managed.schema.primary_key else 0


@contextmanager
def _reading(source: ImportSource) -> Iterator[None]:
    """Tell what Spark says of rows and files in the words of an import."""
    try:
        yield
    except SparkRuntimeException as error:
        if error.getCondition() != "NOT_NULL_ASSERT_VIOLATION":
            raise
        parameters = error.getMessageParameters() or {}
        raise NullKeyError(column=parameters["walkedTypePath"].strip()) from error
    except Py4JJavaError as error:  # of a job; errors of the analysis are PySpark's
        said = str(error.java_exception.getMessage())
        if not said.startswith("[FAILED_READ_FILE"):
            raise
        reason = said.partition(" SQLSTATE:")[0].rstrip(".")
        name = source.format.capitalize()
        raise ImportFailedError(format_name=name, path=source.path, reason=reason) from error


def _manifest(session: PlannerSession, folder: str) -> ExportManifest | None:
    """Return the manifest of a folder, if it is an export; Hadoop reads it where Spark reads."""
    hadoop, spark = session.jvm.org.apache.hadoop.fs, session.spark._jsparkSession
    path = hadoop.Path(folder, EXPORT_MANIFEST)
    files = path.getFileSystem(spark.sessionState().newHadoopConf())
    if not files.exists(path):
        return None
    stream = files.open(path)
    try:
        return ExportManifest.from_bytes(bytes(stream.readAllBytes()), path.toString())
    finally:
        stream.close()


def _plain(columns: str) -> dict[str, Any]:
    """Return Spark's columns without what only their own format means by them."""
    struct: dict[str, Any] = json.loads(columns)
    for field in struct["fields"]:
        kept = {key: text for key, text in field["metadata"].items() if key in _KEPT_METADATA}
        field["metadata"] = kept
    return struct


def _partition_keys(session: PlannerSession, source: ImportSource) -> tuple[str, ...]:
    if source.format != "delta":
        return ()
    (detail,) = DeltaTable.forPath(session.spark, source.path).detail().collect()
    return tuple(detail["partitionColumns"])
