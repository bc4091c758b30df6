"""The description of changes that the JVM receives: columns, and a handle that pins the range."""

from __future__ import annotations

from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.planner.protocol.changes import Changelog
from table_store.catalog.planner.protocol.handles import ChangelogHandle
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.storage.file_store.changes.change_labels import LABELS
from table_store.storage.file_store.changes.change_scan import ChangeScan
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.arrow_types import from_arrow


def describe_changes(
    scan: ChangeScan,
    *,
    name: str,
    path: str,
    has_start: bool = False,
    has_end: bool = False,
    unavailable: tuple[str, str] | None = None,
    is_named: bool = False,
) -> Changelog:
    """The description of the changes that `scan` reads, with its columns."""
    handle = ChangelogHandle(
        path=path,
        schema_id=scan.schema.id,
        range=scan.range,
        mode=scan.mode,
        labels=scan.labels,
        has_start=has_start,
        has_end=has_end,
        unavailable=unavailable,
        is_named=is_named,
    )
    columns = [
        Field(id=i, name=n, type=from_arrow(LABELS[n]), nullable=False)
        if n in scan.labels
        else scan.schema.field_named(n)
        for i, n in enumerate(scan.columns)
    ]
    return Changelog(name=name, columns=SparkColumns(columns_to_spark(columns)), handle=handle)
