"""A connector as a format of `spark.read`: the temporary table that its options define."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from table_store.catalog.connectors.found_columns import FoundColumns
from table_store.catalog.definition.table_definition import columns_to_spark
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.names.spark_table import TEMPORARY
from table_store.catalog.planner.names.staging_requests import create_table
from table_store.catalog.planner.names.table_requests import load_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.protocol.tables import (
    CreateTable,
    DeclaredConstraint,
    DeclaredTable,
    DescribedTable,
    LoadTable,
    ReadConnector,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import AlreadyExistsError
from table_store.storage.options.connector_options import CONNECTOR
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_KEY_NAME: Final = "key"
_CAPABILITIES: Final = ("BATCH_READ",)


def read_connector(session: PlannerSession, request: ReadConnector) -> DescribedTable:
    """The temporary table with these options; the session's reads with the same share one.

    Raises:
        UnknownOptionError, InvalidOptionError: an option is wrong.
        InvalidSchemaError: the connector cannot tell columns and none are given, or has no such.
        TableStoreError: what holds the rows does not answer, or cannot be read.
    """
    access = CatalogAccess.of(session, request.catalog)
    options = {**request.options, CONNECTOR.key: request.connector}
    declared = _declared(options, request.columns)
    relation = RelationReference(
        catalog=request.catalog,
        namespace=(session.namespace_in(access.name),),
        name=f"{request.connector} {_digest(declared)}",
    )
    with suppress(AlreadyExistsError):
        create_table(session, CreateTable(relation=relation, definition=declared))
    described = load_table(session, LoadTable(relation=relation))
    assert isinstance(described, DescribedTable), "it is temporary and managed"
    return replace(described, name=request.connector, capabilities=_CAPABILITIES)


# -- details -------------------------------------------------------------------------------------


def _declared(options: Mapping[str, str], columns: SparkColumns | None) -> DeclaredTable:
    constraints: tuple[DeclaredConstraint, ...] = ()
    if columns is None:
        found = FoundColumns.of(_without_columns(options))
        columns = SparkColumns(columns_to_spark(found.columns))
        paths = tuple((name,) for name in found.primary_key)
        constraints = (DeclaredConstraint(kind="primary key", name=_KEY_NAME, columns=paths),)
    return DeclaredTable(
        columns=columns,
        partitions=(),
        properties={**options, TEMPORARY: "true"},
        constraints=constraints,
    )


def _without_columns(options: Mapping[str, str]) -> TableSchema:
    TABLE_OPTIONS.parse(options, OptionScope.TABLE)
    return TableSchema(fields=(), options=options, highest_field_id=0, time_ms=0)


def _digest(declared: DeclaredTable) -> str:
    told = [declared.columns, sorted(declared.properties.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]
