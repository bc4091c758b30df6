"""A folder that Spark reads, whose rows a new table gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from table_store.catalog.definition.table_definition import TableDefinition, columns_from_spark
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.export_manifest import EXPORT_MANIFEST, ExportManifest
from table_store.catalog.shown.procedure_context import ImportSource
from table_store.catalog.tables.managed_table import ManagedTable

_KEPT_METADATA: Final = frozenset({"comment"})


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A folder that Spark reads, and what is known of the table in it."""

    frame: DataFrame
    definition: TableDefinition

    @staticmethod
    def open(session: PlannerSession, source: ImportSource) -> SparkSource:
        """Return the source at a path; other errors are Spark's.

        Raises:
            CorruptFileError: the folder is an export whose manifest is damaged.
        """
        reader = session.spark.read.format(source.format)
        if source.format == "parquet":
            manifest = _manifest(session, source.path)
            if manifest is not None and manifest.format == source.format:
                reader = reader.schema(StructType.fromJson(_plain(manifest.columns)))
        frame = reader.load(source.path)
        definition = TableDefinition(
            columns=columns_from_spark(json.dumps(_plain(frame.schema.json()))),
            partition_keys=_partition_keys(session, source),
        )
        return SparkSource(frame, definition)

    def copy_to(self, managed: ManagedTable, name: str) -> int:
        """Write all rows into a new table; return how many there were, if it has a key.

        Args:
            managed: the table.
            name: its name in SQL.
        """
        self.frame.writeTo(name).append()
        return self.frame.count() if managed.schema.primary_key else 0


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
